// SPDX-License-Identifier: Apache-2.0
#include "ge/stored_layout.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "ge/element_type.h"

namespace msprobe::ge {
namespace {

// A stored axis holds a whole logical axis, or the blocks of one (outer), or what is inside a block
// (inner).
enum class Part : std::uint8_t { kWhole, kOuter, kInner };

struct StoredAxis {
  std::size_t logical;
  Part part;
  std::int64_t extent;
};

std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// The offset tables, or nothing if the stored axes do not cover the logical ones.
std::optional<StoredLayout> spread(const std::vector<StoredAxis>& stored, const Shape& logical) {
  std::vector<std::int64_t> whole(logical.size(), 1);
  std::vector<std::int64_t> inner(logical.size(), 1);
  std::vector<std::uint64_t> outer_stride(logical.size(), 0);
  std::vector<std::uint64_t> inner_stride(logical.size(), 0);
  std::uint64_t stride = 1;
  for (auto axis = stored.rbegin(); axis != stored.rend(); ++axis) {
    whole[axis->logical] *= axis->extent;
    (axis->part == Part::kInner ? inner_stride : outer_stride)[axis->logical] = stride;
    if (axis->part == Part::kInner) inner[axis->logical] = axis->extent;
    stride *= static_cast<std::uint64_t>(axis->extent);
  }
  StoredLayout layout;
  layout.shape = logical;
  for (std::size_t axis = 0; axis < logical.size(); ++axis) {
    if (whole[axis] < logical[axis] || inner[axis] == 0) return std::nullopt;
    std::vector<std::uint64_t>& offsets = layout.offsets.emplace_back();
    offsets.reserve(static_cast<std::size_t>(logical[axis]));
    for (std::int64_t i = 0; i < logical[axis]; ++i) {
      offsets.push_back(static_cast<std::uint64_t>(i / inner[axis]) * outer_stride[axis] +
                        static_cast<std::uint64_t>(i % inner[axis]) * inner_stride[axis]);
    }
  }
  return layout;
}

// Axes that are not blocked must be as long as they are stored; only a block may be padded.
bool whole_axes_fit(const std::vector<StoredAxis>& stored, const Shape& logical) {
  return std::ranges::all_of(stored, [&](const StoredAxis& axis) {
    return axis.part != Part::kWhole || axis.extent == logical[axis.logical];
  });
}

// batch..., then rows and columns in blocks, in the order the format has them.
std::optional<StoredLayout> fractal_matrix(const Shape& stored, const Shape& logical,
                                           bool columns_first) {
  if (stored.size() < 4 || logical.empty()) return std::nullopt;
  // A vector is one row.
  Shape matrix = logical;
  if (matrix.size() == 1) matrix.insert(matrix.begin(), 1);
  const std::size_t rows = matrix.size() - 2;
  const std::size_t columns = matrix.size() - 1;
  const std::size_t batches = stored.size() - 4;
  const Shape stored_batch(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(batches));
  const Shape batch(matrix.begin(), matrix.end() - 2);
  if (product(stored_batch) != product(batch)) return std::nullopt;
  std::vector<StoredAxis> axes;
  for (std::size_t i = 0; i < batch.size(); ++i) axes.push_back({i, Part::kWhole, batch[i]});
  const std::int64_t* blocks = stored.data() + batches;
  axes.push_back({columns_first ? columns : rows, Part::kOuter, blocks[0]});
  axes.push_back({columns_first ? rows : columns, Part::kOuter, blocks[1]});
  axes.push_back({rows, Part::kInner, blocks[2]});
  axes.push_back({columns, Part::kInner, blocks[3]});
  std::optional<StoredLayout> layout = spread(axes, matrix);
  if (layout && logical.size() == 1) {
    layout->shape = logical;
    layout->offsets.erase(layout->offsets.begin());
  }
  return layout;
}

std::optional<StoredLayout> from_axes(std::vector<StoredAxis> axes, const Shape& stored,
                                      const Shape& logical) {
  if (axes.size() != stored.size()) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i].extent = stored[i];
  if (!whole_axes_fit(axes, logical)) return std::nullopt;
  return spread(axes, logical);
}

constexpr Part kWhole = Part::kWhole;
constexpr Part kOuter = Part::kOuter;
constexpr Part kInner = Part::kInner;

std::optional<StoredLayout> image_layout(TensorFormat format, const Shape& stored,
                                         const Shape& logical) {
  if (logical.size() != 4) return std::nullopt;
  const std::size_t n = 0, c = 1, h = 2, w = 3;
  switch (format) {
    case TensorFormat::kNc1hwc0:
    case TensorFormat::kNc1hwc0C04:
      return from_axes(
          {{n, kWhole, 0}, {c, kOuter, 0}, {h, kWhole, 0}, {w, kWhole, 0}, {c, kInner, 0}}, stored,
          logical);
    case TensorFormat::kFractalZ: {
      // The first stored axis is C1 * H * W.
      if (stored.size() != 4 || logical[h] * logical[w] == 0) return std::nullopt;
      const Shape split{stored[0] / (logical[h] * logical[w]),
                        logical[h],
                        logical[w],
                        stored[1],
                        stored[2],
                        stored[3]};
      if (product(split) != product(stored)) return std::nullopt;
      return from_axes({{c, kOuter, 0},
                        {h, kWhole, 0},
                        {w, kWhole, 0},
                        {n, kOuter, 0},
                        {n, kInner, 0},
                        {c, kInner, 0}},
                       split, logical);
    }
    case TensorFormat::kNhwc:
      return from_axes({{n, kWhole, 0}, {h, kWhole, 0}, {w, kWhole, 0}, {c, kWhole, 0}}, stored,
                       logical);
    case TensorFormat::kHwcn:
      return from_axes({{h, kWhole, 0}, {w, kWhole, 0}, {c, kWhole, 0}, {n, kWhole, 0}}, stored,
                       logical);
    case TensorFormat::kChwn:
      return from_axes({{c, kWhole, 0}, {h, kWhole, 0}, {w, kWhole, 0}, {n, kWhole, 0}}, stored,
                       logical);
    default:
      return std::nullopt;
  }
}

std::optional<StoredLayout> volume_layout(TensorFormat format, const Shape& stored,
                                          const Shape& logical) {
  if (logical.size() != 5) return std::nullopt;
  const std::size_t n = 0, c = 1, d = 2, h = 3, w = 4;
  switch (format) {
    case TensorFormat::kNdc1hwc0:
      return from_axes({{n, kWhole, 0},
                        {d, kWhole, 0},
                        {c, kOuter, 0},
                        {h, kWhole, 0},
                        {w, kWhole, 0},
                        {c, kInner, 0}},
                       stored, logical);
    case TensorFormat::kFractalZ3d: {
      // The first stored axis is D * C1 * H * W.
      const std::int64_t inside = logical[d] * logical[h] * logical[w];
      if (stored.size() != 4 || inside == 0) return std::nullopt;
      const Shape split{logical[d], stored[0] / inside, logical[h], logical[w],
                        stored[1],  stored[2],          stored[3]};
      if (product(split) != product(stored)) return std::nullopt;
      return from_axes({{d, kWhole, 0},
                        {c, kOuter, 0},
                        {h, kWhole, 0},
                        {w, kWhole, 0},
                        {n, kOuter, 0},
                        {n, kInner, 0},
                        {c, kInner, 0}},
                       split, logical);
    }
    case TensorFormat::kNdhwc:
      return from_axes(
          {{n, kWhole, 0}, {d, kWhole, 0}, {h, kWhole, 0}, {w, kWhole, 0}, {c, kWhole, 0}}, stored,
          logical);
    case TensorFormat::kDhwcn:
      return from_axes(
          {{d, kWhole, 0}, {h, kWhole, 0}, {w, kWhole, 0}, {c, kWhole, 0}, {n, kWhole, 0}}, stored,
          logical);
    default:
      return std::nullopt;
  }
}

bool is_fractal(TensorFormat format) {
  return format == TensorFormat::kFractalZ || format == TensorFormat::kFractalZ3d;
}

std::optional<StoredLayout> converted(const Shape& stored, const Shape& logical,
                                      TensorFormat format) {
  if (format == TensorFormat::kFractalNz) return fractal_matrix(stored, logical, true);
  if (format == TensorFormat::kFractalZz) return fractal_matrix(stored, logical, false);
  if (auto layout = image_layout(format, stored, logical)) return layout;
  return volume_layout(format, stored, logical);
}

}  // namespace

StoredLayout layout_of(const Shape& stored, const Shape& logical, std::uint32_t format,
                       std::uint32_t sub_format) {
  if (logical.empty()) return {stored, {}, {}};
  const auto known = static_cast<TensorFormat>(format);
  if (is_fractal(known) && sub_format > 1) {
    return {
        stored,
        {},
        fmt::format("{} with {} groups is left as it is stored", format_name(format), sub_format)};
  }
  // From here on no product of extents overflows: each is part of a checked one without zeros.
  const Result<std::int64_t> stored_count = element_count(stored);
  const Result<std::int64_t> count = element_count(logical);
  if (count && *count == 0) return {logical, {}, {}};
  if (stored_count && *stored_count > 0 && count) {
    if (auto layout = converted(stored, logical, known)) return *layout;
    if (*stored_count == *count) return {logical, {}, {}};
  }
  return {stored,
          {},
          fmt::format("the layout {} does not map [{}] to [{}]", format_name(format),
                      fmt::join(stored, ", "), fmt::join(logical, ", "))};
}

StoredLayout permuted(const Shape& logical, const std::vector<std::size_t>& order) {
  std::vector<StoredAxis> axes;
  for (const std::size_t axis : order) axes.push_back({axis, Part::kWhole, logical[axis]});
  return spread(axes, logical).value_or(StoredLayout{logical, {}, {}});
}

}  // namespace msprobe::ge
