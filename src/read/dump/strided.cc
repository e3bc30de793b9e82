// SPDX-License-Identifier: Apache-2.0
#include "dump/strided.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::dump {
namespace {

// An expanded tensor repeats its storage; beyond this no honest recording does.
constexpr std::size_t kMaxExpandedBytes = std::size_t{1} << 30;

// Bytes that are swapped together, and that must be aligned: half an element for complex types.
std::size_t unit_bytes(DType dtype) {
  return is_complex(dtype) ? size_bytes(dtype) / 2 : size_bytes(dtype);
}

bool is_contiguous(const StridedArray& array) {
  std::int64_t expected = 1;
  for (std::size_t i = array.shape.size(); i-- > 0;) {
    if (array.shape[i] != 1 && array.strides[i] != expected) return false;
    expected *= array.shape[i];
  }
  return true;
}

// Whether the elements fill a piece of memory, each place once, in any order of the axes.
bool is_dense(const StridedArray& array) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (array.shape[i] != 1) axes.push_back(i);
  }
  std::ranges::sort(axes, {}, [&](std::size_t axis) { return array.strides[axis]; });
  std::int64_t expected = 1;
  for (const std::size_t axis : axes) {
    if (array.strides[axis] != expected) return false;
    expected *= array.shape[axis];
  }
  return true;
}

// The index of the last element reached; negative strides do not occur in files.
Result<std::int64_t> last_index(const StridedArray& array) {
  std::int64_t last = array.offset;
  bool overflow = array.offset < 0;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    std::int64_t reach = 0;
    overflow |= array.strides[i] < 0;
    overflow |= __builtin_mul_overflow(array.shape[i] - 1, array.strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  if (overflow) return fail(ErrorKind::kFormat, "");
  return last;
}

Result<std::size_t> check(const StridedArray& array, std::string_view name) {
  const Result<std::size_t> total = byte_count(array.shape, array.dtype);
  if (!total) return propagate(total, name);
  if (*total == 0) return *total;
  const Result<std::int64_t> last = last_index(array);
  const std::size_t stored = array.bytes.size() / size_bytes(array.dtype);
  if (!last || static_cast<std::size_t>(*last) >= stored) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: offset {}, shape ({}) and strides ({}) exceed a storage of "
                            "{} elements",
                            name, array.offset, fmt::join(array.shape, ", "),
                            fmt::join(array.strides, ", "), stored));
  }
  if (*total > array.bytes.size() && *total > kMaxExpandedBytes) {
    return fail(ErrorKind::kHostile, fmt::format("{}: {} bytes of a storage of {} would become {}",
                                                 name, *total, array.bytes.size(), *total));
  }
  return *total;
}

template <std::size_t kBytes>
void gather(const StridedArray& array, std::byte* out) {
  const std::size_t rank = array.shape.size();
  const std::int64_t inner = rank == 0 ? 1 : array.shape[rank - 1];
  const std::int64_t step = rank == 0 ? 0 : array.strides[rank - 1];
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t row = array.offset;
  while (true) {
    for (std::int64_t i = 0; i < inner; ++i, out += kBytes) {
      std::memcpy(out, array.bytes.data() + static_cast<std::size_t>(row + i * step) * kBytes,
                  kBytes);
    }
    std::size_t axis = rank == 0 ? 0 : rank - 1;
    while (axis > 0) {
      --axis;
      row += array.strides[axis];
      if (++index[axis] < array.shape[axis]) break;
      row -= array.shape[axis] * array.strides[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (rank < 2) return;
  }
}

void gather(const StridedArray& array, std::byte* out) {
  switch (size_bytes(array.dtype)) {
    case 1:
      return gather<1>(array, out);
    case 2:
      return gather<2>(array, out);
    case 4:
      return gather<4>(array, out);
    case 8:
      return gather<8>(array, out);
    default:
      return gather<16>(array, out);
  }
}

void swap_bytes(std::span<std::byte> bytes, std::size_t unit) {
  for (std::size_t at = 0; at < bytes.size(); at += unit) {
    std::ranges::reverse(bytes.subspan(at, unit));
  }
}

bool is_aligned(const std::byte* place, std::size_t unit) {
  return reinterpret_cast<std::uintptr_t>(place) % unit == 0;
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape, bool fortran) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

Result<Tensor> to_tensor(const StridedArray& array, std::string_view name) {
  const Result<std::size_t> total = check(array, name);
  if (!total) return propagate(total);
  Tensor tensor{array.dtype, array.shape, nullptr, {}};
  if (*total == 0) return tensor;
  if (array.strides != contiguous_strides(array.shape, false) && is_dense(array)) {
    tensor.recorded_strides = array.strides;
  }
  const std::size_t unit = unit_bytes(array.dtype);
  const bool swapped = array.big_endian && unit > 1;
  const bool contiguous = is_contiguous(array);
  const std::byte* const start =
      array.bytes.data() + static_cast<std::size_t>(array.offset) * size_bytes(array.dtype);
  if (contiguous && !swapped && is_aligned(start, unit)) {
    tensor.owner = array.owner;
    tensor.bytes = {start, *total};
    return tensor;
  }
  auto memory = std::make_shared_for_overwrite<std::max_align_t[]>(
      (*total + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  auto* const out = reinterpret_cast<std::byte*>(memory.get());
  if (contiguous) {
    std::memcpy(out, start, *total);
  } else {
    gather(array, out);
  }
  if (swapped) swap_bytes({out, *total}, unit);
  tensor.bytes = {out, *total};
  tensor.owner = std::move(memory);
  return tensor;
}

Result<Tensor> negated(const Tensor& tensor, bool imaginary_only, std::string_view name) {
  if (!is_complex(tensor.dtype) && (imaginary_only || !is_float(tensor.dtype))) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: a pending negation of {}", name, msprobe::name(tensor.dtype)));
  }
  const std::size_t unit = unit_bytes(tensor.dtype);
  const std::size_t step = imaginary_only ? 2 * unit : unit;
  auto memory = std::make_shared_for_overwrite<std::max_align_t[]>(
      tensor.bytes.size() / sizeof(std::max_align_t) + 1);
  auto* const out = reinterpret_cast<std::byte*>(memory.get());
  std::ranges::copy(tensor.bytes, out);
  // The sign is the highest bit of the last byte.
  for (std::size_t at = step - 1; at < tensor.bytes.size(); at += step) out[at] ^= std::byte{0x80};
  return Tensor{tensor.dtype,
                tensor.shape,
                std::move(memory),
                {out, tensor.bytes.size()},
                tensor.recorded_strides};
}

}  // namespace msprobe::dump
