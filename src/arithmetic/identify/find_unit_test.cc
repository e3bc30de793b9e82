// SPDX-License-Identifier: Apache-2.0
#include "identify/find_unit.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "units/unit_spec.h"

namespace msprobe::identify {
namespace {

using units::Cut;
using units::Inputs;
using units::Order;
using units::Unit;

Multiply device_of(const Unit& unit, Format format) {
  return [=](const units::Shape& shape, std::span<const float> left, std::span<const float> right) {
    std::vector<float> out(static_cast<std::size_t>(shape.rows * shape.columns));
    units::product(unit, shape, left.data(), right.data(), out.data());
    for (float& value : out) value = rounded_result(format, value);
    return out;
  };
}

Unit random_unit(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t count) { return random() % count; };
  Unit unit;
  unit.block = 1 << below(6);
  unit.bits = 23 + static_cast<int>(below(3));
  unit.cut = static_cast<Cut>(below(3));
  unit.sum = static_cast<Cut>(below(3));
  unit.joined = below(4) != 0;
  unit.normalized = below(4) == 0;
  unit.inputs = static_cast<Inputs>(below(5));
  unit.order = static_cast<Order>(below(4));
  if (below(4) == 0) unit.accumulator = static_cast<units::Accumulator>(1 + below(2));
  if (unit.block == 1 && unit.order == Order::kStrided) unit.order = Order::kInOrder;
  return unit;
}

class RandomUnit : public testing::TestWithParam<int> {};

TEST_P(RandomUnit, IsFoundFromItsProductsAlone) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const Unit unit = random_unit(random);
  const Multiply device = device_of(unit, Format::kFloat32);
  SCOPED_TRACE(units::spec(unit));
  const auto structures = find_order(device, Format::kFloat32).structures;
  ASSERT_FALSE(structures.empty());
  const FoundUnits found = find_units(device, Format::kFloat32, structures);
  ASSERT_FALSE(found.fitting.empty());
  EXPECT_TRUE(std::ranges::count(found.fitting, unit) == 1);
  // What else fits computes the same, also where it was not looked for.
  for (const Unit& other : {found.fitting.front(), found.fitting.back()}) {
    const Prediction prediction = predict_unseen(device, Format::kFloat32, other);
    EXPECT_GE(static_cast<double>(prediction.equal),
              0.999 * static_cast<double>(prediction.compared))
        << units::spec(other);
  }
}

INSTANTIATE_TEST_SUITE_P(Units, RandomUnit, testing::Range(0, 12));

// Results in 16 bits hide what is cut, unless the large terms cancel.
TEST(FindUnits, SeesThroughResultsOf16Bits) {
  for (const Format format : {Format::kFloat16, Format::kBFloat16}) {
    const Unit unit{.block = 8, .bits = 24, .cut = Cut::kTowardZero, .sum = Cut::kNearest};
    const Multiply device = device_of(unit, format);
    const FoundUnits found = find_units(device, format, find_order(device, format).structures);
    EXPECT_EQ(std::ranges::count(found.fitting, unit), 1);
    for (const Unit& other : found.fitting) {
      EXPECT_EQ(other.block, unit.block);
      EXPECT_EQ(other.cut, unit.cut) << units::spec(other);
    }
  }
}

TEST(FindUnits, OfFloat8) {
  for (const int bits : {13, 24}) {
    for (const Order order : {Order::kInOrder, Order::kStrided}) {
      const Unit unit{.block = 16, .bits = bits, .sum = Cut::kNearest, .order = order};
      const Multiply device = device_of(unit, Format::kFloat8);
      const FoundUnits found =
          find_units(device, Format::kFloat8, find_order(device, Format::kFloat8).structures);
      EXPECT_EQ(std::ranges::count(found.fitting, unit), 1) << units::spec(unit);
      for (const Unit& other : found.fitting) EXPECT_EQ(other.bits, bits);
    }
  }
  EXPECT_EQ(rounded_to(Format::kFloat8, 1.0625F), 1.0F);  // a tie
  EXPECT_EQ(rounded_to(Format::kFloat8, -500.0F), -448.0F);
  EXPECT_EQ(rounded_to(Format::kFloat8, 0x1.8p-9F), 0x1p-8F);
}

TEST(RunningSumBits, AreThoseOfTheAccumulator) {
  const Unit unit{.block = 4, .bits = 30};
  EXPECT_EQ(running_sum_bits(device_of(unit, Format::kFloat32), {4, true, Order::kInOrder}), 23);
  // Sums that are rounded to bfloat16 after each block of 16.
  const Multiply narrow = [](const units::Shape& shape, std::span<const float> left,
                             std::span<const float> right) {
    std::vector<float> out;
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      for (std::int64_t column = 0; column < shape.columns; ++column) {
        float sum = 0;
        float block = 0;
        for (std::int64_t k = 0; k < shape.terms; ++k) {
          block += left[static_cast<std::size_t>(row * shape.terms + k)] *
                   right[static_cast<std::size_t>(k * shape.columns + column)];
          if ((k + 1) % 16 != 0) continue;
          sum = rounded_to(Format::kBFloat16, sum + block);
          block = 0;
        }
        out.push_back(sum + block);
      }
    }
    return out;
  };
  EXPECT_EQ(running_sum_bits(narrow, {16, false, Order::kInOrder}), 7);
  EXPECT_EQ(fewest_sum_bits(narrow), 7);
  EXPECT_EQ(fewest_sum_bits(device_of(unit, Format::kFloat32)), 23);
}

TEST(SumOrder, OfPlainLoops) {
  const auto order_of = [](bool pairwise) {
    const Multiply device = [=](const units::Shape& shape, std::span<const float> left,
                                std::span<const float> right) {
      std::vector<float> out;
      std::vector<float> terms(static_cast<std::size_t>(shape.terms));
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        for (std::int64_t column = 0; column < shape.columns; ++column) {
          const float* factors = left.data() + row * shape.terms;
          const float* others = right.data() + column;
          for (std::int64_t k = 0; k < shape.terms; ++k) {
            terms[static_cast<std::size_t>(k)] = factors[k] * others[k * shape.columns];
          }
          std::size_t count = terms.size();
          for (; pairwise && count > 1; count /= 2) {
            for (std::size_t k = 0; k < count / 2; ++k) terms[k] = terms[2 * k] + terms[2 * k + 1];
          }
          float sum = 0;
          for (std::size_t k = 0; k < count; ++k) sum += terms[k];
          out.push_back(sum);
        }
      }
      return out;
    };
    return find_order(device, Format::kFloat32);
  };
  const auto structures = order_of(false).structures;
  ASSERT_EQ(structures.size(), 2U);  // one term at a time; a product is rounded first, or not
  EXPECT_EQ(structures[0].block, 1);
  EXPECT_EQ(structures[0].order, Order::kInOrder);

  const SumOrder pairwise = order_of(true);
  ASSERT_FALSE(pairwise.meetings.empty());
  EXPECT_EQ(pairwise.meetings.front().added, 2);  // terms 0 and 1
  EXPECT_EQ(pairwise.meetings.back().added, 2);   // terms 255 and 254
  EXPECT_TRUE(pairwise.structures.empty());
}

}  // namespace
}  // namespace msprobe::identify
