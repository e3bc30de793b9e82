// SPDX-License-Identifier: Apache-2.0
// Our dtypes and tensors beside LibTorch's.
#pragma once

#include <optional>

#include "core/dtype.h"
#include "core/tensor.h"
#include "libtorch/aten.h"

namespace msprobe::libtorch {

// Empty if this LibTorch has no such type.
std::optional<at::ScalarType> scalar_type(DType dtype);
std::optional<DType> dtype_of(at::ScalarType type);

// "torch.float16", also for types that only LibTorch knows ("torch.qint8").
std::string text(at::ScalarType type);

// The same tensor, laid out as it was recorded: in the same memory if nothing else uses it and it
// is aligned as LibTorch's own is, else a copy. REQUIRES: scalar_type(tensor.dtype); the bytes may
// be written.
at::Tensor tensor_of(Tensor tensor);

// The elements alone: detached, dense, on the CPU, in row-major order. Throws what LibTorch throws.
at::Tensor plain(const at::Tensor& tensor);

// REQUIRES: on the CPU, contiguous, strided, of a dtype we know; outlives the view.
TensorView view_of(const at::Tensor& tensor);

}  // namespace msprobe::libtorch
