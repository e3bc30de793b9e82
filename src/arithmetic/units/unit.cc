// SPDX-License-Identifier: Apache-2.0
#include "units/unit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace msprobe::units {
namespace {

std::string_view cut_text(Cut cut) {
  constexpr std::string_view kTexts[] = {"cut toward zero", "cut downward", "rounded to nearest"};
  return kTexts[std::to_underlying(cut)];
}

// Keeps `bits` of the mantissa, to nearest even. float16 has its own ends of the range.
float kept(float value, int bits) {
  if (!std::isfinite(value)) return value;
  const int dropped = 23 - bits;
  const auto pattern = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t odd = (pattern >> dropped) & 1U;
  const std::uint32_t rounded = pattern + odd + ((1U << (dropped - 1)) - 1U);
  return std::bit_cast<float>(rounded & ~((1U << dropped) - 1U));
}

float as_half(float value) {
  constexpr float kLargest = 65504;
  constexpr float kUnit = 5.9604644775390625e-08F;  // the least positive number
  if (std::abs(value) < 6.103515625e-05F) return std::nearbyint(value / kUnit) * kUnit;
  const float rounded = kept(value, 10);
  return std::abs(rounded) > kLargest ? std::copysign(INFINITY, value) : rounded;
}

// Moves the sum to float32 as often as the unit does.
void add_promoted(const Unit& unit, const Terms& terms, double* sums) {
  if (unit.promote <= 0 || terms.count <= unit.promote) return add_terms(unit, terms, sums);
  for (std::int64_t start = 0; start < terms.count; start += unit.promote) {
    double part[kLanes] = {};
    const Terms some{terms.left + start, terms.right + start * kLanes, terms.left_stride,
                     std::min<std::int64_t>(unit.promote, terms.count - start)};
    add_terms(unit, some, part);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] = static_cast<float>(sums[lane] + part[lane]);
    }
  }
}

// Lanes run along the columns.
void product_by_columns(const Unit& unit, const Shape& shape, const std::vector<double>& left,
                        const std::vector<double>& right, bool transposed, float* out) {
  const std::int64_t halves = unit.order == Order::kHalves && shape.terms > 1 ? 2 : 1;
  const std::int64_t half = (shape.terms + halves - 1) / halves;
  std::vector<double> tile(static_cast<std::size_t>(shape.terms * kLanes));
  for (std::int64_t first = 0; first < shape.columns; first += kLanes) {
    const std::int64_t width = std::min(kLanes, shape.columns - first);
    for (std::int64_t k = 0; k < shape.terms; ++k) {
      for (std::int64_t lane = 0; lane < width; ++lane) {
        tile[static_cast<std::size_t>(k * kLanes + lane)] =
            right[static_cast<std::size_t>(k * shape.columns + first + lane)];
      }
    }
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      double sums[kLanes] = {};
      for (std::int64_t start = 0; start < shape.terms; start += half) {
        double part[kLanes] = {};
        const Terms terms{left.data() + row * shape.terms + start, tile.data() + start * kLanes, 1,
                          std::min(half, shape.terms - start)};
        add_promoted(unit, terms, part);
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          sums[lane] = rounded_sum(unit.accumulator, static_cast<float>(sums[lane] + part[lane]));
        }
      }
      for (std::int64_t lane = 0; lane < width; ++lane) {
        const std::int64_t column = first + lane;
        out[transposed ? column * shape.rows + row : row * shape.columns + column] =
            static_cast<float>(sums[lane]);
      }
    }
  }
}

}  // namespace

std::string text(const Unit& unit) {
  std::string text =
      fmt::format("adds in blocks of {}, {} bits, {}", unit.block, unit.bits, cut_text(unit.cut));
  if (unit.sum != unit.cut) text += fmt::format(", sums {}", cut_text(unit.sum));
  if (!unit.joined) text += ", the running sum apart";
  constexpr std::string_view kInputs[] = {"", ", TF32 inputs", ", HF32 inputs", ", bfloat16 inputs",
                                          ", float16 inputs"};
  constexpr std::string_view kOrders[] = {"", ", in reverse order", ", in strides", ", by halves"};
  constexpr std::string_view kSums[] = {"", ", sums in bfloat16", ", sums in float16"};
  if (unit.promote > 0) text += fmt::format(", in float32 every {} terms", unit.promote);
  return text.append(kInputs[std::to_underlying(unit.inputs)])
      .append(kOrders[std::to_underlying(unit.order)])
      .append(kSums[std::to_underlying(unit.accumulator)]);
}

float rounded_input(Inputs inputs, float value) {
  switch (inputs) {
    case Inputs::kTf32:
      return kept(value, 10);
    case Inputs::kHf32:
      return kept(value, 11);
    case Inputs::kBFloat16:
      return kept(value, 7);
    case Inputs::kFloat16:
      return as_half(value);
    case Inputs::kAsTheyAre:
      break;
  }
  return value;
}

float rounded_sum(Accumulator accumulator, float value) {
  if (accumulator == Accumulator::kFloat32) return value;
  return rounded_input(accumulator == Accumulator::kBFloat16 ? Inputs::kBFloat16 : Inputs::kFloat16,
                       value);
}

void fill_order(Order order, int block, std::span<std::int64_t> places) {
  std::iota(places.begin(), places.end(), std::int64_t{0});
  if (order == Order::kReversed) std::ranges::reverse(places);
  if (order != Order::kStrided) return;
  const auto count = static_cast<std::int64_t>(places.size());
  const std::int64_t stride = (count + block - 1) / block;
  std::size_t next = 0;
  for (std::int64_t start = 0; start < stride; ++start) {
    for (std::int64_t k = start; k < count; k += stride) places[next++] = k;
  }
}

void product(const Unit& unit, const Shape& shape, const float* left, const float* right,
             float* out) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(shape.terms));
  fill_order(unit.order, unit.block, places);
  const auto take = [&](const float* values, std::int64_t at) {
    return static_cast<double>(rounded_input(unit.inputs, values[at]));
  };
  // Lanes go along the longer side.
  const bool transposed = shape.columns < shape.rows;
  const Shape turned = transposed ? Shape{shape.columns, shape.terms, shape.rows} : shape;
  std::vector<double> rows(static_cast<std::size_t>(turned.rows * shape.terms));
  std::vector<double> columns(static_cast<std::size_t>(turned.columns * shape.terms));
  std::size_t next = 0;
  for (std::int64_t row = 0; row < turned.rows; ++row) {
    for (const std::int64_t k : places) {
      rows[next++] =
          transposed ? take(right, k * shape.columns + row) : take(left, row * shape.terms + k);
    }
  }
  next = 0;
  for (const std::int64_t k : places) {
    for (std::int64_t column = 0; column < turned.columns; ++column) {
      columns[next++] = transposed ? take(left, column * shape.terms + k)
                                   : take(right, k * shape.columns + column);
    }
  }
  product_by_columns(unit, turned, rows, columns, transposed, out);
}

}  // namespace msprobe::units
