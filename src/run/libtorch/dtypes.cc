// SPDX-License-Identifier: Apache-2.0
#include "libtorch/dtypes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/aligned_memory.h"
#include "libtorch/autograd.h"
#include "libtorch/since.h"

namespace msprobe::libtorch {
namespace {

struct Row {
  DType dtype;
  at::ScalarType type;
};
constexpr Row kRows[] = {
    {DType::kBool, at::kBool},
    {DType::kUInt8, at::kByte},
    {DType::kInt8, at::kChar},
    {DType::kInt16, at::kShort},
    {DType::kInt32, at::kInt},
    {DType::kInt64, at::kLong},
    {DType::kFloat16, at::kHalf},
    {DType::kBFloat16, at::kBFloat16},
    {DType::kFloat32, at::kFloat},
    {DType::kFloat64, at::kDouble},
    {DType::kComplex32, at::kComplexHalf},
    {DType::kComplex64, at::kComplexFloat},
    {DType::kComplex128, at::kComplexDouble},
#if MSPROBE_TORCH_SINCE(2, 3)
    {DType::kUInt16, at::kUInt16},
    {DType::kUInt32, at::kUInt32},
    {DType::kUInt64, at::kUInt64},
#endif
#if MSPROBE_TORCH_SINCE(2, 1)
    {DType::kFloat8E4M3, at::kFloat8_e4m3fn},
    {DType::kFloat8E5M2, at::kFloat8_e5m2},
#endif
#if MSPROBE_TORCH_SINCE(2, 2)
    {DType::kFloat8E4M3Fnuz, at::kFloat8_e4m3fnuz},
    {DType::kFloat8E5M2Fnuz, at::kFloat8_e5m2fnuz},
#endif
#if MSPROBE_TORCH_SINCE(2, 7)
    {DType::kFloat8E8M0, at::kFloat8_e8m0fnu},
#endif
#if MSPROBE_TORCH_SINCE(2, 8)
    {DType::kFloat4E2M1x2, at::kFloat4_e2m1fn_x2},
#endif
};

}  // namespace

std::optional<at::ScalarType> scalar_type(DType dtype) {
  const auto found = std::ranges::find(kRows, dtype, &Row::dtype);
  if (found == std::end(kRows)) return std::nullopt;
  return found->type;
}

std::optional<DType> dtype_of(at::ScalarType type) {
  const auto found = std::ranges::find(kRows, type, &Row::type);
  if (found == std::end(kRows)) return std::nullopt;
  return found->dtype;
}

std::string text(at::ScalarType type) {
  if (const auto dtype = dtype_of(type)) return std::string(msprobe::text(*dtype));
  std::string name = c10::toString(type);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return "torch." + name;
}

namespace {

// Can be resized, as a tensor that LibTorch made.
at::Tensor in_same_memory(Tensor tensor) {
  auto* bytes = const_cast<std::byte*>(tensor.bytes.data());
  auto* owner = new std::shared_ptr<const void>(std::move(tensor.owner));
  at::DataPtr data(
      bytes, owner, [](void* kept) { delete static_cast<std::shared_ptr<const void>*>(kept); },
      at::kCPU);
  const at::Storage storage(at::Storage::use_byte_size_t(), tensor.bytes.size(), std::move(data),
                            c10::GetAllocator(at::kCPU), /*resizable=*/true);
  at::Tensor same = at::empty({0}, at::TensorOptions(*scalar_type(tensor.dtype)));
  return same.set_(storage, 0, tensor.shape);
}

}  // namespace

at::Tensor tensor_of(Tensor tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.bytes.data());
  const bool is_alone = tensor.owner.use_count() == 1 && address % kMemoryAlignment == 0;
  if (is_alone && !tensor.bytes.empty() && tensor.recorded_strides.empty()) {
    return in_same_memory(std::move(tensor));
  }
  at::Tensor copy = at::empty(tensor.shape, at::TensorOptions(*scalar_type(tensor.dtype)));
  if (!tensor.bytes.empty()) {
    std::memcpy(copy.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  }
  if (tensor.recorded_strides.empty()) return copy;
  return at::empty_strided(tensor.shape, tensor.recorded_strides, copy.options()).copy_(copy);
}

at::Tensor plain(const at::Tensor& tensor) {
  const BelowAutograd below;
  at::Tensor plain = tensor.detach();
  if (plain._is_zerotensor()) return at::zeros(plain.sizes(), plain.options().device(at::kCPU));
  if (plain.layout() != at::kStrided) plain = plain.to_dense();
  if (plain.is_quantized()) plain = plain.dequantize();
  return plain.cpu().resolve_conj().resolve_neg().contiguous();
}

TensorView view_of(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data_ptr());
  return {*dtype_of(tensor.scalar_type()),
          {tensor.sizes().data(), tensor.sizes().size()},
          {bytes, tensor.nbytes()}};
}

}  // namespace msprobe::libtorch
