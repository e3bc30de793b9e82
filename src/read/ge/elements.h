// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor in a file, in logical order and in a dtype the host has, read a part at
// a time: memory is bounded by the part, whatever the layout or the packing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"
#include "ge/dump_file.h"
#include "ge/element_type.h"

namespace msprobe::ge {

struct Piece;

struct Elements {
  DType dtype = DType::kFloat32;  // as read() gives them
  Shape shape;
  std::uint64_t count = 0;
  std::string type_text;    // as stored: "int4"
  std::string_view format;  // device layout; empty for the usual order
  std::string note;         // what a person should know of how it was read
  FileBytes file;           // keeps `bytes`
  std::span<const std::byte> bytes;
  Storage storage = Storage::kPlain;
  std::uint32_t bits = 0;                           // of a stored element
  bool swap_bytes = false;                          // stored big-endian
  std::vector<std::vector<std::uint64_t>> offsets;  // see Layout
  std::vector<Piece> pieces;  // of a tensor that is in several files; `bytes` is empty then
  std::uint64_t row = 0;      // stored elements of all pieces together before the first comes again

  // Whether the bytes can be used where they are.
  bool direct() const;
  bool opaque() const { return storage == Storage::kOpaque; }
};

// Of each row of the whole, elements start .. start + run - 1 lie in this piece, row after row.
struct Piece {
  std::uint64_t start = 0;
  std::uint64_t run = 0;
  Elements elements;  // as stored
};

inline bool Elements::direct() const {
  return (storage == Storage::kPlain || opaque()) && !swap_bytes && offsets.empty() &&
         pieces.empty();
}

// An error if the header asks for more than the tensor has, or names a type nobody knows.
Result<Elements> elements_of(const DumpTensor& tensor, const FileBytes& file);

// An npy array of numbers, in either byte order and memory order.
Result<Elements> elements_of_npy(const FileBytes& file, std::string_view name);

// Elements first .. first + n - 1 as `dtype`, into n * size_bytes(dtype) bytes. REQUIRES: the
// elements are there.
void read_elements(const Elements& elements, std::uint64_t first, std::uint64_t n, std::byte* out);

}  // namespace msprobe::ge
