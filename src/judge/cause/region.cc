// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include <fmt/format.h>

#include "cause/cause.h"
#include "strict/wording.h"

namespace msprobe::cause {

using strict::beyond_mask;
using strict::place_text;

namespace {

// Most bad elements whose places are looked at one by one.
constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 20;

struct Extent {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t size = 0;

  std::int64_t length() const { return last - first + 1; }
  std::string text() const {
    if (first == last) return fmt::format("{}", first);
    return fmt::format("{}..{}", first, last);
  }
};

// One row per bad element, one column per dimension.
std::vector<Extent> box_of(const at::Tensor& places, at::IntArrayRef shape) {
  std::vector<Extent> box;
  for (std::int64_t dim = 0; dim < places.size(1); ++dim) {
    const at::Tensor column = places.select(1, dim);
    box.push_back({column.min().item<std::int64_t>(), column.max().item<std::int64_t>(),
                   shape[static_cast<std::size_t>(dim)]});
  }
  return box;
}

std::string box_text(const std::vector<Extent>& box) {
  std::vector<std::string> parts;
  for (const Extent& extent : box) parts.push_back(extent.text());
  return fmt::format("({})", fmt::join(parts, ", "));
}

// Convolutions and normalisations have channels as their second dimension.
std::string_view slice_name(std::size_t dim, std::size_t dims) {
  if (dims >= 3 && dim == 1) return "channel";
  if (dims >= 2 && dim + 1 == dims) return "column";
  return "row";
}

std::string stride_text(const at::Tensor& mask) {
  const at::Tensor places = mask.flatten().nonzero().flatten();
  if (places.numel() < 4) return "";
  const std::int64_t first = places[0].item<std::int64_t>();
  const at::Tensor steps = places - first;
  std::int64_t step = 0;
  for (std::int64_t i = 1; i < places.numel() && step != 1; ++i) {
    step = std::gcd(step, steps[i].item<std::int64_t>());
  }
  if (step < 2) return "";
  const std::int64_t possible = steps[-1].item<std::int64_t>() / step + 1;
  if (2 * places.numel() < possible) return "";
  return fmt::format("bad stride: every {}th element from {} on", step,
                     place_text(mask.sizes(), first));
}

// At least this many elements in one part of a result are no coincidence.
constexpr std::int64_t kMany = 6;
// A box that nearly fills the result is not a part of it.
constexpr double kClearlyLess = 0.9;

// The box around the bad elements, where it is mostly bad or a small part of the result.
std::string tile_text(const at::Tensor& mask, std::string_view of) {
  const at::Tensor places = mask.nonzero();
  const std::vector<Extent> box = box_of(places, mask.sizes());
  double volume = 1;
  for (const Extent& extent : box) volume *= static_cast<double>(extent.length());
  const auto numel = static_cast<double>(mask.numel());
  const bool dense =
      2 * static_cast<double>(places.size(0)) >= volume && volume <= kClearlyLess * numel;
  const bool small = places.size(0) >= kMany && 4 * volume <= numel;
  return dense || small ? fmt::format("bad tile: {}{}", box_text(box), of) : "";
}

}  // namespace

std::string region_cause(const Failure& failure) {
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const auto count = mask.sum().item<std::int64_t>();
  if (count == 0 || count > kMaxPlaces || mask.dim() == 0) return "";
  const at::Tensor places = mask.nonzero();
  if (count == 1) {
    return fmt::format("one bad element: {}",
                       place_text(mask.sizes(), mask.flatten().nonzero()[0].item<std::int64_t>()));
  }
  const std::vector<Extent> box = box_of(places, mask.sizes());
  double volume = 1;
  for (const Extent& extent : box) volume *= static_cast<double>(extent.length());
  const double share = static_cast<double>(count) / volume;
  std::size_t narrow = 0;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    if (box[dim].length() < box[dim].size) ++narrow;
  }
  for (std::size_t dim = 0; narrow == 1 && share >= 0.25 && dim < box.size(); ++dim) {
    if (box[dim].length() > 1 || box[dim].size == 1) continue;
    return fmt::format("bad {}: index {} of dimension {}", slice_name(dim, box.size()),
                       box[dim].text(), dim);
  }
  if (std::string tile = tile_text(mask, ""); !tile.empty()) return tile;
  if (std::string stride = stride_text(mask); !stride.empty()) return stride;
  if (mask.dim() > 2) {
    const at::Tensor matrix = mask.reshape({-1, mask.size(-1)});
    return tile_text(matrix, " of the matrix that its rows make");
  }
  return "";
}

}  // namespace msprobe::cause
