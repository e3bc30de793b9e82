// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a matrix unit: how it adds the products of a long sum. Public studies of real
// units describe them all by the same few numbers: they take a block of products, align these and
// the running sum to the largest exponent among them, keep so many bits behind its leading one, cut
// the rest, add whole numbers, and bring the sum back to float32.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>

namespace msprobe::units {

// What becomes of the bits that do not fit.
enum class Cut : std::uint8_t { kTowardZero, kDown, kNearest };

// What float32 inputs are rounded to, to nearest.
enum class Inputs : std::uint8_t { kAsTheyAre, kTf32, kHf32, kBFloat16, kFloat16 };

// What a sum is kept in from one block to the next.
enum class Accumulator : std::uint8_t { kFloat32, kBFloat16, kFloat16 };

// In which order the terms of a sum are taken.
enum class Order : std::uint8_t {
  kInOrder,
  kReversed,
  kStrided,  // a block holds terms that are as far apart as possible
  kHalves,   // both halves by themselves, then their sum in float32
};

struct Unit {
  int block = 8;  // products that are added at once
  int bits = 24;  // behind the leading one of the largest term
  Cut cut = Cut::kTowardZero;
  Cut sum = Cut::kTowardZero;  // of a partial sum to float32
  bool joined = true;          // the running sum is one of the terms; else it is added in float32
  bool normalized = false;     // a product is aligned by its own exponent, not by its factors'
  Inputs inputs = Inputs::kAsTheyAre;
  Order order = Order::kInOrder;
  Accumulator accumulator = Accumulator::kFloat32;  // narrower ones are rounded to, to nearest
  int promote = 0;  // terms after which the sum is moved into a float32 sum and restarts; 0: never

  auto operator<=>(const Unit&) const = default;
};

inline constexpr int kMostBits = 40;  // for which whole numbers of a block fit into a double
inline constexpr int kMostBlock = 64;
inline constexpr int kMostPromote = 1 << 20;

// Whether the functions below can compute with it.
constexpr bool is_valid(const Unit& unit) {
  return unit.block >= 1 && unit.block <= kMostBlock && unit.bits >= 1 && unit.bits <= kMostBits;
}

// "adds in blocks of 8, 24 bits, cut toward zero".
std::string text(const Unit& unit);

// Sums that are computed at once.
inline constexpr std::int64_t kLanes = 8;

// The terms of kLanes sums: left[k * left_stride + lane] * right[k * kLanes + lane], or with a
// left_stride of 1 left[k] for all lanes. Every number is one of float32.
struct Terms {
  const double* left;
  const double* right;
  std::int64_t left_stride;
  std::int64_t count;
};

// Takes the terms as they come, and the inputs as they are: `inputs` and `order` of the unit are
// what product() does. `sums`: kLanes numbers of float32; what they hold is where the sums start.
void add_terms(const Unit& unit, const Terms& terms, double* sums);

// A matrix product of row-major float32: out (rows x columns) = left (rows x terms) * right.
struct Shape {
  std::int64_t rows, terms, columns;
};
void product(const Unit& unit, const Shape& shape, const float* left, const float* right,
             float* out);

// The order in which the unit takes `count` terms.
void fill_order(Order order, int block, std::span<std::int64_t> places);

// A float32 as the unit takes it in, and a sum as it keeps it.
float rounded_input(Inputs inputs, float value);
float rounded_sum(Accumulator accumulator, float value);

}  // namespace msprobe::units
