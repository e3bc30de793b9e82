// SPDX-License-Identifier: Apache-2.0
#include "strict/random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "libtorch/dtypes.h"
#include "ops/op.h"
#include "strict/bound.h"
#include "strict/float_type.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

constexpr std::size_t kDraws = 12;
// Number of draws that explain most results; the others are compared with kDraws.
constexpr std::size_t kFewDraws = 4;
// Most draws of a small result, if all of fewer are alike.
constexpr std::size_t kMostDraws = 192;
constexpr std::int64_t kSmallResult = 4096;
// Most draws by one run on copies of the arguments, and most elements of such a run.
constexpr std::size_t kMostCopies = 4096;
constexpr std::size_t kCopiedElements = 1 << 18;
// Student's t with 11 degrees of freedom exceeds this once in 10^7.
constexpr double kDeviations = 12;
// Few draws may show four times the variance by chance, and still let nothing pass that all would
// not.
constexpr double kFewDeviations = kDeviations / 2;
// Draws that differ by at most this many eps are equal.
constexpr double kAlike = 16;
// A run of zeros less likely than this is none of chance; where most are zero runs say little.
constexpr double kNoChance = 1e-10;
constexpr double kMostZeros = 0.75;
constexpr double kLeastEps = 1e-7;  // the squares are summed in float64
// Number of columns of the draws that stay in the cache, with all that is computed of them.
constexpr std::int64_t kColumns = 4096;

StrictFinding wrong_draw(std::string reason) {
  return {Verdict::kError, "random: " + std::move(reason), ""};
}

// Bounded, so that heavy tails have means too.
at::Tensor squashed(const at::Tensor& values) { return values.atan().nan_to_num(0, 0, 0); }

// A number that every draw gives: the device's must lie among those of the draws.
struct Statistic {
  std::string_view what;
  at::Tensor of_draws;  // one per draw
  double of_device;
  double range;  // what one element can change it by, times the number of elements
};

std::optional<StrictFinding> outlier(const Statistic& statistic, std::int64_t numel, double eps) {
  const double mean = statistic.of_draws.mean().item<double>();
  const double variance = statistic.of_draws.var(/*unbiased=*/true).item<double>();
  const double few = statistic.range * statistic.range /
                     (static_cast<double>(kDraws) * static_cast<double>(numel));
  const bool all = statistic.of_draws.numel() >= static_cast<std::int64_t>(kDraws);
  const double deviations = all ? kDeviations : kFewDeviations;
  const double limit = deviations * std::sqrt(variance + few) + 2 * eps * statistic.range;
  if (std::abs(statistic.of_device - mean) <= limit) return std::nullopt;
  return wrong_draw(fmt::format("{} is {}, {} draws of the benchmark give {} +- {}", statistic.what,
                                number_text(statistic.of_device), statistic.of_draws.numel(),
                                number_text(mean), number_text(std::sqrt(variance))));
}

// Sums over some columns of the draws, and of the device below them: one row per statistic. `zero`:
// what the device's dtype rounds to zero.
at::Tensor column_sums(const at::Tensor& device, const at::Tensor& draws, double center,
                       double width, double eps, double zero) {
  const auto others = static_cast<double>(draws.size(0) - 1);
  const at::Tensor values = at::cat({draws, device.unsqueeze(0)});
  const at::Tensor whole = squashed((values - center) / width);
  // Element by element, each draw against the others, the device against as many.
  const at::Tensor left_out = at::cat({draws, draws.narrow(0, 0, 1)});
  const at::Tensor mean = (draws.sum(0) - left_out) / others;
  const at::Tensor squares = draws.square().sum(0);
  const at::Tensor variance = ((squares - left_out.square()) / others - mean.square()).clamp_min(0);
  // If all others are alike, they differ from the device by its rounding: that is not a width.
  const at::Tensor alike = (kAlike * std::max(eps, kLeastEps) * mean).square();
  const at::Tensor z = (values - mean) / (variance.sqrt() + 1e-300);
  const at::Tensor single = squashed(at::where(variance > alike, z, at::zeros_like(z)));
  // The arctan of a size is the size of the arctan.
  return at::stack({values.abs().le(zero).sum(1).to(at::kDouble), whole.sum(1), whole.abs().sum(1),
                    single.sum(1), single.abs().sum(1)});
}

std::optional<StrictFinding> judge_statistics(const at::Tensor& device, const at::Tensor& draws,
                                              double eps, double zero) {
  const std::int64_t numel = device.numel();
  const at::Tensor all = draws.flatten();
  const at::Tensor sample =
      all.slice(0, 0, c10::nullopt, std::max<std::int64_t>(1, all.numel() >> 16))
          .nan_to_num(0, 0, 0);
  const double center = sample.median().item<double>();
  const double width = std::max((sample - center).abs().mean().item<double>(), 1e-300);
  constexpr std::string_view kNames[] = {"the share of zeros", "the location", "the width",
                                         "the location element by element",
                                         "the width element by element"};
  constexpr double kQuarterTurn = 1.5708;
  constexpr double kRanges[] = {1, 2 * kQuarterTurn, kQuarterTurn, 2 * kQuarterTurn, kQuarterTurn};
  const std::int64_t count = draws.size(0);
  at::Tensor means = at::zeros({std::ssize(kNames), count + 1}, at::kDouble);
  for (std::int64_t start = 0; start < numel; start += kColumns) {
    const std::int64_t length = std::min(kColumns, numel - start);
    means += column_sums(device.narrow(0, start, length), draws.narrow(1, start, length), center,
                         width, eps, zero);
  }
  means /= static_cast<double>(numel);
  for (std::int64_t i = 0; i < std::ssize(kNames); ++i) {
    const Statistic statistic{kNames[i], means[i].narrow(0, 0, count),
                              means[i][count].item<double>(), kRanges[i]};
    if (auto found = outlier(statistic, numel, eps)) return found;
  }
  return std::nullopt;
}

std::int64_t longest_run(const at::Tensor& rows) {
  const at::Tensor bools = rows.contiguous();
  const bool* values = bools.data_ptr<bool>();
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < bools.size(0); ++row) {
    std::int64_t run = 0;
    for (std::int64_t i = 0; i < bools.size(1); ++i) {
      run = values[row * bools.size(1) + i] ? run + 1 : 0;
      longest = std::max(longest, run);
    }
  }
  return longest;
}

// The same for rows that hold the same numbers in any order, and hardly ever for others.
std::uint64_t unordered_hash(const at::Tensor& row) {
  std::uint64_t sum = 0;
  const double* values = row.data_ptr<double>();
  for (std::int64_t i = 0; i < row.numel(); ++i) {
    auto bits = std::bit_cast<std::uint64_t>(values[i] + 0.0);  // -0 equals 0
    bits = (bits ^ (bits >> 32)) * 0x9e3779b97f4a7c15;
    sum += (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9;
  }
  return sum;
}

// Sorting is slow, and most draws are not permutations of each other.
bool may_permute(const at::Tensor& draws) {
  if (draws.size(1) <= 1) return false;
  const std::uint64_t first = unordered_hash(draws[0]);
  for (std::int64_t i = 1; i < draws.size(0); ++i) {
    if (unordered_hash(draws[i]) != first) return false;
  }
  return true;
}

std::optional<StrictFinding> judge_support(const at::Tensor& device, const at::Tensor& draws,
                                           at::IntArrayRef shape) {
  const at::Tensor odd = device.isfinite().logical_not();
  if (odd.any().item<bool>() && draws.isfinite().all().item<bool>()) {
    const auto at_first = odd.to(at::kByte).argmax().item<std::int64_t>();
    return wrong_draw(
        fmt::format("{} elements are not finite, first at {}; no draw of the benchmark is",
                    odd.sum().item<std::int64_t>(), place_text(shape, at_first)));
  }
  if (draws.eq(draws.round()).all().item<bool>() && !device.eq(device.round()).all().item<bool>()) {
    return wrong_draw("values that are not integers, unlike all draws of the benchmark");
  }
  if (!may_permute(draws)) return std::nullopt;
  const at::Tensor sorted = std::get<0>(draws.sort(1));
  if (sorted.eq(sorted[0]).all().item<bool>() &&
      !std::get<0>(device.sort(0)).eq(sorted[0]).all().item<bool>()) {
    return wrong_draw("not a permutation of what every draw permutes");
  }
  return std::nullopt;
}

// What is kept or dropped has two possible values, and the device's must be one of them. Both are
// known where they were drawn, and if all that is dropped becomes zero, where one was drawn.
// `part`: more may have been done, so that elements count for which each was drawn twice.
std::optional<StrictFinding> judge_two_values(const at::Tensor& device, const at::Tensor& draws,
                                              at::IntArrayRef shape, const at::Tensor& room,
                                              bool part) {
  at::Tensor low = draws.amin(0);
  at::Tensor high = draws.amax(0);
  const at::Tensor is_low = (draws - low).abs().le(room);
  const at::Tensor is_high = (draws - high).abs().le(room);
  const at::Tensor two = is_low.logical_or(is_high).all(0);
  const at::Tensor apart = (high - low).gt(4 * room);
  at::Tensor binary;
  if (!part && two.all().item<bool>()) {
    const at::Tensor has_zero = low.eq(0).logical_or(high.eq(0)).logical_or(apart.logical_not());
    if (has_zero.all().item<bool>() && apart.any().item<bool>()) {
      low = low.clamp_max(0);
      high = high.clamp_min(0);
    }
    binary = (high - low).gt(4 * room);
  } else {
    binary =
        two.logical_and(is_low.sum(0).ge(2)).logical_and(is_high.sum(0).ge(2)).logical_and(apart);
  }
  const at::Tensor neither =
      (device - low).abs().gt(room).logical_and((device - high).abs().gt(room));
  const at::Tensor bad = binary.logical_and(neither);
  if (!bad.any().item<bool>()) return std::nullopt;
  const auto first = bad.to(at::kByte).argmax().item<std::int64_t>();
  return wrong_draw(fmt::format(
      "{} elements have neither of their two possible values, first at {}: device {}, possible {} "
      "and {}",
      bad.sum().item<std::int64_t>(), place_text(shape, first),
      number_text(device[first].item<double>()), number_text(low[first].item<double>()),
      number_text(high[first].item<double>())));
}

// Zeros in a row: a part that was never written is not chance, for any number of zeros in all.
// Elements that are zero in every draw say nothing.
std::optional<StrictFinding> judge_dropped_runs(const at::Tensor& device, const at::Tensor& draws,
                                                at::IntArrayRef shape) {
  const at::Tensor open = draws.ne(0).any(0);
  const at::Tensor zero = device.eq(0).masked_select(open).contiguous();
  const double share = draws.eq(0).to(at::kDouble).mean().item<double>();
  if (zero.numel() == 0 || share <= 0 || share > kMostZeros) return std::nullopt;
  std::int64_t longest = 0;
  std::int64_t last = 0;
  std::int64_t run = 0;
  const bool* zeros = zero.data_ptr<bool>();
  for (std::int64_t i = 0; i < zero.numel(); ++i) {
    run = zeros[i] ? run + 1 : 0;
    if (run <= longest) continue;
    longest = run;
    last = i;
  }
  // Whole channels may be dropped: the draws have such runs too, then.
  const double chance = static_cast<double>(zero.numel()) * std::pow(share, longest);
  const bool in_draws = longest_run(draws.eq(0)) * 2 >= longest;
  if (chance >= kNoChance || in_draws) return std::nullopt;
  const auto end = open.nonzero().flatten()[last].item<std::int64_t>();
  StrictFinding found = wrong_draw(
      fmt::format("{} elements in a row are zero, up to {}", longest, place_text(shape, end)));
  found.cause = fmt::format("lost: {} elements in a row are zero", longest);
  return found;
}

// A gradient of dropout is zero where its output is, and only there.
bool has_other_mask(execute::Rerun& rerun, const at::Tensor& gradient, const at::Tensor& output) {
  const auto call = rerun.arguments();
  const auto arriving = rerun.arriving();
  if (!call || !arriving || (*call)->args.empty() || (*arriving)->empty()) return false;
  const auto* input = (*call)->args.front().as<at::Tensor>();
  const auto* weight = (*arriving)->front().as<at::Tensor>();
  const auto fits = [&](const at::Tensor* tensor) {
    return tensor != nullptr && tensor->sizes() == gradient.sizes();
  };
  if (!fits(input) || !fits(weight) || !fits(&output)) return false;
  const at::Tensor visible = flat(*input).ne(0).logical_and(flat(*weight).ne(0));
  const at::Tensor kept = flat(output).ne(0);
  return visible.logical_and(kept.ne(flat(gradient).ne(0))).any().item<bool>();
}

// What the pattern of the error shows where an element is either dropped or a known number.
std::string dropout_cause(const at::Tensor& device, const at::Tensor& draws, const FloatType& type,
                          const StrictOptions& allowed) {
  const at::Tensor kept =
      at::where(draws.amax(0).abs().ge(draws.amin(0).abs()), draws.amax(0), draws.amin(0));
  const at::Tensor plain = libtorch::plain(device);
  if (plain.eq(0).all().item<bool>()) return "lost: everything is zero";
  Failure failure;
  failure.device = plain;
  failure.bench = at::where(flat(device).eq(0), at::zeros_like(kept), kept).view(plain.sizes());
  failure.limits = rounding_limits(type);
  failure.limits.relative *= 2;  // the draws are rounded too
  failure.type = type;
  return allowed.cause_of(failure);
}

// What is compared with the draws.
struct Drawn {
  std::string_view bare_name;
  const at::Tensor& device;
  const at::Tensor& spread;
  const StrictOptions& allowed;
};

// Nothing if the device's result is one of them.
std::optional<StrictFinding> judge_by(const at::Tensor& draws, const Drawn& drawn) {
  const at::Tensor& device = drawn.device;
  const auto type = float_type(device.scalar_type());
  const double eps = type ? type->eps : 0;
  const at::Tensor seen = flat(device);
  const ops::Drops drops = ops::traits_of(drawn.bare_name).drops;
  const bool binary = drops != ops::Drops::kNothing;
  const auto with_cause = [&](std::optional<StrictFinding> found) {
    if (binary && type && !device.is_complex() && found->cause.empty()) {
      found->cause = dropout_cause(device, draws, *type, drawn.allowed);
    }
    return found;
  };
  if (auto found = judge_support(seen, draws, device.sizes())) return with_cause(found);
  if (binary) {
    at::Tensor room = kResultEps * eps * draws.abs().amax(0);
    if (type) room = room + kResultEps * type->smallest;
    if (drawn.spread.defined()) room = room + 2 * kIntermediates * drawn.spread.flatten();
    if (auto found =
            judge_two_values(seen, draws, device.sizes(), room, drops == ops::Drops::kPart)) {
      return with_cause(found);
    }
    if (auto found = judge_dropped_runs(seen, draws, device.sizes())) return found;
  }
  if (auto found = judge_statistics(seen, draws, eps, type ? type->smallest / 2 : 0))
    return with_cause(found);
  return std::nullopt;
}

bool is_constant(const at::Tensor& draws) {
  return draws.eq(draws[0]).logical_or(draws.isnan()).all().item<bool>();
}

// The draws of one result.
class DrawsOf {
 public:
  DrawsOf(Draws& draws, Direction direction, const std::string& path, const at::Tensor& device)
      : draws_(draws), direction_(direction), path_(path), device_(device) {}

  at::Tensor few() {
    const at::Tensor all = copies(true, kDraws);
    at_once_ = all.defined();
    return at_once_ ? all : rows(true, kFewDraws);
  }
  // Where only the rounding of what was drawn makes a difference, the device's dtype shows it. That
  // may be seldom: a place that a fraction just reaches.
  at::Tensor all(const at::Tensor& few) {
    at::Tensor draws = at_once_ ? few : rows(true, kDraws);
    if (!draws.defined() || !is_constant(draws)) return draws;
    const at::Tensor rounded = of_device_type();
    return rounded.defined() ? rounded : draws;
  }

 private:
  bool is_small() const { return device_.numel() <= kSmallResult; }
  at::Tensor of_device_type() {
    if (at_once_) {
      const std::size_t many = kCopiedElements / static_cast<std::size_t>(device_.numel());
      return copies(false, std::clamp(many, kMostDraws, kMostCopies));
    }
    at::Tensor draws = rows(false, kDraws);
    const std::size_t most = is_small() ? kMostDraws : kDraws;
    for (std::size_t count = 4 * kDraws; draws.defined() && is_constant(draws) && count <= most;
         count *= 4) {
      draws = rows(false, count);
    }
    return draws;
  }
  at::Tensor rows(bool raise, std::size_t count) {
    return draws_.rows(direction_, path_, device_.sizes(), raise, count);
  }
  at::Tensor copies(bool raise, std::size_t count) {
    if (!is_small()) return {};
    return draws_.rows_of_copies(direction_, path_, device_.sizes(), raise, count);
  }

  Draws& draws_;
  Direction direction_;
  const std::string& path_;
  const at::Tensor& device_;
  bool at_once_ = false;
};

}  // namespace

std::optional<StrictFinding> judge_random(Draws& all_draws, std::string_view bare_name,
                                          Direction direction, const std::string& path,
                                          const at::Tensor& device, const at::Tensor& forward,
                                          const at::Tensor& spread, const StrictOptions& allowed) {
  DrawsOf draws_of(all_draws, direction, path, device);
  at::Tensor draws = draws_of.few();
  const Drawn drawn{bare_name, device, spread, allowed};
  std::optional<StrictFinding> found;
  if (draws.defined() && (is_constant(draws) || (found = judge_by(draws, drawn)))) {
    draws = draws_of.all(draws);
    if (draws.defined() && is_constant(draws)) return std::nullopt;
    if (draws.defined()) found = judge_by(draws, drawn);
  }
  if (!draws.defined()) {
    return StrictFinding{Verdict::kSkip, "random: the benchmark gives no comparable draws", ""};
  }
  if (found) return found;
  const ops::Drops dropped = ops::traits_of(bare_name).drops;
  const bool drops = dropped == ops::Drops::kZeroes || dropped == ops::Drops::kPart;
  if (drops && direction == Direction::kBackward && forward.defined() &&
      has_other_mask(all_draws.rerun(), device, forward)) {
    return wrong_draw("the gradient does not have the mask of the output");
  }
  return StrictFinding{
      Verdict::kPass,
      fmt::format("random: support, shares and moments are those of {} draws of the benchmark",
                  draws.size(0)),
      ""};
}

}  // namespace msprobe::strict
