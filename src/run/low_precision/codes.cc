// SPDX-License-Identifier: Apache-2.0
#include "low_precision/codes.h"

#include "libtorch/dtypes.h"

namespace msprobe::low_precision {

std::optional<CodeFormat> code_format(at::ScalarType type) {
  const auto dtype = libtorch::dtype_of(type);
  return dtype ? msprobe::code_format(*dtype) : std::nullopt;
}

bool is_packed(at::ScalarType type) {
  const auto dtype = libtorch::dtype_of(type);
  return dtype && msprobe::is_packed(*dtype);
}

at::Tensor bytes_of(const at::Tensor& tensor) {
  return tensor.detach().cpu().view(at::kByte).contiguous();
}

at::Tensor unpacked(const at::Tensor& packed, std::int64_t dim) {
  const at::Tensor bytes = bytes_of(packed).movedim(dim, -1);
  const at::Tensor halves = at::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, -1);
  return halves.flatten(-2).movedim(-1, dim).contiguous();
}

at::Tensor packed(const at::Tensor& codes) {
  const at::Tensor pairs = codes.unflatten(-1, {codes.size(-1) / 2, 2});
  return pairs.select(-1, 0).bitwise_or(pairs.select(-1, 1).bitwise_left_shift(4)).contiguous();
}

at::Tensor numbers_of(CodeFormat format, const at::Tensor& bytes) {
  const at::Tensor codes = bytes.contiguous();
  at::Tensor numbers = at::empty(codes.sizes(), at::kDouble);
  const std::array<float, 256>& values = values_of(format);
  const auto* from = codes.data_ptr<std::uint8_t>();
  auto* to = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < codes.numel(); ++i) to[i] = values[from[i]];
  return numbers;
}

at::Tensor numbers_of(const at::Tensor& tensor, std::int64_t dim) {
  const auto format = code_format(tensor.scalar_type());
  if (!format) return libtorch::plain(tensor).to(at::kDouble);
  return numbers_of(*format,
                    is_packed(tensor.scalar_type()) ? unpacked(tensor, dim) : bytes_of(tensor));
}

at::Tensor codes_of(CodeFormat format, const at::Tensor& numbers, Beyond beyond) {
  const at::Tensor wide = numbers.to(at::kDouble).contiguous();
  at::Tensor codes = at::empty(wide.sizes(), at::kByte);
  const auto* from = wide.data_ptr<double>();
  auto* to = codes.data_ptr<std::uint8_t>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) to[i] = encode(format, from[i], beyond);
  return codes;
}

at::Tensor encoded(at::ScalarType type, const at::Tensor& numbers, Beyond beyond) {
  const at::Tensor codes = codes_of(*code_format(type), numbers, beyond);
  return (is_packed(type) ? packed(codes) : codes).view(type);
}

}  // namespace msprobe::low_precision
