// SPDX-License-Identifier: Apache-2.0
#include "identify/reductions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/float_formats.h"
#include "identify/lines.h"
#include "identify/numbers.h"

namespace msprobe::identify {
namespace {

using card::Confidence;

// One operation on rows of numbers; empty: the device cannot.
class Asker {
 public:
  Asker(const Compute& compute, DType dtype) : compute_(compute), dtype_(dtype) {}

  std::vector<double> rows(const char* name, std::int64_t length,
                           const std::vector<double>& values) const {
    const auto count = static_cast<std::int64_t>(values.size()) / length;
    return ask({name, {make_numbers(dtype_, {count, length}, values)}});
  }
  // One batch and head: query, key, value of `width` numbers each, then a mask.
  std::vector<double> attend(const char* name, std::int64_t width,
                             const std::vector<std::vector<double>>& inputs) const {
    Operation operation{name, {}};
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      const auto size = static_cast<std::int64_t>(inputs[at].size());
      const std::int64_t columns =
          at < 3 ? width : static_cast<std::int64_t>(inputs[1].size()) / width;
      operation.inputs.push_back(make_numbers(dtype_, {1, 1, size / columns, columns}, inputs[at]));
    }
    return ask(operation);
  }
  DType dtype() const { return dtype_; }
  const std::string& failure() const { return failure_; }

 private:
  std::vector<double> ask(const Operation& operation) const {
    const Result<Numbers> out = compute_(operation);
    if (!out) failure_ = out.error().message;
    return out ? values_of(*out) : std::vector<double>();
  }
  const Compute& compute_;
  DType dtype_;
  mutable std::string failure_ = "the device returned nothing";
};

std::string accumulator_of(int bits) {
  if (bits >= 52) return "float64";
  if (bits >= 23) return bits == 23 ? "float32" : "wider than float32";
  if (bits == 10) return "float16";
  return bits == 7 ? "bfloat16" : fmt::format("{} bits", bits);
}

// 1, 2^-k and -1 among zeros, at several places: how small 2^-k may be and still come out. Two of
// the three meet first; if they are 1 and -1, nothing is lost, so the fewest bits count.
void add_sum_width(const Asker& asker, const char* operation, double scale, Lines& lines) {
  constexpr std::int64_t kLength = 512;
  constexpr int kMost = 60;
  constexpr std::int64_t kPlaces[][3] = {
      {0, 1, 2}, {0, 100, 300}, {3, 511, 7}, {510, 2, 250}, {17, 400, 33}};
  const FloatParts format = format_of(asker.dtype());
  // 2^-k must be a number of the dtype; float16 ends at 2^-24, so its sums start larger.
  const int top = std::min(14, std::ilogb(format.largest) - 1);
  const int most = std::min(kMost, top - (format.least_exponent - format.fraction_bits));
  std::string field = fmt::format("{} accumulator", operation);
  std::vector<double> values;
  for (const auto& places : kPlaces) {
    for (int bits = 1; bits <= most; ++bits) {
      std::vector<double> row(kLength, 0.0);
      row[static_cast<std::size_t>(places[0])] = std::ldexp(1.0, top);
      row[static_cast<std::size_t>(places[1])] = std::ldexp(1.0, top - bits);
      row[static_cast<std::size_t>(places[2])] = -std::ldexp(1.0, top);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  const std::vector<double> out = asker.rows(operation, kLength, values);
  if (out.size() < std::size(kPlaces) * static_cast<std::size_t>(most)) {
    return lines.cannot_tell(std::move(field), asker.failure());
  }
  int fewest = most;
  std::string unclear;
  for (std::size_t place = 0; place < std::size(kPlaces); ++place) {
    for (int bits = 1; bits <= most; ++bits) {
      const double got =
          out[place * static_cast<std::size_t>(most) + static_cast<std::size_t>(bits - 1)];
      const double wanted = std::ldexp(1.0, top - bits) * scale;
      if (got == round_to(asker.dtype(), wanted) && got != 0) continue;
      // Too small for the result itself.
      if (wanted < unit_at(asker.dtype(), 0)) break;
      if (got == 0 && wanted < std::ldexp(1.0, format.least_exponent)) {
        unclear = fmt::format(
            "2^{0} + 2^{1} - 2^{0} gives 0: it was lost, or such a small result is flushed to zero",
            top, top - bits);
        break;
      }
      fewest = std::min(fewest, bits - 1);
      break;
    }
  }
  const std::string evidence =
      fmt::format("2^{0} + 2^{1} - 2^{0} is not lost at 5 places in {2} terms, a smaller one is",
                  top, top - fewest, kLength);
  if (fewest == most && !unclear.empty()) {
    return lines.cannot_tell(std::move(field), std::move(unclear));
  }
  if (fewest == most) {
    return lines.know(std::move(field), fmt::format("at least {} bits", most),
                      fmt::format("2^{0} + 2^{1} - 2^{0} is not lost", top, top - most));
  }
  lines.know(std::move(field), accumulator_of(fewest), evidence);
}

bool near(double one, double other, double tolerance) {
  return std::abs(one - other) <= tolerance * std::abs(other);
}

// Many equal terms: a sum in few bits stops growing.
void add_softmax(const Asker& asker, Lines& lines) {
  constexpr std::int64_t kLength = 1 << 13;  // so that each is a normal number of float16
  const std::vector<double> equal = asker.rows("softmax", kLength, std::vector<double>(kLength));
  if (equal.empty()) return lines.cannot_tell("softmax accumulator", asker.failure());
  const double sum = 1 / equal[0];
  const std::string seen = fmt::format("{} equal terms: each is 1 / {:.6g}", kLength, sum);
  if (near(sum, kLength, 0.02)) {
    lines.know("softmax accumulator", "wider than 11 bits", seen);
  } else {
    lines.know("softmax accumulator", "few bits", seen, Confidence::kMedium);
  }
  const double large = asker.dtype() == DType::kFloat16 ? 60000 : 1e30;
  const std::vector<double> top = asker.rows("softmax", 2, {large, large});
  const std::string evidence =
      top.empty() ? "" : fmt::format("({:g}, {:g}) gives {:g}", large, large, top[0]);
  lines.know("softmax subtracts the maximum", !top.empty() && top[0] == 0.5 ? "yes" : "no",
             evidence);
  const std::vector<double> masked = asker.rows("softmax", 3, {0, -kInfinity, 0});
  lines.know("softmax of -inf", masked.size() == 3 && masked[1] == 0 ? "zero" : "not zero",
             masked.empty() ? "" : fmt::format("(0, -inf, 0) gives {:g} there", masked[1]));
  const std::vector<double> nothing = asker.rows("softmax", 2, {-kInfinity, -kInfinity});
  if (nothing.empty()) return lines.cannot_tell("softmax of all -inf", asker.failure());
  lines.know("softmax of all -inf",
             std::isnan(nothing[0]) ? "NaN" : fmt::format("{:g}", nothing[0]), "(-inf, -inf)");
}

// Numbers far from zero, close to each other: the difference of the mean of squares and the square
// of the mean loses all digits, the mean of squared differences does not.
void add_layer_norm(const Asker& asker, Lines& lines) {
  constexpr std::int64_t kLength = 256;
  // Numbers of the dtype whose squares need more than 24 bits.
  const double unit = unit_at(asker.dtype(), 4096);
  const double base = asker.dtype() == DType::kFloat32 ? 16384 : 4096;
  const double step = asker.dtype() == DType::kFloat32 ? 1.0 / 64 : unit;
  std::vector<double> row;
  for (std::int64_t at = 0; at < kLength; ++at) row.push_back(base + (at % 2 == 0 ? step : -step));
  // For narrow dtypes the step is so large that float32 sums of squares lose little.
  const std::vector<double> out = asker.rows("layer_norm", kLength, row);
  if (out.empty()) return lines.cannot_tell("layer_norm passes", asker.failure());
  const std::string evidence =
      fmt::format("{:g} +- {:g}, {} of them: gives {:g} instead of {:g}", base, step, kLength,
                  out[0], step / std::sqrt(step * step + 1e-5));
  const double exact = step / std::sqrt(step * step + 1e-5);
  if (asker.dtype() != DType::kFloat32) {
    return lines.cannot_tell("layer_norm passes",
                             "numbers of 16 bits are too coarse to tell; " + evidence);
  }
  if (near(out[0], exact, 1e-3)) {
    lines.know("layer_norm passes", "two", evidence);
  } else if (std::isnan(out[0]) || !near(out[0], exact, 0.1)) {
    lines.know("layer_norm passes", "one", evidence);
  } else {
    lines.cannot_tell("layer_norm passes", evidence);
  }
}

void add_attention(const Asker& asker, Lines& lines) {
  constexpr std::int64_t kWidth = 8;
  const auto filled = [](std::int64_t count, double value) {
    return std::vector<double>(static_cast<std::size_t>(count * kWidth), value);
  };
  // Values 1, 2, 3 and equal weights.
  std::vector<double> values;
  for (const double value : {1.0, 2.0, 3.0}) values.insert(values.end(), kWidth, value);
  const std::vector<double> masked =
      asker.attend("attention", kWidth, {filled(1, 1), filled(3, 1), values, {0, 0, -kInfinity}});
  if (masked.empty()) return lines.cannot_tell("attention mask", asker.failure());
  lines.know("attention mask of -inf", near(masked[0], 1.5, 0.01) ? "left out" : "counts",
             fmt::format("values 1, 2, 3, the last masked: {:g}", masked[0]));
  const std::vector<double> nothing =
      asker.attend("attention", kWidth,
                   {filled(1, 1), filled(3, 1), values, {-kInfinity, -kInfinity, -kInfinity}});
  lines.know("attention, everything masked",
             nothing.empty() || std::isnan(nothing[0]) ? "NaN" : fmt::format("{:g}", nothing[0]),
             "values 1, 2, 3, all masked");
  // Two queries, three keys: which of them does the first one see?
  const std::vector<double> causal =
      asker.attend("causal_attention", kWidth, {filled(2, 1), filled(3, 1), values});
  if (!causal.empty()) {
    const bool first = near(causal[0], 1, 0.01);
    const bool last = near(causal[0], 1.5, 0.01);
    const std::string evidence =
        fmt::format("2 queries, values 1, 2, 3: the first query gives {:g}", causal[0]);
    if (first || last) {
      lines.know("causal mask begins at", first ? "the first key" : "the last key", evidence);
    } else {
      lines.cannot_tell("causal mask begins at", evidence);
    }
  }
  // Scores that only a shifted exponential survives.
  const double score = asker.dtype() == DType::kFloat16 ? 100 : 1e4;
  const std::vector<double> large =
      asker.attend("attention", kWidth, {filled(1, score), filled(3, score), values});
  if (large.empty()) return;
  lines.know("attention subtracts the maximum", near(large[0], 2, 0.01) ? "yes" : "no",
             fmt::format("equal scores of {:.3g}: {:g} instead of 2",
                         score * score * std::sqrt(static_cast<double>(kWidth)), large[0]));
}

}  // namespace

std::vector<card::Line> describe_reductions(const Compute& compute, DType dtype) {
  Lines lines("reductions", std::string(name(dtype)));
  const Asker asker(compute, dtype);
  add_sum_width(asker, "sum", 1, lines);
  add_sum_width(asker, "mean", 1.0 / 512, lines);
  add_softmax(asker, lines);
  add_layer_norm(asker, lines);
  add_attention(asker, lines);
  return lines.take();
}

}  // namespace msprobe::identify
