// SPDX-License-Identifier: Apache-2.0
#include "identify/functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "identify/lines.h"
#include "identify/numbers.h"

namespace msprobe::identify {
namespace {

constexpr std::size_t kCurvePoints = 256;

double least_normal(DType dtype) { return std::ldexp(1.0, format_of(dtype).least_exponent); }

// A float32 and its neighbours, `around` on each side.
void add_around(std::vector<double>& values, double center, int around) {
  float value = static_cast<float>(center);
  for (int step = 0; step < around; ++step) value = std::nextafter(value, -INFINITY);
  for (int step = 0; step <= 2 * around; ++step) {
    if (std::isfinite(value)) values.push_back(value);
    value = std::nextafter(value, INFINITY);
  }
}

std::vector<double> float32_inputs() {
  std::vector<double> values;
  constexpr std::uint32_t kStep = (1U << 14) - 3;  // odd, so the last bits vary too
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += kStep) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(value)) values.push_back(value);
  }
  // Near multiples of pi/2 sin, cos and tan lose digits, near 1 log does.
  constexpr double kHalfPi = 1.5707963267948966;
  for (int turn = 1; turn <= 2000; ++turn) {
    add_around(values, kHalfPi * turn, 1);
    add_around(values, -kHalfPi * turn, 1);
  }
  add_around(values, 1, 500);
  add_around(values, -1, 100);
  add_around(values, 0, 500);
  // Where exp, exp2 and sinh overflow and underflow.
  for (const double end : {88.72283905206835, -87.33654475055310, -103.97207708399179, 128.0,
                           -126.0, -149.0, 89.41598629223294, 9.0, -9.0, 4.0, -13.0, 15.0}) {
    add_around(values, end, 100);
  }
  for (int exponent = -149; exponent < 128; ++exponent) {
    add_around(values, std::ldexp(1.0, exponent), 2);
    add_around(values, -std::ldexp(1.0, exponent), 2);
  }
  return values;
}

struct Found {
  double largest = 0;  // of normal inputs and results, in units of the last place
  std::optional<std::size_t> largest_at;
  std::size_t right = 0, normal = 0;             // correctly rounded, of so many
  std::size_t flushed = 0, kept = 0, small = 0;  // where a subnormal makes a difference
  std::optional<std::size_t> turns_back_at;
  std::size_t special = 0;  // infinite or NaN on one side only
  std::optional<std::size_t> special_at;
};

struct Results {
  const std::vector<double>& inputs;
  std::vector<double> device, exact;  // exact: correctly rounded
  std::vector<long double> values;    // before they are rounded
};

bool both_special(double device, double exact) {
  return (std::isnan(device) && std::isnan(exact)) || device == exact;
}

bool same_size(double one, double other) {
  return (std::isnan(one) && std::isnan(other)) || std::abs(one) == std::abs(other);
}

Found examine(const ReferenceFunction& function, DType dtype, const Results& results,
              std::vector<double>& errors) {
  Found found;
  const double at_zero = correctly_rounded(function, dtype, 0);
  // Where the device has another result for zero: the largest number for an infinity.
  const auto zero = std::ranges::lower_bound(results.inputs, 0.0);
  const bool has_zero = zero != results.inputs.end() && *zero == 0;
  const double device_at_zero =
      has_zero ? results.device[static_cast<std::size_t>(zero - results.inputs.begin())] : at_zero;
  std::optional<std::size_t> before;
  for (std::size_t at = 0; at < results.inputs.size(); ++at) {
    const double input = results.inputs[at];
    const double device = results.device[at];
    const double exact = results.exact[at];
    const bool small_in =
        input != 0 && std::abs(input) < least_normal(dtype) && !same_size(at_zero, exact);
    const bool small_out = exact != 0 && std::abs(exact) < least_normal(dtype);
    if (small_in || small_out) {  // to flush it makes a difference
      before.reset();
      ++found.small;
      const bool as_zero = small_in && same_size(device, device_at_zero);
      found.flushed += device == 0 || as_zero ? 1 : 0;
      found.kept += device == exact ? 1 : 0;
      continue;
    }
    if (!std::isfinite(device) || !std::isfinite(exact)) {
      before.reset();
      if (both_special(device, exact)) continue;
      ++found.special;
      if (!found.special_at) found.special_at = at;
      continue;
    }
    ++found.normal;
    if (device == exact) ++found.right;
    const long double apart = std::fabs(static_cast<long double>(device) - results.values[at]);
    const auto error = static_cast<double>(apart / static_cast<long double>(unit_at(dtype, exact)));
    errors[at] = error;
    if (error > found.largest || !found.largest_at) {
      found.largest = error;
      found.largest_at = at;
    }
    if (before && !found.turns_back_at) {
      const double rise = exact - results.exact[*before];
      const double moved = device - results.device[*before];
      if (rise * moved < 0) found.turns_back_at = at;
    }
    before = at;
  }
  return found;
}

std::string point_text(const Results& results, std::size_t at) {
  return fmt::format("x = {:.9g} gives {:.9g}, correctly rounded {:.9g}", results.inputs[at],
                     results.device[at], results.exact[at]);
}

void add_lines(const Found& found, const Results& results, Lines& lines) {
  const std::string all = fmt::format("{} inputs", results.inputs.size());
  if (!found.largest_at) return lines.cannot_tell("largest error", all + ", no finite result");
  lines.know("largest error", fmt::format("{:.3g} ulp", found.largest),
             fmt::format("{}; {}", all, point_text(results, *found.largest_at)));
  const double share = static_cast<double>(found.right) / static_cast<double>(found.normal);
  lines.know("correctly rounded", fmt::format("{:.4g} %", 100 * share),
             fmt::format("{} of {} normal results", found.right, found.normal));
  lines.know("monotonic", found.turns_back_at ? "no" : "yes",
             found.turns_back_at ? fmt::format("{}, and the input before it, {:.9g}, gives {:.9g}",
                                               point_text(results, *found.turns_back_at),
                                               results.inputs[*found.turns_back_at - 1],
                                               results.device[*found.turns_back_at - 1])
                                 : all + " in ascending order");
  lines.know("infinities and NaN", found.special == 0 ? "right" : "wrong",
             found.special_at ? fmt::format("{} inputs; {}", found.special,
                                            point_text(results, *found.special_at))
                              : all);
  const std::string counts = fmt::format(
      "{} subnormal inputs or results: {} correctly rounded, {} "
      "zero instead",
      found.small, found.kept, found.flushed);
  if (found.small == 0) return lines.cannot_tell("subnormals", "there are none");
  // The least numbers alone may be rounded to zero.
  if (100 * found.flushed < found.small) return lines.know("subnormals", "kept", counts);
  if (2 * found.flushed > found.small) return lines.know("subnormals", "flushed to zero", counts);
  lines.know("subnormals", "some are zero", counts);
}

card::Curve curve_of(const std::string& subject, const std::vector<double>& errors) {
  card::Curve curve{subject, std::vector<double>(kCurvePoints, -1)};
  for (std::size_t at = 0; at < errors.size(); ++at) {
    double& point = curve.largest[at * kCurvePoints / errors.size()];
    point = std::max(point, std::floor(errors[at] * 1000) / 1000);
  }
  return curve;
}

}  // namespace

std::vector<double> function_inputs(DType dtype) {
  std::vector<double> values;
  if (dtype == DType::kFloat32) {
    values = float32_inputs();
  } else {
    for (std::uint32_t bits = 0; bits < (1U << 16); ++bits) {
      const double value = from_bits(dtype, static_cast<std::uint16_t>(bits));
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);  // -0 is equal to 0
  values.erase(repeated.begin(), repeated.end());
  for (double& value : values) value += 0.0;  // -0 becomes 0
  return values;
}

void describe_function(const Compute& compute, const ReferenceFunction& function, DType dtype,
                       const std::vector<double>& inputs, card::Card& card) {
  const std::string subject = fmt::format("{} {}", function.name, name(dtype));
  Lines lines("functions", subject);
  const auto count = static_cast<std::int64_t>(inputs.size());
  Operation operation{std::string(function.name), {make_numbers(dtype, {count}, inputs)}};
  if (function.name == "pow") {
    operation.inputs.push_back(make_numbers(dtype, {1}, std::vector<double>{kPowExponent}));
  }
  const Result<Numbers> out = compute(operation);
  Results results{inputs, out ? values_of(*out) : std::vector<double>(), {}, {}};
  if (!out || results.device.size() != inputs.size()) {
    lines.cannot_tell("largest error", out ? "a result of another shape" : out.error().message);
  } else {
    for (const double input : inputs) {
      const Exact exact = evaluate(function, dtype, input);
      results.exact.push_back(exact.rounded);
      results.values.push_back(exact.value);
    }
    std::vector<double> errors(inputs.size(), -1);
    add_lines(examine(function, dtype, results, errors), results, lines);
    if (dtype != DType::kFloat32) card.curves.push_back(curve_of(subject, errors));
  }
  std::ranges::move(lines.take(), std::back_inserter(card.lines));
}

}  // namespace msprobe::identify
