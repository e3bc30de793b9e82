// SPDX-License-Identifier: Apache-2.0
// Tensors of codes: their numbers, and the codes of numbers. What PyTorch's CPU cannot compute with
// (float4, e8m0, packed integers) is read here as its bytes.
#pragma once

#include <optional>

#include "core/code_formats.h"
#include "libtorch/aten.h"

namespace msprobe::low_precision {

// Nothing: the elements are not codes.
std::optional<CodeFormat> code_format(at::ScalarType type);

// Whether an element is two codes, the first in the low half of the byte.
bool is_packed(at::ScalarType type);

// The bytes of a tensor of codes, row-major, on the CPU, as uint8.
at::Tensor bytes_of(const at::Tensor& tensor);

// The codes of a packed tensor (or of its bytes), one in a byte. The extent `dim` doubles.
at::Tensor unpacked(const at::Tensor& packed, std::int64_t dim = -1);
// The reverse. REQUIRES: the last extent is even.
at::Tensor packed(const at::Tensor& codes);

// The numbers in float64, on the CPU, row-major; of packed codes twice as many along `dim`. A
// tensor that is not of codes is converted.
at::Tensor numbers_of(const at::Tensor& tensor, std::int64_t dim = -1);
// The numbers of bytes that are codes.
at::Tensor numbers_of(CodeFormat format, const at::Tensor& bytes);

// The code of every number, as uint8.
at::Tensor codes_of(CodeFormat format, const at::Tensor& numbers,
                    Beyond beyond = Beyond::kAsPyTorch);

// Numbers as a tensor of codes of dtype `type`; packed along the last dimension if they are two to
// a byte. REQUIRES: code_format(type).
at::Tensor encoded(at::ScalarType type, const at::Tensor& numbers,
                   Beyond beyond = Beyond::kAsPyTorch);

}  // namespace msprobe::low_precision
