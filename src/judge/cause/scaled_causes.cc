// SPDX-License-Identifier: Apache-2.0
#include "cause/scaled_causes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cause/scaled_unit.h"
#include "low_precision/codes.h"
#include "strict/lost_terms.h"

namespace msprobe::cause {
namespace {

using low_precision::Factor;
using low_precision::Part;
using low_precision::ScaledProduct;
using strict::kMostLeft;

constexpr double kMostCost = 0x1p27;   // of one hypothesis, in products
constexpr std::int64_t kFewRows = 16;  // that are looked at of a large result
constexpr std::int64_t kTile = 128;

// A change of one factor; nothing if it changes nothing there.
using Change = std::function<bool(Factor&)>;

bool has_grid(const Factor& factor) { return factor.scales.defined() && factor.scales.size(1) > 1; }

at::Tensor rolled(const at::Tensor& grid, std::int64_t by, std::int64_t dim) {
  return grid.roll({by}, {dim});
}

bool roll_blocks(Factor& f, std::int64_t by) {
  if (!has_grid(f)) return false;
  f.scales = rolled(f.scales, by, 1);
  return true;
}

bool roll_rows(Factor& f, std::int64_t by) {
  if (!f.scales.defined() || f.scales.size(0) < 2) return false;
  f.scales = rolled(f.scales, by, 0);
  return true;
}

bool first_block(Factor& f) {
  if (!has_grid(f)) return false;
  f.scales = f.scales.narrow(1, 0, 1);
  return true;
}

bool first_row(Factor& f) {
  if (!f.scales.defined() || f.scales.size(0) < 2) return false;
  f.scales = f.scales.narrow(0, 0, 1).expand_as(f.scales).contiguous();
  return true;
}

bool by_columns(Factor& f) {
  if (!has_grid(f) || f.scales.size(0) < 2) return false;
  f.scales = f.scales.t().reshape(f.scales.sizes());
  return true;
}

bool from_columns(Factor& f) {
  if (!has_grid(f) || f.scales.size(0) < 2) return false;
  f.scales = f.scales.contiguous().view({f.scales.size(1), f.scales.size(0)}).t().contiguous();
  return true;
}

bool is_swizzled_kind(const Factor& f) { return f.scales.defined() && f.block <= 32; }

at::Tensor padded_grid(const at::Tensor& grid) {
  const std::int64_t rows = (grid.size(0) + kTile - 1) / kTile * kTile;
  const std::int64_t blocks = (grid.size(1) + 3) / 4 * 4;
  at::Tensor padded = at::zeros({rows, blocks}, grid.options());
  padded.narrow(0, 0, grid.size(0)).narrow(1, 0, grid.size(1)).copy_(grid);
  return padded;
}

bool read_plainly(Factor& f) {
  if (!is_swizzled_kind(f)) return false;
  const at::Tensor padded = padded_grid(f.scales);
  f.scales = low_precision::swizzled(f.scales)
                 .view(padded.sizes())
                 .narrow(0, 0, f.scales.size(0))
                 .narrow(1, 0, f.scales.size(1))
                 .contiguous();
  return true;
}

bool read_plainly_unpadded(Factor& f) {
  if (!is_swizzled_kind(f)) return false;
  f.scales =
      low_precision::swizzled(f.scales).narrow(0, 0, f.scales.numel()).view(f.scales.sizes());
  return true;
}

bool swizzled_twice(Factor& f) {
  if (!is_swizzled_kind(f)) return false;
  f.scales = low_precision::unswizzled(padded_grid(f.scales).flatten(), f.scales.size(0),
                                       f.scales.size(1));
  return true;
}

bool unpadded_squares(Factor& f) {
  if (!has_grid(f) || f.block != kTile || f.scales.size(1) % 4 == 0) return false;
  const std::int64_t rows = f.scales.size(0);
  const std::int64_t blocks = f.scales.size(1);
  const std::int64_t squares = (rows + kTile - 1) / kTile;
  std::vector<std::int64_t> firsts;
  for (std::int64_t i = 0; i < squares; ++i) firsts.push_back(i * kTile);
  const at::Tensor grid = f.scales.index_select(0, at::tensor(firsts));
  const at::Tensor padded = padded_grid(grid).narrow(0, 0, squares).contiguous();
  f.scales = padded.flatten()
                 .narrow(0, 0, squares * blocks)
                 .view({squares, blocks})
                 .repeat_interleave(kTile, 0)
                 .narrow(0, 0, rows);
  return true;
}

bool swap_halves(Factor& f) {
  if (f.numbers.size(1) % 2 != 0) return false;
  f.numbers = f.numbers.unflatten(1, {f.numbers.size(1) / 2, 2}).flip(-1).flatten(1);
  return true;
}

bool no_scale(Factor& f) {
  if (!f.scales.defined()) return false;
  f.scales = at::ones_like(f.scales);
  return true;
}

bool reciprocal(Factor& f) {
  if (!f.scales.defined()) return false;
  f.scales = f.scales.reciprocal();
  f.scale = 1 / f.scale;
  return true;
}

bool exponent_only(Factor& f) {
  if (!f.scales.defined()) return false;
  f.scales = at::exp2(at::floor(at::log2(f.scales.abs().clamp_min(1e-300))));
  return true;
}

bool no_whole_scale(Factor& f) {
  if (f.scale == 1) return false;
  f.scale = 1;
  return true;
}

bool times(Factor& f, double factor) {
  f.numbers = f.numbers * factor;
  return true;
}

bool flush(Factor& f, const std::optional<CodeFormat>& format) {
  if (!format) return false;
  // Subnormal numbers are as far apart as the least of them is from 0.
  const auto& values = values_of(*format);
  double normal = values[1];
  for (std::size_t code = 1; code < 120; ++code) {
    if (values[code + 1] - values[code] > values[1]) {
      normal = values[code] / 2;
      break;
    }
  }
  f.numbers = f.numbers.masked_fill(f.numbers.abs().lt(normal), 0);
  return true;
}

bool without_terms(Factor& f, std::int64_t first, std::int64_t count) {
  if (first < 0 || first + count > f.numbers.size(1) || count == f.numbers.size(1)) return false;
  f.numbers = f.numbers.clone();
  f.numbers.narrow(1, first, count).zero_();
  return true;
}

struct Named {
  std::string text;
  Change change;
};

std::vector<Named> changes_of_factor(at::ScalarType type) {
  const auto format = low_precision::code_format(type);
  std::vector<Named> all = {
      {"the scale of the next block", [](Factor& f) { return roll_blocks(f, -1); }},
      {"the scale of the block before", [](Factor& f) { return roll_blocks(f, 1); }},
      {"the scale of the first block everywhere", &first_block},
      {"the scales of the row behind", [](Factor& f) { return roll_rows(f, -1); }},
      {"the scales of the row before", [](Factor& f) { return roll_rows(f, 1); }},
      {"the scales of the first row everywhere", &first_row},
      {"the scales of the next 128 rows", [](Factor& f) { return roll_rows(f, -kTile); }},
      {"swizzled scales read plainly", &read_plainly},
      {"swizzled scales read plainly, without padding", &read_plainly_unpadded},
      {"scales swizzled twice", &swizzled_twice},
      {"scales read column by column", &by_columns},
      {"scales read column by column", &from_columns},
      {"the padding of 128x128 scales forgotten", &unpadded_squares},
      {"the scale of the whole tensor lost", &no_whole_scale},
      {"the scale left out", &no_scale},
      {"the reciprocal of the scale", &reciprocal},
      {"the exponent of the scale alone", &exponent_only},
      {"the scale exponent one too large", [](Factor& f) { return times(f, 2); }},
      {"the scale exponent one too small", [](Factor& f) { return times(f, 0.5); }},
      {"subnormal codes flushed", [format](Factor& f) { return flush(f, format); }},
  };
  if (low_precision::is_packed(type)) {
    all.push_back({"the halves of packed bytes swapped", &swap_halves});
  }
  return all;
}

// The rows of the result that are looked at, and the error there.
class Hypotheses {
 public:
  Hypotheses(const ScaledProduct& product, const at::Tensor& device, const at::Tensor& bench,
             const at::Tensor& beyond)
      : product_(product), device_(device.to(at::kDouble)) {
    const bool all = unit_cost(product) <= kMostCost;
    seen_ = at::zeros(bench.sizes(), at::kBool);
    for (const Part& part : product.parts) {
      at::Tensor rows = all ? at::arange(part.left.numbers.size(0))
                            : part.place_in(beyond).any(1).nonzero().flatten();
      rows = rows.narrow(0, 0, all ? rows.numel() : std::min(kFewRows, rows.numel()));
      part.place_in(seen_).index_fill_(0, rows, 1);
      rows_.push_back(std::move(rows));
    }
    seen_ = seen_.logical_and(device_.isfinite()).logical_and(bench.isfinite());
    error_ = left_by(bench);
  }

  bool can_tell() const { return error_ > 0; }
  const ScaledProduct& product() const { return product_; }

  // Whether `result` (float64, of the whole shape) leaves little of the error.
  bool explained_by(const at::Tensor& result) const { return left_by(result) < kMostLeft * error_; }

  // The factor that brings `result` nearest to what the device gave.
  double ratio_to(const at::Tensor& result) const {
    const at::Tensor seen = result.masked_select(seen_);
    const double square = seen.square().sum().item<double>();
    const double both = (seen * device_.masked_select(seen_)).sum().item<double>();
    return square > 0 && std::isfinite(both / square) ? both / square : 1;
  }

  // What a device would give, in the rows that are looked at, that computes `changed`.
  at::Tensor result_of(const ScaledProduct& changed) const {
    at::Tensor result = at::zeros(changed.shape, at::kDouble);
    for (std::size_t i = 0; i < changed.parts.size(); ++i) {
      const Part& part = changed.parts[i];
      const at::Tensor left = part.left.scaled().index_select(0, rows_[i]);
      part.place_in(result).index_copy_(0, rows_[i], at::mm(left, part.right.scaled().t()));
    }
    if (changed.bias.defined()) result = result + changed.bias;
    return changed.of_result ? result / *changed.of_result : result;
  }

 private:
  double left_by(const at::Tensor& result) const {
    constexpr double kHuge = 1e150;
    const at::Tensor off = (device_ - result).abs().masked_select(seen_);
    if (off.numel() == 0) return 0;
    return off.nan_to_num(kHuge, kHuge).clamp_max(kHuge).square().mean().sqrt().item<double>();
  }

  const ScaledProduct& product_;
  at::Tensor device_, seen_;
  std::vector<at::Tensor> rows_;  // of each part
  double error_ = 0;
};

// The same change of the chosen factor of every part.
std::optional<ScaledProduct> changed(const ScaledProduct& product, const Change& change, bool left,
                                     bool right) {
  ScaledProduct other = product;
  bool any = false;
  for (Part& part : other.parts) {
    if (left) any = change(part.left) || any;
    if (right) any = change(part.right) || any;
  }
  return any ? std::optional(other) : std::nullopt;
}

std::string cause_of_factors(const Hypotheses& hypotheses) {
  const ScaledProduct& product = hypotheses.product();
  struct Side {
    std::string_view text;
    bool left, right;
    at::ScalarType type;
  };
  const Side sides[] = {{"of the first factor", true, false, product.left_type},
                        {"of the second factor", false, true, product.right_type},
                        {"of both factors", true, true, product.left_type}};
  for (const Side& side : sides) {
    for (const Named& named : changes_of_factor(side.type)) {
      const auto other = changed(product, named.change, side.left, side.right);
      if (other && hypotheses.explained_by(hypotheses.result_of(*other))) {
        return fmt::format("{}, {}", named.text, side.text);
      }
    }
  }
  return {};
}

std::string cause_of_terms(const Hypotheses& hypotheses) {
  const ScaledProduct& product = hypotheses.product();
  std::int64_t terms = 0;
  for (const Part& part : product.parts) terms = std::max(terms, part.left.numbers.size(1));
  for (const std::int64_t count : {16, 32, 64, 128, 8, 1}) {
    for (const bool last : {true, false}) {
      const auto other = changed(
          product,
          [&](Factor& f) { return without_terms(f, last ? f.numbers.size(1) - count : 0, count); },
          true, false);
      if (other && hypotheses.explained_by(hypotheses.result_of(*other))) {
        return fmt::format("lost terms ({} {} of {})", last ? "last" : "first", count, terms);
      }
    }
  }
  for (const std::int64_t block : {128, 32, 16}) {
    if (terms / block > 64) continue;
    for (std::int64_t first = block; first + block < terms; first += block) {
      const auto other =
          changed(product, [&](Factor& f) { return without_terms(f, first, block); }, true, false);
      if (other && hypotheses.explained_by(hypotheses.result_of(*other))) {
        return fmt::format("lost terms ({} .. {} of {})", first, first + block - 1, terms);
      }
    }
  }
  return {};
}

std::string cause_of_scales(const Hypotheses& hypotheses) {
  ScaledProduct other = hypotheses.product();
  bool fits = true;
  for (Part& part : other.parts) {
    fits = fits && part.left.scales.defined() && part.right.scales.defined() &&
           part.left.scales.sizes() == part.right.scales.sizes();
    if (fits) std::swap(part.left.scales, part.right.scales);
  }
  if (fits && hypotheses.explained_by(hypotheses.result_of(other))) {
    return "the scales of both factors exchanged";
  }
  return {};
}

std::string cause_of_bias(const Hypotheses& hypotheses) {
  const ScaledProduct& product = hypotheses.product();
  if (!product.bias.defined()) return {};
  ScaledProduct other = product;
  other.bias = at::Tensor();
  const at::Tensor plain = hypotheses.result_of(other);
  if (hypotheses.explained_by(plain)) return "lost bias";
  if (hypotheses.explained_by(plain + 2 * product.bias)) return "the bias added twice";
  const at::Tensor rounded = plain.to(product.type).to(at::kDouble) + product.bias;
  if (hypotheses.explained_by(rounded)) return "the bias added after the result was rounded";
  const Part& part = product.parts.front();
  if (part.left.scales.defined() && part.right.scales.defined() && part.left.scales.numel() == 1 &&
      part.right.scales.numel() == 1) {
    const double scale = part.left.scales.item<double>() * part.right.scales.item<double>();
    if (hypotheses.explained_by(plain + product.bias * scale)) return "the bias scaled, too";
  }
  return {};
}

std::string cause_of_groups(const Hypotheses& hypotheses) {
  const ScaledProduct& product = hypotheses.product();
  const auto groups = product.parts.size();
  if (groups < 2) return {};
  for (const std::size_t by : {std::size_t{1}, groups - 1}) {
    ScaledProduct other = product;
    bool fits = true;
    for (std::size_t i = 0; i < groups; ++i) {
      const Factor& next = product.parts[(i + by) % groups].right;
      fits = fits && next.numbers.sizes() == product.parts[i].right.numbers.sizes();
      if (fits) other.parts[i].right = next;
    }
    if (fits && hypotheses.explained_by(hypotheses.result_of(other))) {
      return "the second factor of another group";
    }
  }
  const at::Tensor result = hypotheses.result_of(product);
  if (result.dim() == 3 && hypotheses.explained_by(result.cumsum(0))) {
    return "groups added to those before";
  }
  return {};
}

// One factor for the whole result, as the scale of another step has it.
std::string cause_of_ratio(const Hypotheses& hypotheses) {
  const at::Tensor result = hypotheses.result_of(hypotheses.product());
  const double ratio = hypotheses.ratio_to(result);
  if (std::abs(ratio - 1) < 0.01 || !hypotheses.explained_by(result * ratio)) return {};
  return fmt::format("wrong scale: {:.3g} times the benchmark", ratio);
}

std::string cause_of_sums(const Hypotheses& hypotheses, std::initializer_list<int> few) {
  const ScaledProduct& product = hypotheses.product();
  if (unit_cost(product) > kMostCost) return {};
  for (const int bits : few) {
    for (const int promote : {0, 128}) {
      const units::Unit unit{.block = 32, .bits = bits, .promote = promote};
      at::Tensor result = unit_sums(product, unit);
      if (product.bias.defined()) result = result + product.bias;
      if (hypotheses.explained_by(result)) {
        return fmt::format("sums of {} bits{}", bits,
                           promote == 0 ? "" : ", moved to float32 every 128 terms");
      }
    }
  }
  return {};
}

}  // namespace

std::string scaled_cause(const ScaledProduct& product, const at::Tensor& device,
                         const at::Tensor& bench, const at::Tensor& beyond) {
  if (product.parts.empty()) return {};
  const at::Tensor bad_bench = bench.masked_select(beyond);
  const at::Tensor bad_device = device.to(at::kDouble).masked_select(beyond);
  if (bad_bench.isnan().all().item<bool>()) return "lost NaN";
  const at::Tensor infinite = bad_bench.abs().gt(65504).logical_and(bad_device.isfinite());
  if (device.scalar_type() == at::kHalf && infinite.all().item<bool>()) {
    return "saturation: the largest number in place of infinity";
  }
  const Hypotheses hypotheses(product, device, bench, beyond);
  if (!hypotheses.can_tell()) return {};
  for (const auto cause :
       {&cause_of_bias, &cause_of_scales, &cause_of_factors, &cause_of_groups, &cause_of_terms}) {
    std::string found = cause(hypotheses);
    if (!found.empty()) return found;
  }
  // Few bits lose about the same share of every sum: they come before what is one factor exactly.
  std::string found = cause_of_sums(hypotheses, {13, 14});
  if (found.empty()) found = cause_of_ratio(hypotheses);
  return found.empty() ? cause_of_sums(hypotheses, {10}) : found;
}

}  // namespace msprobe::cause
