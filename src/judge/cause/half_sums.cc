// SPDX-License-Identifier: Apache-2.0
#include "cause/half_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "strict/float_type.h"
#include "strict/lost_terms.h"

namespace msprobe::cause {

using strict::float_type;
using strict::kMostLeft;
using strict::Product;
using strict::root_mean_square;
using strict::shape_of;

namespace {

// Of two that fit, one is the better by so much.
constexpr double kClearly = 0.5;
// In another order of summation the same rounding gives an error of about the same size.
constexpr double kLeastRatio = 1.0 / 8;
constexpr double kLargestRatio = 4;
// What a type gives with other blocks than those that were tried.
constexpr double kAboutTheSize = 1.5;
// Nearly all results are numbers of the type.
constexpr double kNearlyAllSums = 0.99;
constexpr std::int64_t kMostSteps = 4096;
// A sample of this size is enough. All of a large result would cost several products.
constexpr std::int64_t kSampled = 1 << 14;

constexpr std::array kTypes = {at::kBFloat16, at::kHalf};

// Some rows of a product, of what the device made of it, and of the benchmark.
struct Rows {
  at::Tensor left, right, added;
  at::Tensor device, bench;  // float64; the benchmark rounded to the device's dtype
  at::ScalarType device_type;
};

Rows some_rows(const Product& product, const at::Tensor& device, const at::Tensor& bench) {
  const std::vector<std::int64_t> shape = shape_of(product);
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t each =
      std::max<std::int64_t>(1, bench.numel() / std::max<std::int64_t>(rows, 1));
  const std::int64_t wanted =
      std::clamp<std::int64_t>(kSampled / each, 1, std::max<std::int64_t>(rows, 1));
  const std::int64_t step = std::max<std::int64_t>(1, rows / wanted);
  const auto taken = [&](const at::Tensor& all) { return all.slice(-2, 0, all.size(-2), step); };
  const at::Tensor added =
      product.added.defined() ? taken(product.added.expand(shape)) : at::Tensor();
  return {taken(product.left),
          product.right.all(),
          added,
          taken(device.to(at::kDouble).reshape(shape)),
          taken(bench.to(device.scalar_type()).to(at::kDouble).reshape(shape)),
          device.scalar_type()};
}

// Some terms at a time, the sum rounded to `type` after each of these blocks; what is added comes
// last, and the result has the device's dtype.
at::Tensor summed_in(const Rows& rows, at::ScalarType type, std::int64_t block) {
  const std::int64_t terms = rows.left.size(-1);
  at::Tensor sum;
  for (std::int64_t k = 0; k < terms; k += block) {
    const std::int64_t count = std::min(block, terms - k);
    const at::Tensor part =
        at::matmul(rows.left.narrow(-1, k, count), rows.right.narrow(-2, k, count));
    sum = (sum.defined() ? sum + part : part).to(type).to(at::kDouble);
  }
  if (rows.added.defined()) sum = sum + rows.added;
  return sum.to(rows.device_type).to(at::kDouble);
}

// The blocks of matrix units first. Those of a convolution are whole channels.
std::vector<std::int64_t> blocks_of(const Product& product) {
  const std::int64_t terms = product.left.size(-1);
  std::vector<std::int64_t> blocks;
  const auto add = [&](std::int64_t block) {
    const std::int64_t least = 1 + terms / kMostSteps;
    const std::int64_t size = std::clamp(block, std::min(least, terms), terms);
    if (std::ranges::find(blocks, size) == blocks.end()) blocks.push_back(size);
  };
  if (product.channels > 0) {
    const std::int64_t places = terms / product.channels;
    add(places * std::max<std::int64_t>(1, 16 / places));
    add(places);
  }
  for (const std::int64_t block : {16, 8, 32, 4, 64, 1}) add(block);
  return blocks;
}

struct TriedSums {
  double left = INFINITY;             // least share of the error
  double least = INFINITY, most = 0;  // sizes of the error of this type
  bool holds = false;                 // such sums at all
};

TriedSums try_type(const Rows& rows, at::ScalarType type, const std::vector<std::int64_t>& blocks,
                   double whole) {
  TriedSums tried;
  for (const std::int64_t block : blocks) {
    const at::Tensor sum = summed_in(rows, type, block);
    if (!sum.isfinite().all().item<bool>()) continue;
    tried.holds = true;
    const double size = root_mean_square(sum - rows.bench);
    tried.least = std::min(tried.least, size);
    tried.most = std::max(tried.most, size);
    tried.left = std::min(tried.left, root_mean_square(rows.device - sum) / whole);
    if (tried.left < kMostLeft * kMostLeft) break;
  }
  return tried;
}

// Whether the results, without what is added, are numbers of `type`, where that says something.
bool is_of(const Rows& rows, at::ScalarType type) {
  const double eps = float_type(rows.device_type)->eps;
  if (float_type(type)->eps <= 4 * eps) return false;
  const at::Tensor added = rows.added.defined() ? rows.added : at::zeros_like(rows.device);
  const at::Tensor rounded = (rows.device - added).to(type).to(at::kDouble) + added;
  return (rounded - rows.device)
             .abs()
             .le(eps * rows.device.abs())
             .to(at::kDouble)
             .mean()
             .item<double>() >= kNearlyAllSums;
}

std::optional<at::ScalarType> type_of_results(const Rows& rows) {
  for (const at::ScalarType type : kTypes) {  // what bfloat16 holds, float16 may hold too
    if (is_of(rows, type)) return type;
  }
  return std::nullopt;
}

}  // namespace

std::optional<HalfSums> half_sums(const Product& product, const at::Tensor& device,
                                  const at::Tensor& bench) {
  if (c10::multiply_integers(shape_of(product)) != bench.numel() || bench.numel() == 0 ||
      product.left.size(-1) == 0) {
    return std::nullopt;
  }
  const Rows rows = some_rows(product, device, bench);
  const double whole = root_mean_square(rows.device - rows.bench);
  if (!(whole > 0)) return std::nullopt;
  const std::vector<std::int64_t> blocks = blocks_of(product);
  std::array<TriedSums, kTypes.size()> tried;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    tried[i] = try_type(rows, kTypes[i], blocks, whole);
  }
  const std::size_t better = tried[1].left < tried[0].left ? 1 : 0;
  const TriedSums& best = tried[better];
  const TriedSums& other = tried[1 - better];
  if (best.left < kMostLeft) {
    const bool clear = best.left < kClearly * other.left;
    return HalfSums{clear ? std::optional(kTypes[better]) : type_of_results(rows), best.left};
  }
  const auto in_range = [&](const TriedSums& type, double below, double above) {
    return type.holds && whole >= below * type.least && whole <= above * type.most;
  };
  std::vector<at::ScalarType> near;
  bool possible = false;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    possible = possible || in_range(tried[i], kLeastRatio, kLargestRatio);
    if (in_range(tried[i], 1 / kAboutTheSize, kAboutTheSize)) near.push_back(kTypes[i]);
  }
  if (!possible) return std::nullopt;
  if (const auto type = type_of_results(rows)) return HalfSums{type, std::nullopt};
  return HalfSums{near.size() == 1 ? std::optional(near.front()) : std::nullopt, std::nullopt};
}

}  // namespace msprobe::cause
