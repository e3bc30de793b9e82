// SPDX-License-Identifier: Apache-2.0
#include "core/cast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "core/code_formats.h"
#include "core/float_formats.h"

namespace msprobe {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Calls `use` with a value of the C++ type that holds a real dtype's elements exactly.
template <class Use>
void with_element(DType dtype, const std::byte* at, Use&& use) {
  switch (dtype) {
    case DType::kBool:
      return use(static_cast<std::int64_t>(load<std::uint8_t>(at) != 0));
    case DType::kUInt8:
      return use(static_cast<std::int64_t>(load<std::uint8_t>(at)));
    case DType::kUInt16:
      return use(static_cast<std::int64_t>(load<std::uint16_t>(at)));
    case DType::kUInt32:
      return use(static_cast<std::int64_t>(load<std::uint32_t>(at)));
    case DType::kUInt64:
      return use(load<std::uint64_t>(at));
    case DType::kInt8:
      return use(static_cast<std::int64_t>(load<std::int8_t>(at)));
    case DType::kInt16:
      return use(static_cast<std::int64_t>(load<std::int16_t>(at)));
    case DType::kInt32:
      return use(static_cast<std::int64_t>(load<std::int32_t>(at)));
    case DType::kInt64:
      return use(load<std::int64_t>(at));
    case DType::kFloat16:
      return use(double{float16_to_float(load<std::uint16_t>(at))});
    case DType::kBFloat16:
      return use(double{bfloat16_to_float(load<std::uint16_t>(at))});
    case DType::kFloat32:
      return use(double{load<float>(at)});
    case DType::kFloat64:
      return use(load<double>(at));
    default:
      return use(double{values_of(*code_format(dtype))[load<std::uint8_t>(at)]});
  }
}

template <class Integer, class Value>
bool store_integer(std::byte* at, Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    // The bounds are powers of two, exact in double; the upper one is just outside.
    const double low = static_cast<double>(std::numeric_limits<Integer>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
    if (!(value >= low && value < high) || value != std::trunc(value)) return false;
  } else if (!std::in_range<Integer>(value)) {
    return false;
  }
  store(at, static_cast<Integer>(value));
  return true;
}

template <class Value>
bool store_bool(std::byte* at, Value value) {
  if (value != Value{0} && value != Value{1}) return false;
  store(at, static_cast<std::uint8_t>(value == Value{1}));
  return true;
}

template <class Value>
bool store_element(DType dtype, std::byte* at, Value value) {
  switch (dtype) {
    case DType::kBool:
      return store_bool(at, value);
    case DType::kUInt8:
      return store_integer<std::uint8_t>(at, value);
    case DType::kUInt16:
      return store_integer<std::uint16_t>(at, value);
    case DType::kUInt32:
      return store_integer<std::uint32_t>(at, value);
    case DType::kUInt64:
      return store_integer<std::uint64_t>(at, value);
    case DType::kInt8:
      return store_integer<std::int8_t>(at, value);
    case DType::kInt16:
      return store_integer<std::int16_t>(at, value);
    case DType::kInt32:
      return store_integer<std::int32_t>(at, value);
    case DType::kInt64:
      return store_integer<std::int64_t>(at, value);
    case DType::kFloat16:
      return store(at, double_to_float16(static_cast<double>(value))), true;
    case DType::kBFloat16:
      return store(at, double_to_bfloat16(static_cast<double>(value))), true;
    case DType::kFloat32:
      return store(at, static_cast<float>(value)), true;
    case DType::kFloat64:
      return store(at, static_cast<double>(value)), true;
    default:
      return store(at, encode(*code_format(dtype), static_cast<double>(value))), true;
  }
}

DType part_of(DType complex) {
  if (complex == DType::kComplex32) return DType::kFloat16;
  return complex == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
}

}  // namespace

Result<Tensor> cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype == dtype) return tensor;
  // Bytes are codes: no other number of a byte becomes one of these formats.
  if (tensor.dtype == DType::kUInt8 && code_format(dtype)) {
    Tensor codes = tensor;
    codes.dtype = dtype;
    return codes;
  }
  if (is_complex(tensor.dtype) != is_complex(dtype) || is_packed(tensor.dtype) ||
      is_packed(dtype)) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} data cannot be converted to {}", name(tensor.dtype), name(dtype)));
  }
  const bool complex = is_complex(dtype);
  const DType from = complex ? part_of(tensor.dtype) : tensor.dtype;
  const DType to = complex ? part_of(dtype) : dtype;
  const std::size_t count = tensor.bytes.size() / size_bytes(from);
  auto memory = std::make_shared_for_overwrite<std::byte[]>(count * size_bytes(to));
  for (std::size_t i = 0; i < count; ++i) {
    bool fits = true;
    with_element(from, tensor.bytes.data() + i * size_bytes(from), [&](auto value) {
      fits = store_element(to, memory.get() + i * size_bytes(to), value);
    });
    if (!fits) {
      return fail(ErrorKind::kUsage, fmt::format("element {} of {} data does not fit {}", i,
                                                 name(tensor.dtype), name(dtype)));
    }
  }
  const std::span<const std::byte> bytes(memory.get(), count * size_bytes(to));
  return Tensor{dtype, tensor.shape, std::move(memory), bytes, tensor.recorded_strides};
}

}  // namespace msprobe
