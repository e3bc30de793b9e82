// SPDX-License-Identifier: Apache-2.0
#include "ge/joined.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "ge/stored_layout.h"

namespace msprobe::ge {
namespace {

std::string text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<Elements> as_stored(const DumpTensor& tensor, const FileBytes& file) {
  DumpTensor stored = tensor;
  stored.original_shape.clear();
  return elements_of(stored, file);
}

// Equal but for the extent of `axis`.
bool fits(const Shape& a, const Shape& b, std::size_t axis) {
  if (a.size() != b.size() || axis >= a.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

// -1, not known, where there are more than any tensor has.
std::int64_t total_extent(const std::vector<Shape>& shapes, std::size_t axis) {
  std::int64_t total = 0;
  for (const Shape& shape : shapes) {
    if (shape[axis] < 0 || __builtin_add_overflow(total, shape[axis], &total)) return -1;
  }
  return total;
}

// Whether going along `axis` of the stored shape is going along axis `logical` of the layout.
bool leads_along(const StoredLayout& layout, std::size_t logical, const Shape& stored,
                 std::size_t axis) {
  if (layout.offsets.empty()) return layout.shape == stored && logical == axis;
  std::uint64_t stride = 1;
  for (std::size_t i = axis + 1; i < stored.size(); ++i) {
    stride *= static_cast<std::uint64_t>(stored[i]);
  }
  return std::ranges::binary_search(layout.offsets[logical], stride);
}

// How the network sees the whole: as every slice names it, or as the shapes of the slices put
// together along an axis. Nothing if neither leads there.
std::optional<StoredLayout> layout_of_whole(const Shape& stored,
                                            std::span<const TensorSlice> slices, std::size_t axis) {
  const DumpTensor& tensor = *slices.front().tensor;
  std::vector<Shape> originals;
  for (const TensorSlice& slice : slices) originals.push_back(slice.tensor->original_shape);
  const Shape& first = originals.front();
  const auto layout_for = [&](const Shape& logical) {
    return layout_of(stored, logical, tensor.format, tensor.sub_format);
  };
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool joins =
        std::ranges::all_of(originals, [&](const Shape& other) { return fits(other, first, i); });
    if (!joins) continue;
    Shape logical = first;
    logical[i] = total_extent(originals, i);
    StoredLayout layout = layout_for(logical);
    if (layout.note.empty() && leads_along(layout, i, stored, axis)) return layout;
  }
  StoredLayout layout = layout_for(first);
  const bool agree =
      std::ranges::all_of(originals, [&](const Shape& other) { return other == first; });
  return agree && layout.note.empty() ? std::optional(std::move(layout)) : std::nullopt;
}

}  // namespace

Result<Elements> join_slices(std::span<const TensorSlice> slices, std::size_t axis) {
  std::vector<Shape> shapes;
  Elements whole;
  std::uint64_t inner = 1;
  for (const TensorSlice& slice : slices) {
    Result<Elements> part = as_stored(*slice.tensor, slice.file);
    if (!part) return propagate(part);
    if (part->opaque()) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("slices of {} cannot be put together", part->type_text));
    }
    shapes.push_back(part->shape);
    if (!fits(shapes.back(), shapes.front(), axis) ||
        slice.tensor->type != slices.front().tensor->type) {
      return fail(ErrorKind::kFormat,
                  fmt::format("slices of {} {} and {} {} do not fit along axis {}",
                              whole.pieces.empty() ? part->type_text : whole.type_text,
                              text(shapes.front()), part->type_text, text(shapes.back()), axis));
    }
    if (whole.pieces.empty()) {
      whole = *part;
      whole.bytes = {};
      inner = 1;
      for (std::size_t i = axis + 1; i < part->shape.size(); ++i) {
        inner *= static_cast<std::uint64_t>(part->shape[i]);
      }
    }
    const std::uint64_t run = static_cast<std::uint64_t>(part->shape[axis]) * inner;
    // An empty slice has no place of its own.
    if (run > 0) whole.pieces.push_back({whole.row, run, std::move(*part)});
    whole.row += run;
  }
  whole.shape = shapes.front();
  whole.shape[axis] = total_extent(shapes, axis);
  std::optional<StoredLayout> layout = layout_of_whole(whole.shape, slices, axis);
  if (!layout) {
    whole.note = "the slices were put together as they are stored";
    layout = StoredLayout{whole.shape, {}, {}};
  }
  const Result<std::int64_t> count = element_count(layout->shape);
  if (!count) return propagate(count);
  whole.shape = std::move(layout->shape);
  whole.offsets = std::move(layout->offsets);
  whole.count = static_cast<std::uint64_t>(*count);
  return whole;
}

}  // namespace msprobe::ge
