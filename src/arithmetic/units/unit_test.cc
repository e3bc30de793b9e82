// SPDX-License-Identifier: Apache-2.0
// The fast sums against a slow model that knows whole numbers only.
#include "units/unit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace msprobe::units {
namespace {

__extension__ using Wide = __int128;

// m * 2^e
struct Number {
  Wide significand;
  int exponent;
};

Number number_of(float value) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return {static_cast<Wide>(std::ldexp(fraction, 24)), exponent - 24};
}

int leading(Wide value) {  // of |value|; the place of its first bit
  value = value < 0 ? -value : value;
  int place = -1;
  for (; value > 0; value >>= 1) ++place;
  return place;
}

// value / 2^shift as a whole number
Wide shifted_by(Wide value, int shift, Cut cut) {
  if (shift <= 0) return value << -shift;
  if (shift > 120) {
    const bool below = value < 0 && cut == Cut::kDown;
    return below ? -1 : 0;
  }
  const Wide down = value >> shift;  // an arithmetic shift
  const Wide rest = value - (down << shift);
  if (rest == 0 || cut == Cut::kDown) return down;
  if (cut == Cut::kTowardZero) return value < 0 ? down + 1 : down;
  const Wide half = Wide{1} << (shift - 1);
  return rest > half || (rest == half && (down & 1) != 0) ? down + 1 : down;
}

double to_float(Number number, Cut cut) {
  if (number.significand == 0) return 0;
  const int top = leading(number.significand) + number.exponent;
  const int unit = std::max(top - 23, -149);
  const Wide kept = shifted_by(number.significand, unit - number.exponent, cut);
  return std::ldexp(static_cast<double>(kept), unit);
}

float slow_sum(const Unit& unit, const std::vector<float>& left, const std::vector<float>& right) {
  float sum = 0;
  const int count = static_cast<int>(left.size());
  for (int start = 0; start < count; start += unit.block) {
    std::vector<Number> terms;
    int top = -100000;
    for (int k = start; k < std::min(start + unit.block, count); ++k) {
      const Number a = number_of(left[static_cast<std::size_t>(k)]);
      const Number b = number_of(right[static_cast<std::size_t>(k)]);
      const Number product{a.significand * b.significand, a.exponent + b.exponent};
      if (product.significand == 0) continue;
      terms.push_back(product);
      const int own = leading(product.significand) + product.exponent;
      const int factors = leading(a.significand) + a.exponent + leading(b.significand) + b.exponent;
      top = std::max(top, unit.normalized ? own : factors);
    }
    const Number running = number_of(sum);
    if (unit.joined && sum != 0) {
      terms.push_back(running);
      top = std::max(top, leading(running.significand) + running.exponent);
    }
    Wide total = 0;
    for (const Number& term : terms) {
      total += shifted_by(term.significand, top - unit.bits - term.exponent, unit.cut);
    }
    const double part = to_float({total, top - unit.bits}, unit.sum);
    if (unit.joined) {
      sum = static_cast<float>(part);
      continue;
    }
    const Number added = number_of(static_cast<float>(part));
    const int least = std::min(running.exponent, added.exponent);
    if (sum == 0 || part == 0) {
      sum = sum == 0 ? static_cast<float>(part) : sum;
    } else if (std::max(running.exponent, added.exponent) - least < 100) {
      const Wide both = (running.significand << (running.exponent - least)) +
                        (added.significand << (added.exponent - least));
      sum = static_cast<float>(to_float({both, least}, unit.sum));
    } else {
      ADD_FAILURE() << "the model is too narrow";
    }
  }
  return sum;
}

enum class Data { kNormal, kPositive, kCancelling, kWide, kSmall };

float drawn(Data data, std::size_t place, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const float value = normal(random);
  switch (data) {
    case Data::kPositive:
      return std::abs(value);
    case Data::kCancelling:
      return place % 2 == 0 ? 1 + value / 1024 : -1 + value / 1024;
    case Data::kWide:
      return std::ldexp(value, static_cast<int>(random() % 40) - 20);
    case Data::kSmall:
      return std::ldexp(value, -70);  // products are subnormal
    case Data::kNormal:
      break;
  }
  return random() % 16 == 0 ? 0 : value;
}

TEST(Unit, AddsAsTheSlowModelDoes) {
  std::mt19937 random(7);
  for (const int block : {1, 3, 4, 8, 16, 32}) {
    for (const int bits : {13, 23, 24, 25}) {
      for (const Cut cut : {Cut::kTowardZero, Cut::kDown, Cut::kNearest}) {
        for (const Cut sum : {Cut::kTowardZero, Cut::kDown, Cut::kNearest}) {
          for (int kind = 0; kind < 4; ++kind) {
            const Unit unit{.block = block,
                            .bits = bits,
                            .cut = cut,
                            .sum = sum,
                            .joined = (kind & 1) != 0,
                            .normalized = (kind & 2) != 0};
            for (const Data data :
                 {Data::kNormal, Data::kPositive, Data::kCancelling, Data::kWide, Data::kSmall}) {
              const std::int64_t terms = 37;
              const Shape shape{2, terms, 5};
              std::vector<float> left(static_cast<std::size_t>(shape.rows * terms));
              std::vector<float> right(static_cast<std::size_t>(shape.columns * terms));
              for (std::size_t i = 0; i < left.size(); ++i) left[i] = drawn(data, i, random);
              for (std::size_t i = 0; i < right.size(); ++i) {
                right[i] = drawn(data == Data::kCancelling ? Data::kPositive : data, i, random);
              }
              std::vector<float> out(10);
              product(unit, shape, left.data(), right.data(), out.data());
              for (std::int64_t row = 0; row < shape.rows; ++row) {
                for (std::int64_t column = 0; column < shape.columns; ++column) {
                  std::vector<float> a;
                  std::vector<float> b;
                  for (std::int64_t k = 0; k < terms; ++k) {
                    a.push_back(left[static_cast<std::size_t>(row * terms + k)]);
                    b.push_back(right[static_cast<std::size_t>(k * shape.columns + column)]);
                  }
                  const float fast = out[static_cast<std::size_t>(row * shape.columns + column)];
                  ASSERT_EQ(fast, slow_sum(unit, a, b))
                      << text(unit) << ", data " << static_cast<int>(data);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Unit, TurnsShapesAndOrders) {
  std::mt19937 random(3);
  const std::int64_t terms = 50;
  std::vector<float> left(static_cast<std::size_t>(9 * terms));
  std::vector<float> right(static_cast<std::size_t>(2 * terms));
  for (float& value : left) value = drawn(Data::kNormal, 0, random);
  for (float& value : right) value = drawn(Data::kNormal, 0, random);
  for (const Order order : {Order::kInOrder, Order::kReversed, Order::kStrided, Order::kHalves}) {
    const Unit unit{.order = order};
    std::vector<float> tall(18);
    product(unit, {9, terms, 2}, left.data(), right.data(), tall.data());
    std::vector<float> turned_left(right.size());
    std::vector<float> turned_right(left.size());
    for (std::size_t k = 0; k < 50; ++k) {
      for (std::size_t i = 0; i < 2; ++i) turned_left[i * 50 + k] = right[k * 2 + i];
      for (std::size_t i = 0; i < 9; ++i) turned_right[k * 9 + i] = left[i * 50 + k];
    }
    std::vector<float> wide(18);
    product(unit, {2, terms, 9}, turned_left.data(), turned_right.data(), wide.data());
    for (std::size_t i = 0; i < 9; ++i) {
      for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(tall[i * 2 + k], wide[k * 9 + i]);
    }
    std::vector<std::int64_t> places(50);
    fill_order(order, 8, places);
    std::ranges::sort(places);
    for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(places[static_cast<std::size_t>(i)], i);
  }
}

TEST(Unit, KeepsSumsInNarrowTypes) {
  const auto sum = [](Accumulator accumulator, std::vector<float> terms, int block, Order order) {
    const Unit unit{.block = block,
                    .bits = 30,
                    .cut = Cut::kNearest,
                    .sum = Cut::kNearest,
                    .order = order,
                    .accumulator = accumulator};
    const std::vector<float> ones(terms.size(), 1.0F);
    float out = 0;
    product(unit, {1, static_cast<std::int64_t>(terms.size()), 1}, terms.data(), ones.data(), &out);
    return out;
  };
  using enum Accumulator;
  const std::vector<float> terms{1, 0x1p-9F, 0x1p-9F, -1};
  EXPECT_EQ(sum(kFloat32, terms, 1, Order::kInOrder), 0x1p-8F);
  EXPECT_EQ(sum(kFloat16, terms, 1, Order::kInOrder), 0x1p-8F);
  EXPECT_EQ(sum(kBFloat16, terms, 1, Order::kInOrder), 0);
  EXPECT_EQ(sum(kBFloat16, terms, 4, Order::kInOrder), 0x1p-8F);  // all in one block
  EXPECT_EQ(sum(kBFloat16, terms, 2, Order::kHalves), 0);
  EXPECT_EQ(sum(kFloat16, {40000, 40000, -40000}, 1, Order::kInOrder), INFINITY);
  EXPECT_EQ(sum(kBFloat16, {40000, 40000}, 1, Order::kInOrder), 79872);
}

// Ones that the running sum swallows, unless it starts anew before that.
TEST(Unit, MovesItsSumToFloat32) {
  constexpr std::int64_t kOnes = 32768;
  const std::vector<float> ones(kOnes, 1.0F);
  const auto sum = [&](int promote) {
    float out = 0;
    product({.block = 32, .bits = 13, .promote = promote}, {1, kOnes, 1}, ones.data(), ones.data(),
            &out);
    return out;
  };
  EXPECT_LT(sum(0), 20000.0F);
  EXPECT_EQ(sum(128), 32768.0F);
}

TEST(Unit, PassesOnWhatIsNotFinite) {
  const float left[] = {1, INFINITY, 1, NAN};
  const float right[] = {1, 1};
  float out[2] = {};
  product({}, {2, 2, 1}, left, right, out);
  EXPECT_EQ(out[0], INFINITY);
  EXPECT_TRUE(std::isnan(out[1]));
}

TEST(Unit, RoundsInputs) {
  EXPECT_EQ(rounded_input(Inputs::kTf32, 1 + 0x1p-11F), 1);
  EXPECT_EQ(rounded_input(Inputs::kTf32, 1 + 0x1.8p-10F), 1 + 0x1p-9F);
  EXPECT_EQ(rounded_input(Inputs::kHf32, 1 + 0x1p-11F), 1 + 0x1p-11F);
  EXPECT_EQ(rounded_input(Inputs::kHf32, 1 + 0x1p-12F), 1);
  EXPECT_EQ(rounded_input(Inputs::kBFloat16, 1 + 0x1.8p-8F), 1 + 0x1p-7F);
  EXPECT_EQ(rounded_input(Inputs::kFloat16, 70000), INFINITY);
  EXPECT_EQ(rounded_input(Inputs::kFloat16, 0x1.8p-24F), 0x1p-23F);
  EXPECT_EQ(rounded_input(Inputs::kAsTheyAre, 0.1F), 0.1F);
}

TEST(Unit, IsSaidInWords) {
  EXPECT_EQ(text({}), "adds in blocks of 8, 24 bits, cut toward zero");
  EXPECT_EQ(text({.block = 16, .bits = 25, .cut = Cut::kDown, .sum = Cut::kNearest}),
            "adds in blocks of 16, 25 bits, cut downward, sums rounded to nearest");
}

}  // namespace
}  // namespace msprobe::units
