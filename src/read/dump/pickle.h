// SPDX-License-Identifier: Apache-2.0
// A pickle that describes one tensor, read without executing anything (protocols 2 to 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace msprobe::dump {

// The tensor that the pickle would rebuild. Its bytes are elsewhere, under the key.
struct PickledTensor {
  DType dtype = DType::kFloat32;
  std::string storage_key;
  std::uint64_t storage_bytes = 0;
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  bool conjugated = false;  // pending: the stored values lack it
  bool negated = false;
};

// `name` opens every message, `offset` is where the pickle begins in that file. Anything an honest
// tensor does not need (a call of anything else, an object with state) is an error of kind
// kHostile.
Result<PickledTensor> read_pickled_tensor(std::span<const std::byte> pickle, std::string_view name,
                                          std::size_t offset);

}  // namespace msprobe::dump
