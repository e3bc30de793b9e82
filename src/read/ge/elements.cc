// SPDX-License-Identifier: Apache-2.0
#include "ge/elements.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "dump/npy.h"
#include "ge/stored_layout.h"

namespace msprobe::ge {
namespace {

// Bytes that `count` stored elements take; nothing on overflow.
std::optional<std::uint64_t> stored_bytes(std::uint64_t count, std::uint32_t bits) {
  std::uint64_t all = 0;
  if (__builtin_mul_overflow(count, std::uint64_t{bits}, &all) || all > UINT64_MAX - 7) return {};
  return (all + 7) / 8;
}

bool all_known(const Shape& shape) {
  return std::ranges::none_of(shape, [](std::int64_t extent) { return extent < 0; });
}

// The shape as stored, where the header leaves it open too: what the bytes hold, as a vector.
Shape stored_shape(const DumpTensor& tensor, std::uint32_t bits) {
  if (tensor.has_shape && all_known(tensor.shape)) return tensor.shape;
  const auto held = static_cast<std::int64_t>(tensor.bytes.size() * 8 / bits);
  if (!tensor.original_shape.empty() && all_known(tensor.original_shape)) {
    const Result<std::int64_t> count = element_count(tensor.original_shape);
    if (count && *count <= held) return tensor.original_shape;
  }
  return {held};
}

Result<Elements> opaque(const DumpTensor& tensor, const ElementType& type, Elements elements) {
  elements.storage = Storage::kOpaque;
  elements.dtype = DType::kUInt8;
  elements.shape = tensor.shape;
  elements.count = tensor.bytes.size();
  elements.bytes = tensor.bytes;
  elements.note = fmt::format("{} has no numbers: compared as bytes", type.name);
  return elements;
}

// Whether each element has a byte.
bool is_in_bytes(const DumpTensor& tensor) {
  if (!tensor.has_shape || !all_known(tensor.shape)) return false;
  const Result<std::int64_t> count = element_count(tensor.shape);
  return count && static_cast<std::uint64_t>(*count) == tensor.bytes.size();
}

// One stored element, as the low bits of a byte. `index` counts stored elements.
std::uint8_t packed_element(const Elements& elements, std::uint64_t index) {
  const std::uint64_t bit = index * elements.bits;
  const auto byte = std::to_integer<std::uint8_t>(elements.bytes[bit / 8]);
  const auto mask = static_cast<std::uint8_t>((1U << elements.bits) - 1);
  // Single bits follow the high-first order of the only public reader.
  const auto shift =
      static_cast<unsigned>(elements.storage == Storage::kUInt1 ? 7 - bit % 8 : bit % 8);
  return static_cast<std::uint8_t>(byte >> shift) & mask;
}

void copy_swapped(const std::byte* from, std::byte* to, std::size_t size, std::size_t part) {
  for (std::size_t at = 0; at < size; at += part) {
    std::reverse_copy(from + at, from + at + part, to + at);
  }
}

void decode_one(const Elements& elements, std::uint64_t index, std::byte* out) {
  const std::size_t size = size_bytes(elements.dtype);
  switch (elements.storage) {
    case Storage::kPlain: {
      const std::byte* from = elements.bytes.data() + index * size;
      if (!elements.swap_bytes) {
        std::memcpy(out, from, size);
      } else {
        copy_swapped(from, out, size, is_complex(elements.dtype) ? size / 2 : size);
      }
      return;
    }
    case Storage::kE8M0:
    case Storage::kE2M1:
    case Storage::kE1M2:
    case Storage::kE3M2:
    case Storage::kE2M3: {
      const float value =
          decode_float(elements.storage, elements.bits == 8
                                             ? std::to_integer<std::uint8_t>(elements.bytes[index])
                                             : packed_element(elements, index));
      std::memcpy(out, &value, sizeof(value));
      return;
    }
    default: {
      const std::int8_t value = decode_integer(elements.storage, packed_element(elements, index));
      std::memcpy(out, &value, sizeof(value));
      return;
    }
  }
}

// Copies `n` plain elements through the offsets of the innermost axis; the size is a constant so
// that the copy is one load and one store.
template <std::size_t kSize>
void gather(const std::byte* base, const std::uint64_t* offsets, std::uint64_t n, std::byte* out) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::memcpy(out + i * kSize, base + offsets[i] * kSize, kSize);
  }
}

// Where a stored element of a tensor in several files lies.
struct PlaceInPiece {
  const Piece* piece;
  std::uint64_t index;  // in the piece
  std::uint64_t left;   // elements from there to the end of the run
};
PlaceInPiece place_in_piece(const Elements& elements, std::uint64_t index) {
  const std::uint64_t in_row = index % elements.row;
  const auto behind = std::ranges::upper_bound(elements.pieces, in_row, {}, &Piece::start);
  const Piece& piece = *std::prev(behind);
  const std::uint64_t in_run = in_row - piece.start;
  return {&piece, index / elements.row * piece.run + in_run, piece.run - in_run};
}

// Run after run, from one piece to the next.
void read_pieces(const Elements& elements, std::uint64_t first, std::uint64_t n, std::byte* out) {
  while (n > 0) {
    const PlaceInPiece place = place_in_piece(elements, first);
    const std::uint64_t run = std::min(n, place.left);
    read_elements(place.piece->elements, place.index, run, out);
    out += run * size_bytes(elements.dtype);
    first += run;
    n -= run;
  }
}

void read_run(const Elements& elements, std::uint64_t base, const std::uint64_t* offsets,
              std::uint64_t n, std::byte* out) {
  const std::size_t size = size_bytes(elements.dtype);
  if (!elements.pieces.empty()) {
    for (std::uint64_t i = 0; i < n; ++i) {
      read_pieces(elements, base + offsets[i], 1, out + i * size);
    }
    return;
  }
  if (elements.storage == Storage::kPlain && !elements.swap_bytes) {
    const std::byte* from = elements.bytes.data() + base * size;
    switch (size) {
      case 1:
        return gather<1>(from, offsets, n, out);
      case 2:
        return gather<2>(from, offsets, n, out);
      case 4:
        return gather<4>(from, offsets, n, out);
      case 8:
        return gather<8>(from, offsets, n, out);
      default:
        return gather<16>(from, offsets, n, out);
    }
  }
  for (std::uint64_t i = 0; i < n; ++i) decode_one(elements, base + offsets[i], out + i * size);
}

// Walks the outer axes, one run of the innermost axis after another.
void read_through_offsets(const Elements& elements, std::uint64_t first, std::uint64_t n,
                          std::byte* out) {
  const std::size_t size = size_bytes(elements.dtype);
  const std::size_t last = elements.shape.size() - 1;
  const std::vector<std::uint64_t>& inner = elements.offsets[last];
  std::vector<std::uint64_t> index(elements.shape.size());
  std::uint64_t rest = first;
  for (std::size_t axis = elements.shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(elements.shape[axis]);
    index[axis] = rest % extent;
    rest /= extent;
  }
  while (n > 0) {
    std::uint64_t base = 0;
    for (std::size_t axis = 0; axis < last; ++axis) base += elements.offsets[axis][index[axis]];
    const std::uint64_t run = std::min<std::uint64_t>(n, inner.size() - index[last]);
    read_run(elements, base, inner.data() + index[last], run, out);
    out += run * size;
    n -= run;
    index[last] = 0;
    for (std::size_t axis = last; axis-- > 0;) {
      if (++index[axis] < static_cast<std::uint64_t>(elements.shape[axis])) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<Elements> elements_of(const DumpTensor& tensor, const FileBytes& file) {
  const ElementType* type = element_type(tensor.type);
  if (type == nullptr) {
    return fail(ErrorKind::kUnsupported, fmt::format("unknown element type {}", tensor.type));
  }
  Elements elements;
  elements.file = file;
  elements.type_text = type->text;
  if (tensor.format != static_cast<std::uint32_t>(TensorFormat::kNd) &&
      tensor.format != static_cast<std::uint32_t>(TensorFormat::kNchw)) {
    elements.format = format_name(tensor.format);
  }
  const bool six_bits = type->storage == Storage::kE3M2 || type->storage == Storage::kE2M3;
  if (type->storage == Storage::kOpaque || (six_bits && !is_in_bytes(tensor))) {
    return opaque(tensor, *type, std::move(elements));
  }
  elements.dtype = type->decoded;
  elements.storage = type->storage;
  elements.bits = six_bits ? 8 : type->bits;
  const Shape stored = tensor.type == 0 ? Shape{static_cast<std::int64_t>(tensor.bytes.size())}
                                        : stored_shape(tensor, elements.bits);
  const Result<std::int64_t> count = element_count(stored);
  if (!count) return propagate(count);
  const std::optional<std::uint64_t> bytes =
      stored_bytes(static_cast<std::uint64_t>(*count), elements.bits);
  if (!bytes || *bytes > tensor.bytes.size()) {
    return fail(ErrorKind::kFormat,
                fmt::format("a tensor of shape [{}] and type {} in {} bytes",
                            fmt::join(stored, ", "), type->text, tensor.bytes.size()));
  }
  elements.bytes = tensor.bytes.first(*bytes);
  StoredLayout layout = layout_of(stored, tensor.type == 0 ? Shape{} : tensor.original_shape,
                                  tensor.format, tensor.sub_format);
  const Result<std::int64_t> logical = element_count(layout.shape);
  if (!logical) return propagate(logical);
  elements.count = static_cast<std::uint64_t>(*logical);
  elements.shape = std::move(layout.shape);
  elements.offsets = std::move(layout.offsets);
  elements.note = std::move(layout.note);
  return elements;
}

Result<Elements> elements_of_npy(const FileBytes& file, std::string_view name) {
  const Result<dump::NpyHeader> header = dump::read_npy_header(file.text(), name);
  if (!header) return propagate(header);
  if (file.bytes.size() - header->data_at < header->data_bytes) {
    return fail(
        ErrorKind::kFormat,
        fmt::format("{}: the file ends in the middle of the data: {} bytes, the header says {}",
                    name, file.bytes.size() - header->data_at, header->data_bytes));
  }
  Elements elements;
  elements.dtype = header->dtype;
  elements.shape = header->shape;
  elements.count = header->data_bytes / size_bytes(header->dtype);
  elements.type_text = msprobe::name(header->dtype);
  elements.file = file;
  elements.bytes = file.bytes.subspan(header->data_at, header->data_bytes);
  elements.bits = static_cast<std::uint32_t>(8 * size_bytes(header->dtype));
  elements.swap_bytes = header->big_endian && size_bytes(header->dtype) > 1;
  if (header->fortran_order && header->shape.size() > 1 && elements.count > 0) {
    std::vector<std::size_t> order(header->shape.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    elements.offsets = permuted(header->shape, order).offsets;
  }
  return elements;
}

void read_elements(const Elements& elements, std::uint64_t first, std::uint64_t n, std::byte* out) {
  const std::size_t size = size_bytes(elements.dtype);
  if (elements.direct()) {
    std::memcpy(out, elements.bytes.data() + first * size, n * size);
  } else if (!elements.pieces.empty() && elements.offsets.empty()) {
    read_pieces(elements, first, n, out);
  } else if (elements.offsets.empty()) {
    for (std::uint64_t i = 0; i < n; ++i) decode_one(elements, first + i, out + i * size);
  } else {
    read_through_offsets(elements, first, n, out);
  }
}

}  // namespace msprobe::ge
