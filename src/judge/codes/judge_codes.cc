// SPDX-License-Identifier: Apache-2.0
#include "codes/judge_codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "codes/judge_scaled.h"
#include "codes/quantisation.h"
#include "codes/stochastic_codes.h"
#include "libtorch/dtypes.h"
#include "low_precision/codes.h"
#include "strict/error_map.h"
#include "strict/product.h"
#include "strict/wording.h"

namespace msprobe::codes {

using strict::Direction;
using strict::equal;
using strict::error_map;
using strict::forward_product;
using strict::number_text;
using strict::passed;
using strict::place_text;
using strict::wrong;
namespace {

// A cause is named if it explains this share of the codes that are wrong.
constexpr double kMostOfThem = 0.99;

// One code beside its number.
struct Element {
  std::uint8_t code;
  double device;  // what the code means
  double number;
  double allowed;
};

class Codes {
 public:
  explicit Codes(const CodePair& pair)
      : pair_(pair),
        values_(values_of(pair.format)),
        device_(pair.device.contiguous()),
        numbers_(pair.numbers.contiguous()),
        allowed_(pair.allowed.defined() ? pair.allowed.contiguous() : at::Tensor()) {}

  std::int64_t count() const { return device_.numel(); }

  Element at(std::int64_t i) const {
    const std::uint8_t code = device_.data_ptr<std::uint8_t>()[i];
    return {code, values_[code], numbers_.data_ptr<double>()[i],
            allowed_.defined() ? allowed_.data_ptr<double>()[i] : 0};
  }

  bool is_right(const Element& e, Beyond beyond) const {
    if (std::isnan(e.number)) {
      return std::isnan(e.device) || !std::isnan(values_[encode(pair_.format, e.number)]);
    }
    const std::uint8_t low = encode(pair_.format, e.number - e.allowed, beyond);
    const std::uint8_t high = encode(pair_.format, e.number + e.allowed, beyond);
    if (e.code == low || e.code == high) return true;
    const bool none_finite = std::isnan(values_[low]) && std::isnan(values_[high]);
    if (std::isnan(e.device)) return std::isnan(values_[low]) || std::isnan(values_[high]);
    if (none_finite) return false;
    if (pair_.signs_count && low == high) return false;
    const double least = std::isnan(values_[low]) ? -largest(pair_.format) : values_[low];
    const double most = std::isnan(values_[high]) ? largest(pair_.format) : values_[high];
    return least <= e.device && e.device <= most;
  }

  std::vector<std::int64_t> wrong(Beyond beyond) const {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < count(); ++i) {
      if (!is_right(at(i), beyond)) places.push_back(i);
    }
    return places;
  }

  const CodePair& pair() const { return pair_; }
  at::Tensor device_numbers() const {
    return low_precision::numbers_of(pair_.format, device_).view(pair_.numbers.sizes());
  }

 private:
  const CodePair& pair_;
  const std::array<float, 256>& values_;
  at::Tensor device_, numbers_, allowed_;
};

// What a wrong rule makes of a number.
struct Hypothesis {
  std::string_view cause;
  double (*value)(CodeFormat, double);
  bool of_range = false;
};

double toward_zero(CodeFormat format, double number) {
  const CodeNeighbours near = neighbours(format, number);
  return number < 0 ? near.upper : near.lower;
}
double away_from_zero(CodeFormat format, double number) {
  const CodeNeighbours near = neighbours(format, number);
  return number < 0 ? near.lower : near.upper;
}
double ties_away(CodeFormat format, double number) {
  const CodeNeighbours near = neighbours(format, number);
  const bool tie = number - near.lower == near.upper - number && near.lower != near.upper;
  if (tie) return away_from_zero(format, number);
  return values_of(format)[encode(format, number)];
}
double flushed(CodeFormat format, double number) {
  const double value = values_of(format)[encode(format, number)];
  const double unit = values_of(format)[1];
  const auto& values = values_of(format);
  // Below the least normal number, neighbours are one unit apart.
  for (int code = 1; code < 128; ++code) {
    const auto place = static_cast<std::size_t>(code);
    if (values[place + 1] - values[place] > unit) {
      return std::abs(value) < values[place] / 2 ? 0 : value;
    }
  }
  return value;
}
double saturated(CodeFormat format, double number) {
  return values_of(format)[encode(format, number, Beyond::kSaturates)];
}
double not_finite(CodeFormat format, double number) {
  return values_of(format)[encode(format, number, Beyond::kNotFinite)];
}
double halved(CodeFormat format, double number) {
  return values_of(format)[encode(format, number)] / 2;
}
double doubled(CodeFormat format, double number) {
  return values_of(format)[encode(format, number)] * 2;
}

constexpr Hypothesis kHypotheses[] = {
    {"saturation: the largest number in place of infinity or NaN", &saturated, true},
    {"infinity or NaN in place of the largest number", &not_finite, true},
    {"rounded toward zero", &toward_zero},
    {"ties rounded away from zero", &ties_away},
    {"rounded away from zero", &away_from_zero},
    {"flushed subnormals", &flushed},
    {"half of every number (fnuz codes read as fn)", &halved},
    {"twice every number (fn codes read as fnuz)", &doubled},
};

bool same_number(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

std::string cause_of(const Codes& codes, const std::vector<std::int64_t>& wrong) {
  const CodeFormat format = codes.pair().format;
  const auto share = [&](const auto& fits) {
    const auto found =
        std::ranges::count_if(wrong, [&](std::int64_t place) { return fits(codes.at(place)); });
    return static_cast<double>(found) / static_cast<double>(wrong.size());
  };
  if (share([](const Element& e) { return std::isnan(e.number); }) == 1) return "lost NaN";
  for (const Hypothesis& hypothesis : kHypotheses) {
    // One code fits many rules, but those of the range.
    if (wrong.size() == 1 && !hypothesis.of_range) return "one bad element";
    const double fitting = share([&](const Element& e) {
      return !std::isnan(e.number) && same_number(e.device, hypothesis.value(format, e.number));
    });
    if (fitting >= kMostOfThem) return std::string(hypothesis.cause);
  }
  const auto is_neighbour = [&](const Element& e) {
    const CodeNeighbours near = neighbours(format, e.number);
    return e.device == near.lower || e.device == near.upper;
  };
  const bool many = static_cast<double>(wrong.size()) > 0.05 * static_cast<double>(codes.count());
  if (many && share(is_neighbour) >= kMostOfThem) return "rounded to a random neighbour";
  return "";
}

StrictFinding right_codes(const Codes& codes) {
  std::int64_t rounded = 0;
  for (std::int64_t i = 0; i < codes.count(); ++i) {
    const Element e = codes.at(i);
    if (!same_number(e.device,
                     values_of(codes.pair().format)[encode(codes.pair().format, e.number)])) {
      ++rounded;
    }
  }
  if (rounded == 0) return equal("equal to the rounded benchmark, code by code");
  StrictFinding finding = passed(
      fmt::format("{} of {} codes differ from the rounded benchmark, each one that the errors of "
                  "its sum explain",
                  rounded, codes.count()));
  finding.error_over_bound = 1;
  return finding;
}

StrictFinding wrong_codes(const Codes& codes, const std::vector<std::int64_t>& wrong_places) {
  const CodePair& pair = codes.pair();
  const Element first = codes.at(wrong_places.front());
  const std::uint8_t wanted = encode(pair.format, first.number);
  StrictFinding finding =
      wrong(fmt::format(
                "{} of {} codes of {} are wrong (first {}, last {}), at the first device 0x{:02x} "
                "({}), right 0x{:02x} ({})",
                wrong_places.size(), codes.count(), name(pair.format),
                place_text(pair.numbers.sizes(), wrong_places.front()),
                place_text(pair.numbers.sizes(), wrong_places.back()), first.code,
                number_text(first.device), wanted, number_text(values_of(pair.format)[wanted])),
            cause_of(codes, wrong_places));
  at::Tensor over = at::zeros(pair.numbers.sizes(), at::kDouble);
  auto* marks = over.data_ptr<double>();
  for (const std::int64_t place : wrong_places) marks[place] = std::numeric_limits<double>::max();
  finding.map = error_map(codes.device_numbers(), pair.numbers, over);
  finding.error_over_bound = std::numeric_limits<double>::infinity();
  return finding;
}

constexpr auto kCasts = std::to_array<std::string_view>(
    {"_to_copy", "bfloat16", "copy_", "double", "float", "half", "to", "type", "type_as"});

// What is cast: the first tensor, or of copy_ the second.
at::Tensor cast_from(std::string_view bare_name, const arguments::PyCall& call) {
  const std::size_t place = bare_name == "copy_" ? 1 : 0;
  const auto* tensor = call.args.size() <= place ? nullptr : call.args[place].as<at::Tensor>();
  return tensor == nullptr ? at::Tensor() : *tensor;
}

// Every number has one right place, in the wider dtype too.
StrictFinding judge_widened(const Pair& pair, const at::Tensor& numbers) {
  const at::Tensor device = pair.device.to(at::kDouble);
  const at::Tensor wanted = numbers.to(pair.device.scalar_type()).to(at::kDouble);
  const at::Tensor differ =
      device.ne(wanted).logical_and(device.isnan().logical_and(wanted.isnan()).logical_not());
  if (!differ.any().item<bool>()) return equal("equal: every code is read right");
  const auto first = differ.flatten().to(at::kByte).argmax().item<std::int64_t>();
  const auto count = differ.sum().item<std::int64_t>();
  const at::Tensor bad_device = device.masked_select(differ);
  const at::Tensor bad_wanted = wanted.masked_select(differ);
  const auto all = [&](double factor) {
    return bad_device.eq(bad_wanted * factor).all().item<bool>();
  };
  std::string cause;
  if (all(0.5)) cause = "half of every number (fnuz codes read as fn)";
  if (all(2)) cause = "twice every number (fn codes read as fnuz)";
  if (bad_wanted.isnan().all().item<bool>()) cause = "lost NaN";
  StrictFinding finding =
      wrong(fmt::format("{} of {} codes are read wrong, first at {}: device {}, right {}", count,
                        device.numel(), place_text(device.sizes(), first),
                        number_text(device.flatten()[first].item<double>()),
                        number_text(wanted.flatten()[first].item<double>())),
            cause);
  finding.map = error_map(device, wanted, differ.to(at::kDouble) * 1e300);
  finding.error_over_bound = std::numeric_limits<double>::infinity();
  return finding;
}

// What is beyond the integers of the result's dtype is undefined there.
StrictFinding judge_whole_numbers(const Pair& pair, const at::Tensor& source) {
  const at::Tensor numbers = source.to(at::kDouble);
  const at::Tensor wanted = numbers.trunc();
  const double least = pair.device.scalar_type() == at::kByte ? 0 : -128;
  const at::Tensor defined =
      numbers.isfinite().logical_and(wanted.ge(least)).logical_and(wanted.le(least + 255));
  const at::Tensor differ = pair.device.to(at::kDouble).ne(wanted).logical_and(defined);
  if (!differ.any().item<bool>()) return equal("equal: every number is cut to a whole one");
  const auto first = differ.flatten().to(at::kByte).argmax().item<std::int64_t>();
  StrictFinding finding = wrong(
      fmt::format("{} of {} numbers become another whole number, first at {}: device {}, right {}",
                  differ.sum().item<std::int64_t>(), pair.device.numel(),
                  place_text(pair.device.sizes(), first),
                  number_text(pair.device.flatten()[first].item<double>()),
                  number_text(wanted.flatten()[first].item<double>())));
  finding.error_over_bound = std::numeric_limits<double>::infinity();
  return finding;
}

// What a sum in float32 may be off, of a product of codes; undefined where it is not one.
struct Exact {
  at::Tensor numbers, allowed;
};

std::optional<Exact> exact_product(CallContext& context, const Pair& pair) {
  const auto call = context.rerun.arguments();
  if (!call || pair.direction == Direction::kBackward) return std::nullopt;
  const auto product = forward_product(context.name.bare_name, **call);
  if (!product) return std::nullopt;
  const at::Tensor left = low_precision::numbers_of(product->left);
  const at::Tensor right = low_precision::numbers_of(product->right.all());
  Exact exact{at::matmul(left, right), {}};
  const at::Tensor sizes =
      at::matmul(left.nan_to_num(0, 0, 0).abs(), right.nan_to_num(0, 0, 0).abs());
  if (product->added.defined()) {
    exact.numbers = exact.numbers + low_precision::numbers_of(product->added);
  }
  if (exact.numbers.numel() != pair.device.numel()) return std::nullopt;
  const double terms = static_cast<double>(left.size(-1));
  exact.allowed = (sizes * (std::sqrt(terms) + 4) * kHalfFloatEps).view(pair.device.sizes());
  exact.numbers = exact.numbers.view(pair.device.sizes());
  return exact;
}

StrictFinding judge_code_result(CallContext& context, const Pair& pair, CodeFormat format) {
  const bool pairs = low_precision::is_packed(pair.device.scalar_type());
  CodePair codes{
      .format = format,
      .device = pairs ? low_precision::unpacked(pair.device) : low_precision::bytes_of(pair.device),
      .numbers = low_precision::numbers_of(pair.bench),
      .allowed = {}};
  const bool exact = pair.direction == Direction::kForward && context.traits().exact;
  if (exact) return judge_codes(codes);
  if (const auto product = exact_product(context, pair)) {
    codes.numbers = product->numbers;
    codes.allowed = product->allowed;
    return judge_codes(codes);
  }
  // Computed in float32 and rounded once.
  codes.allowed = codes.numbers.nan_to_num(0, 0, 0).abs() * (16 * kHalfFloatEps);
  return judge_codes(codes);
}

}  // namespace

StrictFinding judge_codes(const CodePair& pair) {
  const Codes codes(pair);
  std::vector<std::int64_t> wrong_places = codes.wrong(Beyond::kAsPyTorch);
  if (wrong_places.empty()) return right_codes(codes);
  if (pair.format == CodeFormat::kE4M3Fn && codes.wrong(Beyond::kNotFinite).empty()) {
    return passed("equal, code by code; what is beyond the range is NaN, as OCP allows");
  }
  return wrong_codes(codes, wrong_places);
}

std::optional<StrictFinding> judge_low_precision(CallContext& context, const Pair& pair) {
  if (auto finding = judge_scaled(context, pair)) return finding;
  const auto format = low_precision::code_format(pair.device.scalar_type());
  const bool cast = std::ranges::find(kCasts, context.name.bare_name) != kCasts.end();
  const auto call = context.rerun.arguments();
  if (cast && call && pair.direction == Direction::kForward) {
    const at::Tensor source = cast_from(context.name.bare_name, **call);
    const bool coded = source.defined() && low_precision::code_format(source.scalar_type());
    const at::ScalarType to = pair.device.scalar_type();
    if (source.defined() && source.is_floating_point() && !coded &&
        source.sizes() == pair.device.sizes() && (to == at::kByte || to == at::kChar)) {
      return judge_whole_numbers(pair, source);
    }
    if (!source.defined() || source.sizes() != pair.device.sizes() || (!coded && !format)) {
      return std::nullopt;
    }
    const at::Tensor numbers = low_precision::numbers_of(source);
    if (!format) return judge_widened(pair, numbers);
    // float64 and integers go through float32 in PyTorch; a device may round once.
    const bool wide = numbers.scalar_type() == source.scalar_type() ||
                      at::isIntegralType(source.scalar_type(), /*includeBool=*/true);
    const at::Tensor twice = wide && !coded ? numbers.abs() * kHalfFloatEps : at::Tensor();
    const at::Tensor codes = low_precision::bytes_of(pair.device);
    const CodePair cast_pair{.format = *format,
                             .device = codes,
                             .numbers = numbers,
                             .allowed = twice,
                             .signs_count = true};
    StrictFinding finding =
        context.options.replay().stochastic_casts && !coded && *format != CodeFormat::kE8M0
            ? judge_stochastic(cast_pair)
            : judge_codes(cast_pair);
    finding.reason += "; " + text(*format, quantisation_of(*format, numbers, codes));
    return finding;
  }
  if (!format || pair.bench.is_complex()) return std::nullopt;
  return judge_code_result(context, pair, *format);
}

}  // namespace msprobe::codes
