// SPDX-License-Identifier: Apache-2.0
// What the runner answers, as text: checked before any of it becomes a tensor. Trusts nothing.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::mindspore {

// Where a tensor lies in the shared memory; all of it is inside.
struct ReplyTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct ReplyValue;
using ReplyList = std::vector<ReplyValue>;
struct ReplyValue {
  // The first is None.
  std::variant<std::monostate, bool, std::int64_t, double, std::complex<double>, std::string,
               ReplyTensor, ReplyList>
      data;
};

struct ReplyText {
  ReplyValue result;
  std::string error;            // of the call, if it raised one
  std::uint64_t own_nanos = 0;  // that MindSpore itself took
  std::uint64_t cpu_nanos = 0;  // of processor time that the runner took beside it
};

// `memory_bytes`: the size of the shared memory. A tensor that is not inside, and tensors that
// together would be more than all of it, are an error.
Result<ReplyText> read_reply_text(std::string_view message, std::uint64_t memory_bytes);

struct Greeting {
  std::string version, target, python;
  std::string error;
};
Result<Greeting> read_greeting(std::string_view message);

}  // namespace msprobe::mindspore
