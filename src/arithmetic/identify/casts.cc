// SPDX-License-Identifier: Apache-2.0
#include "identify/casts.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/float_formats.h"
#include "identify/lines.h"
#include "identify/numbers.h"

namespace msprobe::identify {
namespace {

using card::Confidence;

// `value` to a whole multiple of `unit`.
double to_nearest_even(double value, double unit) { return std::nearbyint(value / unit) * unit; }
double to_nearest_away(double value, double unit) { return std::round(value / unit) * unit; }
double toward_zero(double value, double unit) { return std::trunc(value / unit) * unit; }
double downward(double value, double unit) { return std::floor(value / unit) * unit; }
double upward(double value, double unit) { return std::ceil(value / unit) * unit; }

struct Mode {
  const char* name;
  double (*round)(double value, double unit);
};
constexpr Mode kModes[] = {{"to nearest, ties to even", &to_nearest_even},
                           {"to nearest, ties away from zero", &to_nearest_away},
                           {"toward zero", &toward_zero},
                           {"down", &downward},
                           {"up", &upward}};

bool has_fractions(DType dtype) { return is_float(dtype) || is_float8(dtype); }

// A cast of some numbers; empty: the device cannot.
std::vector<double> cast(const Compute& compute, const CastPair& pair,
                         const std::vector<double>& values) {
  const Result<Numbers> out =
      compute({"cast",
               {make_numbers(pair.from, {static_cast<std::int64_t>(values.size())}, values)},
               pair.to});
  if (!out || out->dtype != pair.to) return {};
  std::vector<double> got = values_of(*out);
  if (got.size() != values.size()) got.clear();
  return got;
}

// Ties and others of every size that both dtypes have as normal numbers.
std::vector<double> rounding_samples(const CastPair& pair) {
  std::vector<double> values;
  std::mt19937_64 random(5);
  const bool whole = !has_fractions(pair.to);
  const int extra =
      format_of(pair.from).fraction_bits - (whole ? 0 : format_of(pair.to).fraction_bits);
  for (int at = 0; at < 400; ++at) {
    // A neighbour of the target dtype, and a part of the way to the next one.
    // All of them are normal numbers of every dtype.
    const double unit = whole ? 1 : std::ldexp(1.0, at % 12 - 6 - format_of(pair.to).fraction_bits);
    const auto units = static_cast<double>(
        whole ? random() % 100
              : (std::uint64_t{1} << format_of(pair.to).fraction_bits) +
                    random() % (std::uint64_t{1} << format_of(pair.to).fraction_bits));
    const int parts = std::min(extra, 3);
    const double part = std::ldexp(static_cast<double>(random() % (1U << parts)), -parts);
    const double sign = random() % 2 == 0 ? 1 : pair.to == DType::kUInt8 ? 1 : -1;
    values.push_back(round_to(pair.from, sign * (units + part) * unit));
  }
  return values;
}

void add_rounding(const Compute& compute, const CastPair& pair, Lines& lines) {
  const std::vector<double> values = rounding_samples(pair);
  const std::vector<double> out = cast(compute, pair, values);
  std::vector<std::string> fitting;
  for (const Mode& mode : kModes) {
    bool all = true;
    for (std::size_t at = 0; all && at < out.size(); ++at) {
      const double unit = has_fractions(pair.to) ? unit_at(pair.to, values[at]) : 1;
      all = out[at] == mode.round(values[at], unit);
    }
    if (all) fitting.emplace_back(mode.name);
  }
  const std::string evidence = fmt::format("{} numbers, ties among them", values.size());
  if (fitting.empty()) return lines.cannot_tell("rounding", evidence + ": no rounding fits");
  // Of numbers without sign some roundings are the same.
  lines.know("rounding", fmt::format("{}", fmt::join(fitting, " or ")), evidence);
}

// Names what became of one number.
struct Expected {
  double value;
  const char* name;
};

bool same(double one, double other) {
  return (std::isnan(one) && std::isnan(other)) ||
         (one == other && std::signbit(one) == std::signbit(other));
}

void add_one(const Compute& compute, const CastPair& pair, const char* field, double value,
             std::vector<Expected> expected, Lines& lines) {
  const std::vector<double> out = cast(compute, pair, {value});
  if (out.empty()) return lines.cannot_tell(field, "the cast failed");
  const std::string evidence = fmt::format("{:g} gives {:g}", value, out[0]);
  for (const Expected& choice : expected) {
    if (same(out[0], choice.value)) return lines.know(field, choice.name, evidence);
  }
  if (!has_fractions(pair.to)) return lines.know(field, fmt::format("{:.0f}", out[0]), evidence);
  lines.cannot_tell(field, evidence);
}

void add_float_cast(const Compute& compute, const CastPair& pair, Lines& lines) {
  const FloatParts to = format_of(pair.to);
  const FloatParts from = format_of(pair.from);
  const bool narrower = to.fraction_bits < from.fraction_bits;
  if (narrower) add_rounding(compute, pair, lines);
  if (to.largest < from.largest) {
    // Beyond the largest number by more than half a unit, regardless of the rounding.
    const double beyond = std::min(from.largest, to.largest * 1.5);
    add_one(compute, pair, "overflow", beyond,
            {{kInfinity, "infinity"}, {to.largest, "largest number"}, {kNan, "NaN"}}, lines);
  }
  add_one(compute, pair, "infinity", kInfinity,
          {{kInfinity, "kept"}, {to.largest, "largest number"}, {kNan, "NaN"}}, lines);
  add_one(compute, pair, "NaN", kNan, {{kNan, "kept"}, {0.0, "zero"}}, lines);
  add_one(compute, pair, "-0", -0.0, {{-0.0, "kept"}, {0.0, "+0"}}, lines);
  const double into = std::ldexp(1.0, to.least_exponent - 2);
  if (into >= std::ldexp(1.0, from.least_exponent)) {
    add_one(compute, pair, "subnormal results", into, {{into, "kept"}, {0.0, "flushed to zero"}},
            lines);
  }
  const double in = std::ldexp(1.0, from.least_exponent - 2);
  const bool survives = in >= unit_at(pair.to, 0);
  if (survives) {
    add_one(compute, pair,
            in >= std::ldexp(1.0, to.least_exponent) ? "subnormal inputs" : "subnormals", in,
            {{in, "kept"}, {0.0, "flushed to zero"}}, lines);
  }
}

void add_whole_cast(const Compute& compute, const CastPair& pair, Lines& lines) {
  add_rounding(compute, pair, lines);
  const int bits = static_cast<int>(size_bytes(pair.to)) * 8;
  const bool has_sign = pair.to != DType::kUInt8;
  const double least = has_sign ? -std::ldexp(1.0, bits - 1) : 0;
  const double range = std::ldexp(1.0, bits);
  const double largest = least + range - 1;
  const double over = std::ldexp(1.0, has_sign ? bits - 1 : bits) * 1.5;
  if (over < format_of(pair.from).largest) {
    const double wrapped = over >= range + least ? over - range : over;
    add_one(compute, pair, "too large", over,
            {{largest, "largest number"}, {wrapped, "wraps around"}, {least, "least number"}},
            lines);
    const double under = has_sign ? -over : -1;
    add_one(compute, pair, "too small", under,
            {{least, "least number"}, {under + range, "wraps around"}, {largest, "largest number"}},
            lines);
  }
  add_one(compute, pair, "infinity", kInfinity,
          {{largest, "largest number"}, {least, "least number"}}, lines);
  add_one(compute, pair, "NaN", kNan,
          {{0.0, "zero"}, {least, "least number"}, {largest, "largest number"}}, lines);
}

}  // namespace

std::vector<CastPair> cast_pairs() {
  using enum DType;
  return {{kFloat32, kFloat16},     {kFloat32, kBFloat16},   {kFloat16, kFloat32},
          {kBFloat16, kFloat32},    {kFloat16, kBFloat16},   {kBFloat16, kFloat16},
          {kFloat32, kInt64},       {kFloat32, kInt32},      {kFloat32, kInt16},
          {kFloat32, kInt8},        {kFloat32, kUInt8},      {kFloat16, kInt32},
          {kBFloat16, kInt32},      {kFloat32, kFloat8E4M3}, {kFloat32, kFloat8E5M2},
          {kBFloat16, kFloat8E4M3}, {kBFloat16, kFloat8E5M2}};
}

std::vector<card::Line> describe_cast(const Compute& compute, const CastPair& pair) {
  Lines lines("casts", fmt::format("{} to {}", name(pair.from), name(pair.to)));
  if (cast(compute, pair, {1.0}) != std::vector<double>{1.0}) {
    lines.cannot_tell("rounding", "the device cannot cast 1");
  } else if (has_fractions(pair.to)) {
    add_float_cast(compute, pair, lines);
  } else {
    add_whole_cast(compute, pair, lines);
  }
  return lines.take();
}

}  // namespace msprobe::identify
