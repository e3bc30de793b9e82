// SPDX-License-Identifier: Apache-2.0
#include "measure/widen.h"

#include <cstring>

#include "core/code_formats.h"
#include "core/float_formats.h"

namespace msprobe::measure {
namespace {

template <class T, class Convert>
void convert(const std::byte* source, std::span<double> out, Convert to_double) {
  for (double& value : out) {
    T element;
    std::memcpy(&element, source, sizeof(T));
    source += sizeof(T);
    value = to_double(element);
  }
}

template <class T>
void convert(const std::byte* source, std::span<double> out) {
  convert<T>(source, out, [](T element) { return static_cast<double>(element); });
}

// The dtype of the parts of a complex one.
DType part_of(DType dtype) {
  if (dtype == DType::kComplex32) return DType::kFloat16;
  return dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
}

void widen_from(DType dtype, const std::byte* source, std::span<double> out) {
  switch (dtype) {
    case DType::kBool:
      return convert<std::uint8_t>(source, out, [](std::uint8_t b) { return b != 0 ? 1.0 : 0.0; });
    case DType::kUInt8:
      return convert<std::uint8_t>(source, out);
    case DType::kUInt16:
      return convert<std::uint16_t>(source, out);
    case DType::kUInt32:
      return convert<std::uint32_t>(source, out);
    case DType::kUInt64:
      return convert<std::uint64_t>(source, out);
    case DType::kInt8:
      return convert<std::int8_t>(source, out);
    case DType::kInt16:
      return convert<std::int16_t>(source, out);
    case DType::kInt32:
      return convert<std::int32_t>(source, out);
    case DType::kInt64:
      return convert<std::int64_t>(source, out);
    case DType::kFloat16:
      return convert<std::uint16_t>(source, out, &float16_to_float);
    case DType::kBFloat16:
      return convert<std::uint16_t>(source, out, &bfloat16_to_float);
    case DType::kFloat32:
      return convert<float>(source, out);
    case DType::kFloat64:
      return convert<double>(source, out);
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kHiFloat8:
    case DType::kFloat8E4M3Fnuz:
    case DType::kFloat8E5M2Fnuz:
    case DType::kFloat8E8M0:
    case DType::kFloat4E2M1x2:
      return convert<std::uint8_t>(source, out,
                                   [&table = values_of(*code_format(dtype))](std::uint8_t code) {
                                     return double{table[code]};
                                   });
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
      return widen_from(part_of(dtype), source, out);
  }
}

template <class T>
void widen_integers(const std::byte* source, std::span<std::int64_t> out) {
  for (std::int64_t& value : out) {
    T element;
    std::memcpy(&element, source, sizeof(T));
    source += sizeof(T);
    value = static_cast<std::int64_t>(element);
  }
}

const std::byte* address(const TensorView& view, std::size_t element) {
  return view.bytes.data() + element * size_bytes(view.dtype);
}

}  // namespace

void widen(const TensorView& view, std::size_t first, std::span<double> out) {
  widen_from(view.dtype, address(view, first), out);
}

void widen(const TensorView& view, std::size_t first, std::span<std::complex<double>> out) {
  auto* parts = reinterpret_cast<double*>(out.data());
  if (is_complex(view.dtype)) {
    return widen_from(view.dtype, address(view, first), {parts, 2 * out.size()});
  }
  // Into the upper half first, then spread from the front: no element is overwritten before it is
  // read.
  const std::span<double> reals(parts + out.size(), out.size());
  widen_from(view.dtype, address(view, first), reals);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double real = reals[i];
    parts[2 * i] = real;
    parts[2 * i + 1] = 0;
  }
}

void widen(const TensorView& view, std::size_t first, std::span<std::int64_t> out) {
  const std::byte* source = address(view, first);
  switch (view.dtype) {
    case DType::kBool:
      widen_integers<std::uint8_t>(source, out);
      for (std::int64_t& value : out) value = value != 0 ? 1 : 0;
      return;
    case DType::kUInt8:
      return widen_integers<std::uint8_t>(source, out);
    case DType::kUInt16:
      return widen_integers<std::uint16_t>(source, out);
    case DType::kUInt32:
      return widen_integers<std::uint32_t>(source, out);
    case DType::kInt8:
      return widen_integers<std::int8_t>(source, out);
    case DType::kInt16:
      return widen_integers<std::int16_t>(source, out);
    case DType::kInt32:
      return widen_integers<std::int32_t>(source, out);
    default:
      return widen_integers<std::int64_t>(source, out);
  }
}

}  // namespace msprobe::measure
