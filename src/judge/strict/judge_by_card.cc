// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_by_card.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "strict/card_arithmetic.h"
#include "strict/error_map.h"
#include "strict/judge_product.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

// Products of more terms take too long in the arithmetic of a unit: about 10 s.
constexpr std::int64_t kMostCardTerms = std::int64_t{1} << 31;
// If the card leaves several units open: the number of wrong elements that are compared with each
// of them, and the number of rounds. A round adds the elements that the last one left wrong.
constexpr std::int64_t kTelling = 16;
constexpr int kMostRounds = 8;
// From this share of right elements on, the device computes as on its card, and the others are
// wrong.
constexpr double kMostAreRight = 0.5;
// An element is one of the card's or a whole unit off.
constexpr double kHalfUnit = 0.5;
constexpr double kSlightUnits = 2;

// What the card gives for a result.
struct Predicted {
  Product product;
  units::Unit unit;
  Added added = Added::kInFloat32;
  at::Tensor result;  // in the shape and dtype of the device's
  at::Tensor equal;   // bool: NaN equals NaN
  std::int64_t right = 0;
  std::int64_t evenly_right = 0;  // or all the same few numbers farther from zero or nearer to it

  bool whole() const { return right == result.numel(); }
};

// The sign of a zero is on no card.
at::Tensor equal_numbers(const at::Tensor& one, const at::Tensor& other) {
  return one.eq(other).logical_or(one.isnan().logical_and(other.isnan()));
}

void take_better(Predicted other, Predicted& best) {
  if (other.evenly_right > best.evenly_right) best = std::move(other);
}

std::int64_t count_evenly_right(const Predicted& predicted, const at::Tensor& device) {
  const at::ScalarType bits = device.element_size() == 2 ? at::kShort : at::kInt;
  const auto pattern = [&](const at::Tensor& tensor) {
    return tensor.contiguous().view(bits).to(at::kLong);
  };
  const at::Tensor steps = pattern(device) - pattern(predicted.result);
  const at::Tensor nothing = device.eq(0).logical_and(predicted.result.eq(0));
  std::int64_t most = predicted.right;
  for (const int step : {-2, -1, 1, 2}) {
    most = std::max(most, steps.eq(step).logical_or(nothing).sum().item<std::int64_t>());
  }
  return most;
}

class ByCard {
 public:
  ByCard(const units::KnownProducts& arithmetic, const Product& product, const at::Tensor& device)
      : arithmetic_(arithmetic), product_(product), device_(device) {}

  // The unit that gives most of the result.
  Predicted best() const {
    Predicted best = predicted(arithmetic_.units.front(), Added::kInFloat32);
    if (!best.whole() && product_.added.defined()) {
      take_better(predicted(best.unit, Added::kInResult), best);
    }
    if (arithmetic_.units.size() == 1) return best;
    std::set<units::Unit> tried{best.unit};
    std::vector<std::int64_t> telling = some_wrong(best);
    for (int round = 0; round < kMostRounds && !best.whole(); ++round) {
      const units::Unit other = most_telling(best.added, telling);
      if (!tried.insert(other).second) break;
      Predicted next = predicted(other, best.added);
      std::ranges::copy(some_wrong(next), std::back_inserter(telling));
      take_better(std::move(next), best);
    }
    return best;
  }

 private:
  Predicted predicted(const units::Unit& unit, Added added) const {
    const at::Tensor result = computed(arithmetic_, unit, product_, device_.scalar_type(), added);
    Predicted found{product_, unit, added, result.view(device_.sizes()), {}, 0, 0};
    found.equal = equal_numbers(found.result, device_);
    found.right = found.equal.sum().item<std::int64_t>();
    found.evenly_right = found.whole() ? found.right : count_evenly_right(found, device_);
    return found;
  }

  static std::vector<std::int64_t> some_wrong(const Predicted& predicted) {
    const at::Tensor wrong = predicted.equal.logical_not().flatten().nonzero().flatten();
    std::vector<std::int64_t> some;
    for (std::int64_t i = 0; i < std::min(kTelling, wrong.numel()); ++i) {
      some.push_back(wrong[i].item<std::int64_t>());
    }
    return some;
  }

  // The unit that gives most of the elements at `places`.
  units::Unit most_telling(Added added, const std::vector<std::int64_t>& places) const {
    units::Unit found = arithmetic_.units.front();
    std::int64_t most = 0;
    for (const units::Unit& unit : arithmetic_.units) {
      const std::int64_t right = std::ranges::count_if(
          places, [&](std::int64_t place) { return gives(unit, added, place); });
      if (right > most) found = unit;
      most = std::max(most, right);
    }
    return found;
  }

  bool gives(const units::Unit& unit, Added added, std::int64_t place) const {
    const std::vector<std::int64_t> shape = shape_of(product_);
    const std::int64_t column = place % shape.back();
    const std::int64_t row = place / shape.back() % product_.left.size(-2);
    const std::int64_t matrix = place / (shape.back() * product_.left.size(-2));
    const auto of_batch = [&](const at::Tensor& factor) {
      std::vector<std::int64_t> whole(shape.begin(), shape.end() - 2);
      whole.insert(whole.end(), {factor.size(-2), factor.size(-1)});
      // An index for every extent of the batch: a view, however large the batch is.
      at::Tensor found = factor.expand(whole);
      std::int64_t rest = matrix;
      for (std::size_t i = whole.size() - 2; i-- > 0;) {
        found = found.select(static_cast<std::int64_t>(i), rest % whole[i]);
        rest /= whole[i];
      }
      return found;
    };
    Product one{of_batch(product_.left).narrow(0, row, 1),
                of_batch(product_.right.all()).narrow(1, column, 1),
                {}};
    if (product_.added.defined()) {
      one.added = product_.added.expand(shape).reshape({-1}).narrow(0, place, 1);
    }
    const at::Tensor result = computed(arithmetic_, unit, one, device_.scalar_type(), added);
    return equal_numbers(result.flatten(), device_.flatten().narrow(0, place, 1)).item<bool>();
  }

  const units::KnownProducts& arithmetic_;
  const Product& product_;
  const at::Tensor& device_;
};

// A convolution has its terms channel by channel, or place by place of the kernel.
Predicted best_order(const units::KnownProducts& arithmetic, const Product& product,
                     const at::Tensor& device) {
  Predicted best = ByCard(arithmetic, product, device).best();
  const auto other = best.whole() ? std::nullopt : channels_last(product);
  if (other) take_better(ByCard(arithmetic, *other, device).best(), best);
  return best;
}

// A kernel may take the terms of a convolution in any order. It takes them as predicted if most of
// the elements that another order would change are as predicted, or off by the same few numbers.
bool shows_order(const units::KnownProducts& arithmetic, const Predicted& predicted,
                 const at::Tensor& device) {
  const auto kept_in_reverse = [&](at::ScalarType type) {
    const auto give = [&](const Product& product) {
      return computed(arithmetic, predicted.unit, product, type, predicted.added);
    };
    return equal_numbers(give(predicted.product), give(reversed(predicted.product)))
        .sum()
        .item<std::int64_t>();
  };
  const std::int64_t all = device.numel();
  const std::int64_t kept = kept_in_reverse(device.scalar_type());
  if (kept == all) {  // where no order shows in the sums themselves, there is nothing to ask
    return predicted.evenly_right == all ||
           (2 * predicted.evenly_right >= all && kept_in_reverse(at::kFloat) == all);
  }
  return 2 * predicted.evenly_right >= all + kept;
}

// The arithmetic can be predicted: of one dtype, and not too large.
bool can_be_predicted(const Product& product, const Pair& pair) {
  const at::ScalarType type = pair.device.scalar_type();
  const at::ScalarType right = product.right.scalar_type();
  const bool fits = right == type || right == at::kFloat;
  if (product.left.scalar_type() != type || !fits) return false;
  if (c10::multiply_integers(shape_of(product)) != pair.device.numel()) return false;
  return pair.device.numel() <= kMostCardTerms / std::max<std::int64_t>(1, product.left.size(-1));
}

StrictFinding explained(const Pair& pair, const Predicted& predicted) {
  Scan found = scan(pair.device, pair.bench, {});
  found.worst_inside = 1;  // the card allows this error, and no other
  const std::string how = text(predicted.unit);
  StrictFinding finding = within(found, ", bit for bit as the card of the device has it: " + how);
  if (found.differ > 0) finding.cause = "arithmetic of the device: it " + how;
  return finding;
}

StrictFinding suspect(const Pair& pair, const FloatType& type, const Predicted& predicted,
                      std::string_view bare_name, const StrictOptions& allowed) {
  const at::Tensor bench = predicted.result.to(at::kDouble);
  const Limits limits{.units = kHalfUnit};
  const Scan placed = scan(pair.device, bench, limits);
  Failure failure{pair.device,    bench,     limits, type, pair.direction,
                  pair.leaf.path, bare_name, {},     {}};
  failure.place_first = true;
  const bool slight = placed.not_finite == 0 && placed.worst * kHalfUnit <= kSlightUnits;
  return {slight ? Verdict::kWarning : Verdict::kError,
          fmt::format("beside what the card of the device gives ({}): {}", text(predicted.unit),
                      excess_text(placed, pair.device, bench)),
          allowed.cause_of(failure),
          error_map(pair.device, bench, over_bound(pair.device, bench, limits)),
          excess_number(placed)};
}

}  // namespace

std::optional<CardFinding> judge_by_card(CallContext& context, const Pair& pair,
                                         const FloatType& type) {
  const auto known = context.allowed.card.find(pair.device.scalar_type());
  if (known == context.allowed.card.end() || pair.device.numel() == 0) return std::nullopt;
  if (scan(pair.device, pair.bench, {}).good()) return std::nullopt;  // nothing to explain
  const auto product = product_of(context, pair, type);
  if (!product || !can_be_predicted(*product, pair)) return std::nullopt;
  if (!product->one_way && !context.is_convolution()) return std::nullopt;  // no unit adds it
  const Predicted predicted = best_order(known->second, *product, pair.device);
  if (predicted.whole()) return CardFinding{explained(pair, predicted), true};
  if (!known->second.certain) return std::nullopt;
  const auto as_on_card = [&] {
    if (context.is_convolution()) return shows_order(known->second, predicted, pair.device);
    const auto all = static_cast<double>(predicted.result.numel());
    return static_cast<double>(predicted.right) >= kMostAreRight * all;
  };
  if (as_on_card())
    return CardFinding{suspect(pair, type, predicted, context.name.bare_name, context.allowed),
                       true};
  if (context.is_convolution()) return std::nullopt;
  return CardFinding{
      {Verdict::kWarning,
       fmt::format("{} of {} elements are not what the card of the device gives ({})",
                   predicted.result.numel() - predicted.right, predicted.result.numel(),
                   text(predicted.unit)),
       "another arithmetic than on the card: the device has another kernel for this shape, or "
       "changed since; make a new card"},
      false};
}

}  // namespace msprobe::strict
