// SPDX-License-Identifier: Apache-2.0
#include "identify/products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "identify/find_unit.h"
#include "identify/lines.h"
#include "identify/numbers.h"
#include "identify/probe_data.h"
#include "units/unit_spec.h"

namespace msprobe::identify {
namespace {

using card::Confidence;
using units::Unit;

constexpr int kRuns = 5;
constexpr double kGoodShare = 0.999;

Format format_for(DType dtype) {
  if (dtype == DType::kFloat16) return Format::kFloat16;
  if (is_float8(dtype)) return Format::kFloat8;
  return dtype == DType::kBFloat16 ? Format::kBFloat16 : Format::kFloat32;
}

std::int64_t count_different(std::span<const float> one, std::span<const float> other) {
  std::int64_t different = 0;
  for (std::size_t at = 0; at < std::min(one.size(), other.size()); ++at) {
    different += std::bit_cast<std::uint32_t>(one[at]) != std::bit_cast<std::uint32_t>(other[at]);
  }
  return different;
}

// Whether results repeat. False: they do not, and nothing is known about the order.
bool add_runs(const Multiply& multiply, Format format, Lines& lines) {
  std::int64_t different = 0;
  std::int64_t compared = 0;
  for (const Kind kind : {Kind::kNormal, Kind::kWide}) {
    const Factors factors = make_factors(format, kind, {64, 512, 64}, 11);
    const std::vector<float> first = multiply(factors.shape, factors.left, factors.right);
    for (int run = 1; run < kRuns; ++run) {
      different += count_different(first, multiply(factors.shape, factors.left, factors.right));
      compared += static_cast<std::int64_t>(first.size());
    }
  }
  lines.know("depends on run", different == 0 ? "no" : "yes",
             fmt::format("{} runs of (64, 512) x (512, 64): {} of {} results differ from the first",
                         kRuns, different, compared));
  return different == 0;
}

// The first rows and columns of a product.
struct Part {
  std::int64_t rows, columns;
};

void add_shapes(const Multiply& multiply, Format format, Lines& lines) {
  const units::Shape whole{96, 256, 96};
  const Factors factors = make_factors(format, Kind::kNormal, whole, 12);
  const std::vector<float> all = multiply(whole, factors.left, factors.right);
  std::vector<std::string> found;
  bool depends = false;
  for (Part part : {Part{1, 96}, Part{96, 1}, Part{5, 7}, Part{33, 96}, Part{96, 40}}) {
    if (format == Format::kFloat8) part.columns = (part.columns + 15) / 16 * 16;
    const units::Shape shape{part.rows, whole.terms, part.columns};
    std::vector<float> right;
    for (std::int64_t term = 0; term < whole.terms; ++term) {
      const auto start = factors.right.begin() + term * whole.columns;
      right.insert(right.end(), start, start + part.columns);
    }
    const auto rows = static_cast<std::size_t>(part.rows * whole.terms);
    const std::vector<float> own = multiply(shape, std::span(factors.left).first(rows), right);
    std::vector<float> expected;
    for (std::int64_t row = 0; row < part.rows; ++row) {
      const auto start = all.begin() + row * whole.columns;
      expected.insert(expected.end(), start, start + part.columns);
    }
    const std::int64_t different = count_different(own, expected);
    depends = depends || different > 0;
    found.push_back(
        fmt::format("{} x {}: {} of {}", part.rows, part.columns, different, expected.size()));
  }
  lines.know(
      "depends on shape", depends ? "yes" : "no",
      fmt::format("results that differ from the same ones in a 96 x 96 product of 256 terms: "
                  "{}",
                  fmt::join(found, ", ")),
      depends ? Confidence::kHigh : Confidence::kMedium);
}

void add_batch(const Compute& compute, DType dtype, const Multiply& multiply, Lines& lines) {
  constexpr std::int64_t kBatch = 5;
  const units::Shape shape{24, 128, 24};
  const Factors factors = make_factors(format_for(dtype), Kind::kNormal, shape, 13);
  const std::vector<float> alone = multiply(shape, factors.left, factors.right);
  const auto repeated = [&](const std::vector<float>& values, Shape extents) {
    std::vector<double> all;
    for (int copy = 0; copy < kBatch; ++copy) all.insert(all.end(), values.begin(), values.end());
    return make_numbers(dtype, std::move(extents), all);
  };
  const Result<Numbers> out =
      compute({"matmul",
               {repeated(factors.left, {kBatch, shape.rows, shape.terms}),
                repeated(factors.right, {kBatch, shape.terms, shape.columns})}});
  if (!out) return lines.cannot_tell("depends on batch position", out.error().message);
  const std::vector<double> wide = values_of(*out);
  const std::vector<float> all(wide.begin(), wide.end());
  const std::span<const float> first = std::span(all).first(alone.size());
  std::int64_t between = 0;
  for (std::size_t copy = 1; copy < kBatch; ++copy) {
    between += count_different(first, std::span(all).subspan(copy * alone.size(), alone.size()));
  }
  lines.know("depends on batch position", between == 0 ? "no" : "yes",
             fmt::format("5 equal products in one batch: {} of {} results differ from those of the "
                         "first; {} of {} of these from the product alone",
                         between, 4 * alone.size(), count_different(first, alone), alone.size()));
}

// One product of two numbers, among zeros.
float multiply_one(const Multiply& multiply, double one, double other) {
  const units::Shape shape{16, 16, 16};
  std::vector<float> left(static_cast<std::size_t>(shape.rows * shape.terms));
  std::vector<float> right(static_cast<std::size_t>(shape.terms * shape.columns));
  left[0] = static_cast<float>(one);
  right[0] = static_cast<float>(other);
  return multiply(shape, left, right)[0];
}

void add_range(const Multiply& multiply, DType dtype, Lines& lines) {
  const FloatParts format = format_of(dtype);
  // A power of two in the middle of the subnormal range.
  const double small = std::ldexp(1.0, format.least_exponent - 3);
  const double scale = std::ldexp(1.0, 8);
  const auto kept = [&](std::string field, double one, double other) {
    const float out = multiply_one(multiply, one, other);
    const std::string evidence = fmt::format("{:g} x {:g} gives {:g}", one, other, out);
    if (static_cast<double>(out) == one * other) {
      lines.know(std::move(field), "kept", evidence);
    } else if (out == 0) {
      lines.know(std::move(field), "flushed to zero", evidence);
    } else {
      lines.cannot_tell(std::move(field), evidence);
    }
  };
  kept("subnormal inputs", small, scale);
  if (is_float8(dtype)) return;  // the results are float32
  const int half = format.least_exponent / 2;
  kept("subnormal results", std::ldexp(1.0, half),
       std::ldexp(1.0, format.least_exponent - 3 - half));
  const double large = std::ldexp(1.0, std::ilogb(format.largest));
  const float over = multiply_one(multiply, large, 4);
  const std::string evidence = fmt::format("{:g} x 4 gives {:g}", large, over);
  if (std::isinf(over)) {
    lines.know("overflow", "infinity", evidence);
  } else if (static_cast<double>(over) == format.largest) {
    lines.know("overflow", "largest number", evidence);
  } else {
    lines.cannot_tell("overflow", evidence);
  }
}

// What all units agree in, or what they leave open: "zero or down".
struct Agreed {
  std::string text;
  std::size_t choices;
};
template <class Name>
Agreed agreed(const std::vector<Unit>& units, const Name& name) {
  std::vector<std::string> names;
  for (const Unit& unit : units) {
    const std::string own(name(unit));
    if (std::ranges::find(names, own) == names.end()) names.push_back(own);
  }
  return {fmt::format("{}", fmt::join(names, " or ")), names.size()};
}

std::string range_text(int least, int most) {
  if (least == most) return fmt::format("{}", least);
  return most == units::kMostBits ? fmt::format("at least {}", least)
                                  : fmt::format("{} to {}", least, most);
}

struct UnitEvidence {
  std::string text;
  Confidence confidence;
};

void add_unit_fields(const std::vector<Unit>& units, std::size_t rounding_choices,
                     const UnitEvidence& evidence, Lines& lines) {
  const auto know = [&](const char* field, std::string value) {
    lines.know(field, std::move(value), evidence.text, evidence.confidence);
  };
  const auto choose = [&](const char* field, Agreed value, std::size_t all) {
    if (value.choices < all) return know(field, std::move(value.text));
    lines.cannot_tell(field, "every choice gives the same results");
  };
  choose("input rounding", agreed(units, [](const Unit& u) { return name(u.inputs); }),
         rounding_choices);
  choose("accumulator", agreed(units, [](const Unit& u) { return name(u.accumulator); }), 3);
  choose("block", agreed(units, [](const Unit& u) { return std::to_string(u.block); }),
         units::kMostBlock);
  choose("order", agreed(units, [](const Unit& u) { return name(u.order); }), 4);
  const auto bits = [](const Unit& unit) { return unit.bits; };
  know("fraction bits",
       range_text(std::ranges::min(units, {}, bits).bits, std::ranges::max(units, {}, bits).bits));
  choose("terms are cut", agreed(units, [](const Unit& u) { return name(u.cut); }), 3);
  choose("partial sums are cut", agreed(units, [](const Unit& u) { return name(u.sum); }), 3);
  choose("running sum", agreed(units, [](const Unit& u) { return u.joined ? "joined" : "apart"; }),
         2);
  choose("terms are aligned by",
         agreed(units, [](const Unit& u) { return u.normalized ? "product" : "factors"; }), 2);
  know("unit", spec(units.front()));
}

constexpr const char* kUnitFields[] = {"input rounding",
                                       "accumulator",
                                       "block",
                                       "order",
                                       "fraction bits",
                                       "terms are cut",
                                       "partial sums are cut",
                                       "running sum",
                                       "terms are aligned by",
                                       "unit"};

// "0 and 1 meet after 2 terms, 0 and 255 after 256".
std::string meetings_text(const std::vector<Meeting>& meetings) {
  std::string text;
  for (const std::int64_t second : {1, 8, 64, 255}) {
    const auto found = std::ranges::find_if(meetings, [&](const Meeting& meeting) {
      return meeting.first == 0 && meeting.second == second;
    });
    if (found == meetings.end()) continue;
    text += fmt::format("{}terms 0 and {} meet after {}", text.empty() ? "" : ", ", second,
                        found->added);
  }
  return text;
}

// No unit that we know fits: what the meetings and single products say by themselves.
void add_without_unit(const Multiply& multiply, Format format, const SumOrder& order,
                      Lines& lines) {
  const std::string why = "no known unit reproduces the results";
  std::set<std::string_view> known;
  const auto know = [&](const char* field, std::string value, std::string evidence,
                        Confidence confidence) {
    known.insert(field);
    lines.know(field, std::move(value), std::move(evidence), confidence);
  };
  constexpr int kAllBits = 23;
  const std::vector<units::Inputs> inputs = possible_inputs(multiply, format, kAllBits);
  if (inputs.size() == 1) {
    know("input rounding", std::string(name(inputs.front())), "64 products of a number with 1",
         Confidence::kMedium);
  } else if (format == Format::kFloat32 && takes_two_parts(multiply)) {
    know("input rounding", "three-pass",
         "64 products of a number with 1 are those of two bfloat16 parts", Confidence::kMedium);
  }
  if (!order.structures.empty()) {
    const Structure& first = order.structures.front();
    const auto same = [&](const Structure& other) {
      return other.block == first.block && other.order == first.order;
    };
    if (std::ranges::all_of(order.structures, same)) {
      const std::string seen = "sums of 256 terms: " + meetings_text(order.meetings);
      know("block", std::to_string(first.block), seen, Confidence::kLow);
      know("order", std::string(name(first.order)), seen, Confidence::kLow);
    }
  }
  // float16 just holds 2^-24, the first that sums in float32 lose.
  const int bits = fewest_sum_bits(multiply);
  if (bits == 23 || bits == 10 || bits == 7) {
    know("accumulator",
         bits == 23   ? "float32"
         : bits == 10 ? "float16"
                      : "bfloat16",
         fmt::format("M + M 2^-{} - M is not lost at five places in 256 terms, M + M 2^-{} - M is",
                     bits, bits + 1),
         Confidence::kMedium);
  }
  for (const char* field : kUnitFields) {
    if (known.contains(field)) continue;
    lines.cannot_tell(field, order.meetings.empty() ? why + ", and no order of summation was seen"
                                                    : why + "; " + meetings_text(order.meetings));
  }
}

void add_unit(const Multiply& multiply, Format format, Lines& lines) {
  const SumOrder order = find_order(multiply, format);
  // Sums of float8 wider than 27 bits swallow none of its numbers, or only some.
  const bool shows = !order.structures.empty();
  const FoundUnits found = shows ? find_units(multiply, format, order.structures)
                           : format == Format::kFloat8
                               ? find_units(multiply, format, usual_structures())
                               : FoundUnits{};
  if (found.fitting.empty()) return add_without_unit(multiply, format, order, lines);
  const Prediction unseen = predict_unseen(multiply, format, found.fitting.front());
  const double share = static_cast<double>(unseen.equal) / static_cast<double>(unseen.compared);
  if (share < kGoodShare) return add_without_unit(multiply, format, order, lines);
  const bool exact = found.equal == found.compared;
  add_unit_fields(
      found.fitting, format == Format::kFloat32 ? 5 : 2,
      {fmt::format("{} of {} results reproduced bit for bit, {} of {} unseen ones; {}", found.equal,
                   found.compared, unseen.equal, unseen.compared,
                   shows ? meetings_text(order.meetings)
                         : "no order of summation was seen, blocks of 1, 2, 4 ... 64 were tried"),
       exact && shows ? Confidence::kHigh : Confidence::kMedium},
      lines);
}

}  // namespace

Multiply multiply_on(const Compute& compute, DType dtype, std::string& failure) {
  return [&compute, dtype, &failure](const units::Shape& shape, std::span<const float> left,
                                     std::span<const float> right) {
    const auto numbers = [&](std::span<const float> values, std::int64_t rows,
                             std::int64_t columns) {
      return make_numbers(is_float8(dtype) ? DType::kFloat32 : dtype, {rows, columns},
                          std::vector<double>(values.begin(), values.end()));
    };
    const Result<Numbers> out = compute(
        {is_float8(dtype) ? "scaled_mm" : "matmul",
         {numbers(left, shape.rows, shape.terms), numbers(right, shape.terms, shape.columns)},
         dtype});
    const auto size = static_cast<std::size_t>(shape.rows * shape.columns);
    const std::vector<double> values = out ? values_of(*out) : std::vector<double>();
    if (!out) failure = out.error().message;
    if (out && values.size() != size) failure = "matmul: a result of another shape";
    if (values.size() != size) {
      return std::vector<float>(size, std::numeric_limits<float>::quiet_NaN());
    }
    return std::vector<float>(values.begin(), values.end());
  };
}

std::vector<card::Line> describe_products(const Compute& compute, DType dtype) {
  Lines lines("products", std::string(name(dtype)));
  std::string failure;
  const Multiply multiply = multiply_on(compute, dtype, failure);
  const Format format = format_for(dtype);
  (void)multiply_one(multiply, 1, 1);
  if (!failure.empty()) {
    lines.cannot_tell("unit", failure);
    return lines.take();
  }
  if (add_runs(multiply, format, lines)) {
    add_shapes(multiply, format, lines);
    if (!is_float8(dtype)) add_batch(compute, dtype, multiply, lines);  // has no batches
    add_unit(multiply, format, lines);
  } else {
    for (const char* field : kUnitFields) {
      lines.cannot_tell(field, "results differ from run to run");
    }
  }
  add_range(multiply, dtype, lines);
  return lines.take();
}

}  // namespace msprobe::identify
