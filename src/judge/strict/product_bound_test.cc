// SPDX-License-Identifier: Apache-2.0
// The bound of products against exact sums: correct arithmetic of every kind stays below it, and it
// is at most some times larger than what that arithmetic errs.
#include "strict/product_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "units/unit.h"

namespace msprobe::strict {
namespace {

using units::Cut;
using units::Order;
using units::Unit;

constexpr std::int64_t kSide = 12;
// Short sums are cheap: with them it is a million results.
std::int64_t side_of(std::int64_t terms) { return terms > 1000 ? kSide : terms > 100 ? 24 : 64; }

// Of both signs, of one, taken back in the second half, of very different sizes, in rising order.
enum class Data : std::uint8_t { kMixed, kPositive, kTakenBack, kWide, kRising };
constexpr Data kAllData[] = {Data::kMixed, Data::kPositive, Data::kTakenBack, Data::kWide,
                             Data::kRising};

struct Factors {
  at::Tensor left, right;
};

Factors factors(Data data, std::int64_t terms, at::ScalarType type) {
  const std::int64_t side = side_of(terms);
  at::Tensor left = at::rand({side, terms});
  at::Tensor right = at::rand({terms, side});
  if (data == Data::kMixed) left = left * 2 - 1;
  if (data == Data::kWide) left = (left * 2 - 1) * at::exp2(at::randint(-9, 10, left.sizes()));
  if (data == Data::kRising) left = std::get<0>((left * 2 - 1).sort(1));
  if (data == Data::kTakenBack) {
    const std::int64_t half = terms / 2;
    left.narrow(1, half, half).copy_(left.narrow(1, 0, half));
    right.narrow(0, half, half)
        .copy_(-right.narrow(0, 0, half) * (1 + at::randn({half, side}) * 0.01));
  }
  return {left.to(type), right.to(type)};
}

at::Tensor by_unit(const Unit& unit, const Factors& given, bool shuffled) {
  at::Tensor left = given.left.to(at::kFloat);
  at::Tensor right = given.right.to(at::kFloat);
  if (shuffled) {
    const at::Tensor order = at::randperm(left.size(1));
    left = left.index_select(1, order);
    right = right.index_select(0, order);
  }
  left = left.contiguous();
  right = right.contiguous();
  at::Tensor out = at::empty({left.size(0), right.size(1)});
  units::product(unit, {left.size(0), left.size(1), right.size(1)}, left.data_ptr<float>(),
                 right.data_ptr<float>(), out.data_ptr<float>());
  return out.to(given.left.scalar_type());
}

struct Judged {
  bool good = false;
  double used = 0;         // of the bound, at most
  bool explained = false;  // by few terms first, as judge_call asks
};

// The bounds of all terms, one after another.
Judged judged_by_all_terms(const Factors& given, const at::Tensor& device) {
  const at::Tensor left = given.left.to(at::kDouble);
  const at::Tensor right = given.right.to(at::kDouble);
  const at::Tensor bench = at::matmul(left, right);
  const FloatType type = *float_type(device.scalar_type());
  auto bound = ProductBound::of({given.left, given.right, {}}, bench, type, false);
  bound->take_terms(bound->terms());
  for (const bool walked : {false, true}) {
    if (walked) bound->walk_sums();
    const Scan rounded = scan(device, bench, bound->rounded(device));
    if (rounded.good()) return {true, rounded.worst_inside};
    const Scan cut = scan(device, bench, bound->cut(device));
    if (cut.good()) return {!bound->has_faulty_terms(device), cut.worst_inside};
  }
  return {};
}

Judged judged(const Factors& given, const at::Tensor& device) {
  Judged all = judged_by_all_terms(given, device);
  const at::Tensor bench = at::matmul(given.left.to(at::kDouble), given.right.to(at::kDouble));
  auto bound = ProductBound::of({given.left, given.right, {}}, bench,
                                *float_type(device.scalar_type()), false);
  all.explained = bound->explain(device, /*may_cut=*/true).arithmetic != Arithmetic::kUnexplained;
  return all;
}

// Neither lets it pass.
bool alarms(const Judged& found) { return !found.good && !found.explained; }

std::vector<Unit> all_units() {
  std::vector<Unit> all;
  for (const int block : {1, 3, 4, 8, 16, 32}) {
    for (const int bits : {23, 24, 25}) {
      for (const auto& [cut, sum] :
           std::array<std::pair<Cut, Cut>, 4>{{{Cut::kTowardZero, Cut::kTowardZero},
                                               {Cut::kDown, Cut::kDown},
                                               {Cut::kTowardZero, Cut::kNearest},
                                               {Cut::kNearest, Cut::kNearest}}}) {
        all.push_back({.block = block, .bits = bits, .cut = cut, .sum = sum});
      }
    }
  }
  return all;
}

TEST(ProductBound, HoldsForEveryUnitAndIsNotEmpty) {
  at::manual_seed(24);
  std::int64_t results = 0;
  constexpr Order kOrders[] = {Order::kInOrder, Order::kReversed, Order::kStrided, Order::kHalves};
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    std::vector<double> rooms;
    std::size_t turn = 0;
    for (Unit unit : all_units()) {
      for (const std::int64_t terms : {40, 500, 4000}) {
        unit.order = kOrders[turn % 4];
        unit.joined = turn % 5 != 4;
        const Data data = kAllData[turn % 5];
        const Factors given = factors(data, terms, type);
        const bool shuffled = turn++ % 3 == 2;
        const Judged found = judged(given, by_unit(unit, given, shuffled));
        EXPECT_TRUE(found.good && found.explained)
            << units::text(unit) << ", data " << static_cast<int>(data) << ", " << terms
            << " terms of " << type << (shuffled ? ", shuffled" : "");
        if (found.used > 0) rooms.push_back(1 / found.used);
        results += side_of(terms) * side_of(terms);
      }
    }
    std::ranges::sort(rooms);
    EXPECT_LE(rooms[rooms.size() / 2], type == at::kFloat ? 20 : 48) << type;
    RecordProperty(c10::toString(type), std::to_string(rooms[rooms.size() / 2]));
  }
  EXPECT_GT(results, 1000000);
  RecordProperty("results", std::to_string(results));
}

TEST(ProductBound, DoesNotCoverWhatIsLost) {
  at::manual_seed(7);
  for (const std::int64_t terms : {500, 4000, 20000}) {
    for (const Data data : {Data::kMixed, Data::kPositive}) {
      const Factors given = factors(data, terms, at::kFloat);
      Factors lost = given;
      lost.left = given.left.clone();
      lost.left.narrow(1, terms - 16, 16).zero_();
      EXPECT_TRUE(alarms(judged(given, at::matmul(lost.left, lost.right)))) << terms;
      EXPECT_TRUE(alarms(judged(given, by_unit({.block = 16}, lost, false)))) << terms;
      lost.left = given.left.clone();
      lost.left.slice(1, 5, terms, 16).zero_();
      EXPECT_TRUE(alarms(judged(given, by_unit({.block = 8}, lost, false)))) << terms;
      at::Tensor one = by_unit({.block = 8}, given, false);
      one[3][4] *= 0.99;
      EXPECT_TRUE(alarms(judged(given, one))) << terms;
    }
  }
}

TEST(ProductBound, DoesNotCoverFactorsOfFewBits) {
  at::manual_seed(8);
  for (const std::int64_t terms : {500, 20000}) {
    const Factors given = factors(Data::kMixed, terms, at::kFloat);
    for (const units::Inputs inputs : {units::Inputs::kTf32, units::Inputs::kBFloat16}) {
      const Unit unit{.block = 8, .bits = 25, .inputs = inputs};
      EXPECT_TRUE(alarms(judged(given, by_unit(unit, given, false)))) << terms;
    }
  }
}

TEST(ProductBound, OfSomeTermsIsSmaller) {
  at::manual_seed(10);
  const Factors given = factors(Data::kMixed, 4000, at::kFloat);
  const at::Tensor bench = at::matmul(given.left.to(at::kDouble), given.right.to(at::kDouble));
  const at::Tensor device = bench.to(at::kFloat);
  auto bound =
      ProductBound::of({given.left, given.right, {}}, bench, *float_type(at::kFloat), false);
  bound->take_terms(500);
  const at::Tensor some = bound->rounded(device).spreads;
  bound->take_terms(4000);
  const at::Tensor all = bound->rounded(device).spreads;
  EXPECT_TRUE(some.lt(all).all().item<bool>());
  auto at_once =
      ProductBound::of({given.left, given.right, {}}, bench, *float_type(at::kFloat), false);
  at_once->take_terms(4000);
  EXPECT_TRUE(at::allclose(at_once->rounded(device).spreads, all));
}

// What some terms do not explain all terms do.
TEST(ProductBound, AllTermsDecide) {
  at::manual_seed(11);
  const at::Tensor left = at::randn({2, 3, 200, 300});
  const at::Tensor right = at::randn({3, 300, 150});
  const at::Tensor bench = at::matmul(left.to(at::kDouble), right.to(at::kDouble));
  at::Tensor device = at::matmul(left, right);
  const auto looked = [&] {
    auto bound = ProductBound::of({left, right, {}}, bench, *float_type(at::kFloat), false);
    const bool explained = bound->explain(device, false).arithmetic == Arithmetic::kRounded;
    bound->take_terms(300);
    bound->walk_sums(false);
    EXPECT_EQ(explained, scan(device, bench, bound->rounded(device)).good());
    return explained;
  };
  EXPECT_TRUE(looked());
  const double norm = std::sqrt(300.0);
  device[1][2][199][0] += norm * norm * 0x1p-24 * 3;  // within what all of its terms allow
  EXPECT_TRUE(looked());
  device[1][2][199][0] += norm * norm * 0x1p-24 * 30;
  EXPECT_FALSE(looked());
}

TEST(ProductBound, CoversSubnormalSums) {
  at::manual_seed(9);
  const Factors given{at::randn({kSide, 300}) * 1e-21, at::randn({300, kSide}) * 1e-21};
  const Factors small{given.left.to(at::kFloat), given.right.to(at::kFloat)};
  EXPECT_TRUE(judged(small, at::matmul(small.left, small.right)).explained);
  EXPECT_TRUE(judged(small, by_unit({.block = 4, .bits = 23}, small, false)).explained);
}

}  // namespace
}  // namespace msprobe::strict
