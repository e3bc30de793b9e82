// SPDX-License-Identifier: Apache-2.0
// What is sent to the runner and comes back from it: JSON, and tensors in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "arguments/py_value.h"
#include "core/result.h"
#include "mindspore/reply.h"

namespace msprobe::mindspore {

using arguments::PyCall;
using arguments::PyList;
using arguments::PyValue;

// The memory that the tensors of a message take.
std::size_t bytes_of(const PyCall& call);
std::size_t bytes_of(const PyList& values);

// The message; tensors are copied into `memory`. `name` is an API: "Mint.special.erfc". Throws what
// LibTorch throws where a tensor cannot be read.
std::string call_message(std::string_view name, const PyCall& call, std::span<std::byte> memory);
std::string gradients_message(const PyList& arriving, std::span<std::byte> memory);

struct Reply {
  PyValue result;
  std::string error;            // of the call, where it raised one
  std::uint64_t own_nanos = 0;  // that MindSpore itself took
  std::uint64_t cpu_nanos = 0;  // of processor time that the runner took beside it
};

// Trusts nothing: places outside of `memory` are an error.
Result<Reply> read_reply(std::string_view message, std::span<const std::byte> memory);

}  // namespace msprobe::mindspore
