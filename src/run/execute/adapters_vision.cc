// SPDX-License-Identifier: Apache-2.0
// Resampling.
#include <algorithm>

#include <fmt/format.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

using Sizes = std::vector<std::int64_t>;
using Factors = std::vector<double>;

struct Scaling {
  std::optional<Sizes> size;
  std::optional<Factors> factors;
};

Scaling scaling_of(const Bound& a, bool recompute) {
  const at::Tensor& input = a.tensor("input");
  const auto dims = static_cast<std::size_t>(std::max<std::int64_t>(input.dim() - 2, 0));
  if (a.is_none("size") == a.is_none("scale_factor")) {
    throw BindError("one of size or scale_factor should be defined, and only one");
  }
  Scaling scaling;
  if (!a.is_none("size")) {
    scaling.size = a.integers("size", dims);
    return scaling;
  }
  const auto one = as_real(a.value("scale_factor"));
  scaling.factors = one ? Factors(dims, *one) : a.reals("scale_factor");
  if (!recompute) return scaling;
  scaling.size.emplace();
  for (std::size_t i = 0; i < dims; ++i) {
    const auto extent = static_cast<double>(input.size(static_cast<std::int64_t>(i) + 2));
    scaling.size->push_back(static_cast<std::int64_t>(extent * scaling.factors->at(i)));
  }
  scaling.factors.reset();
  return scaling;
}

PyValue size_value(const Scaling& scaling) {
  if (!scaling.size) return {dump::None{}};
  return {dump::SizeValue{*scaling.size}};
}

PyValue factors_value(const Scaling& scaling) {
  if (!scaling.factors) return {dump::None{}};
  PyList list;
  for (const double factor : *scaling.factors) list.push_back({factor});
  return {std::move(list)};
}

// The operators that take (input, size or none, [align_corners,] factors or none).
struct ModeRow {
  std::string_view mode;
  std::int64_t rank;
  bool antialias;
  bool has_corners;
  std::string_view aten;
};
constexpr ModeRow kModes[] = {
    {"nearest", 3, false, false, "upsample_nearest1d"},
    {"nearest", 4, false, false, "upsample_nearest2d"},
    {"nearest", 5, false, false, "upsample_nearest3d"},
    {"nearest-exact", 3, false, false, "_upsample_nearest_exact1d"},
    {"nearest-exact", 4, false, false, "_upsample_nearest_exact2d"},
    {"nearest-exact", 5, false, false, "_upsample_nearest_exact3d"},
    {"linear", 3, false, true, "upsample_linear1d"},
    {"bilinear", 4, false, true, "upsample_bilinear2d"},
    {"bilinear", 4, true, true, "_upsample_bilinear2d_aa"},
    {"trilinear", 5, false, true, "upsample_trilinear3d"},
    {"bicubic", 4, false, true, "upsample_bicubic2d"},
    {"bicubic", 4, true, true, "_upsample_bicubic2d_aa"},
    {"lanczos", 4, true, true, "_upsample_lanczos2d_aa"},
};

PyValue resample_area(const at::Tensor& input, const Scaling& scaling) {
  switch (input.dim()) {
    case 3:
      return {at::adaptive_avg_pool1d(input, *scaling.size)};
    case 4:
      return {at::adaptive_avg_pool2d(input, *scaling.size)};
    case 5:
      return {at::adaptive_avg_pool3d(input, *scaling.size)};
    default:
      throw BindError(fmt::format("mode area takes 3 to 5 dimensions, not {}", input.dim()));
  }
}

PyValue resample(const at::Tensor& input, const Scaling& scaling, std::string_view mode,
                 bool align_corners, bool antialias) {
  if (mode == "area") return resample_area(input, scaling);
  const auto row = std::ranges::find_if(kModes, [&](const ModeRow& candidate) {
    return candidate.mode == mode && candidate.rank == input.dim() &&
           candidate.antialias == antialias;
  });
  if (row == std::end(kModes)) {
    throw BindError(fmt::format("no interpolation of mode {} for {} dimensions{}", mode,
                                input.dim(), antialias ? " with antialias" : ""));
  }
  PyCall call{{{input}, size_value(scaling)}};
  if (row->has_corners) call.args.push_back({align_corners});
  call.args.push_back(factors_value(scaling));
  return call_aten(row->aten, call);
}

PyValue interpolate(const Bound& a) {
  const std::string& mode = a.text("mode");
  const bool recompute = a.opt_boolean("recompute_scale_factor").value_or(false) || mode == "area";
  return resample(a.tensor("input"), scaling_of(a, recompute), mode,
                  a.opt_boolean("align_corners").value_or(false), a.boolean("antialias"));
}

PyValue upsample(const Bound& a) {
  const std::string& mode = a.text("mode");
  return resample(a.tensor("input"), scaling_of(a, mode == "area"), mode,
                  a.opt_boolean("align_corners").value_or(false), false);
}

PyValue upsample_nearest(const Bound& a) {
  return resample(a.tensor("input"), scaling_of(a, false), "nearest", false, false);
}

PyValue upsample_bilinear(const Bound& a) {
  return resample(a.tensor("input"), scaling_of(a, false), "bilinear", true, false);
}

// Python's word for an enumerator of ATen: its place in the list.
template <std::size_t kCount>
std::int64_t enumerator(const std::string& word,
                        const std::array<std::string_view, kCount>& words) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) {
    throw BindError(fmt::format("'{}', expected one of {}", word, fmt::join(words, ", ")));
  }
  return found - words.begin();
}

PyValue grid_sample(const Bound& a) {
  constexpr std::array<std::string_view, 3> kSampling{"bilinear", "nearest", "bicubic"};
  constexpr std::array<std::string_view, 3> kPadding{"zeros", "border", "reflection"};
  return {at::grid_sampler(a.tensor("input"), a.tensor("grid"),
                           enumerator(a.text("mode"), kSampling),
                           enumerator(a.text("padding_mode"), kPadding),
                           a.opt_boolean("align_corners").value_or(false))};
}

PyValue affine_grid(const Bound& a) {
  return {at::affine_grid_generator(a.tensor("theta"), a.integers("size"),
                                    a.opt_boolean("align_corners").value_or(false))};
}

constexpr ApiRow kVisionRows[] = {
    {"Functional.affine_grid", "theta, size, align_corners=None", &affine_grid},
    {"Functional.grid_sample",
     "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None", &grid_sample},
    {"Functional.interpolate",
     "input, size=None, scale_factor=None, mode='nearest', align_corners=None, "
     "recompute_scale_factor=None, antialias=False",
     &interpolate},
    {"Functional.upsample",
     "input, size=None, scale_factor=None, mode='nearest', align_corners=None", &upsample},
    {"Functional.upsample_bilinear", "input, size=None, scale_factor=None", &upsample_bilinear},
    {"Functional.upsample_nearest", "input, size=None, scale_factor=None", &upsample_nearest},
};

}  // namespace

std::span<const ApiRow> vision_rows() { return kVisionRows; }

}  // namespace msprobe::execute
