// SPDX-License-Identifier: Apache-2.0
#include "comparison/tensor_pass.h"

namespace msprobe::comparison {

Window::Window(const ge::Elements& elements, std::uint64_t first, std::uint64_t count) {
  if (count == 0) return;
  if (elements.pieces.empty()) bring(elements, first, count);
  // Rows that begin before the window or end behind it are brought whole, unless there is only one.
  const std::uint64_t last = first + count - 1;
  for (const ge::Piece& piece : elements.pieces) {
    const std::uint64_t all = piece.elements.count;
    std::uint64_t from = elements.offsets.empty() ? first / elements.row * piece.run : 0;
    std::uint64_t to = elements.offsets.empty() ? (last / elements.row + 1) * piece.run : all;
    if (piece.run == all && elements.offsets.empty()) {
      from = std::clamp(first, piece.start, piece.start + all) - piece.start;
      to = std::clamp(last + 1, piece.start, piece.start + all) - piece.start;
    }
    if (to > from) bring(piece.elements, from, to - from);
  }
}

void Window::bring(const ge::Elements& elements, std::uint64_t first, std::uint64_t count) {
  if (!elements.direct()) {
    // The elements may come from anywhere in the tensor.
    pages_.give_back(elements.file);
    return;
  }
  const std::size_t size = size_bytes(elements.dtype);
  pages_.bring(elements.file, elements.bytes.subspan(first * size, count * size),
               first + count == elements.count);
}

TensorView view_of(const ge::Elements& elements, std::uint64_t first, std::uint64_t count,
                   std::vector<std::byte>& buffer) {
  const std::size_t size = size_bytes(elements.dtype);
  if (elements.direct()) {
    return {elements.dtype, {}, elements.bytes.subspan(first * size, count * size)};
  }
  buffer.resize(count * size);
  ge::read_elements(elements, first, count, buffer.data());
  return {elements.dtype, {}, buffer};
}

std::vector<std::byte>& device_buffer() {
  static thread_local std::vector<std::byte> buffer;
  return buffer;
}

std::vector<std::byte>& bench_buffer() {
  static thread_local std::vector<std::byte> buffer;
  return buffer;
}

}  // namespace msprobe::comparison
