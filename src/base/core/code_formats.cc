// SPDX-License-Identifier: Apache-2.0
#include "core/code_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/float_formats.h"

namespace msprobe {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  std::string_view name;
  int bits;
  int mantissa_bits;
  int bias;
  double overflow;  // the least magnitude that rounds beyond the largest number
  std::uint8_t nan;
  bool signed_nan;  // NaN with the sign bit is NaN, too
  bool infinity;
  bool negative_zero;
};

// In the order of the enumerators. Where a format has no NaN, `nan` is its largest number.
constexpr std::array<Row, kCodeFormats> kRows{{
    {"e4m3fn", 8, 3, 7, 464, 0x7f, true, false, true},
    {"e5m2", 8, 2, 15, 61440, 0x7f, true, true, true},
    {"e4m3fnuz", 8, 3, 8, 248, 0x80, false, false, false},
    {"e5m2fnuz", 8, 2, 16, 61440, 0x80, false, false, false},
    {"e8m0", 8, 0, 127, 0x1.8p127, 0xff, false, false, false},
    {"e2m1", 4, 1, 1, 7, 0x7, true, false, true},
    {"e3m2", 6, 2, 3, 30, 0x1f, true, false, true},
    {"e2m3", 6, 3, 1, 7.75, 0x1f, true, false, true},
    {"hifloat8", 8, 0, 0, 40960, 0x80, false, true, false},
}};

const Row& row_of(CodeFormat format) { return kRows[std::to_underlying(format)]; }

bool has_sign(CodeFormat format) { return format != CodeFormat::kE8M0; }

// Sign, exponent, mantissa; codes of one sign grow with their number.
float decode_binary(const Row& row, std::uint8_t code) {
  const unsigned sign = 1U << (row.bits - 1);
  const unsigned rest = code & (sign - 1U);
  const int exponent = static_cast<int>(rest >> row.mantissa_bits);
  const int mantissa = static_cast<int>(rest & ((1U << row.mantissa_bits) - 1U));
  const int lead = exponent == 0 ? 0 : 1 << row.mantissa_bits;
  const int power = std::max(exponent, 1) - row.bias - row.mantissa_bits;
  const float magnitude = std::ldexp(static_cast<float>(lead + mantissa), power);
  return (code & sign) != 0 ? -magnitude : magnitude;
}

float decode_fnuz(const Row& row, std::uint8_t code) {
  return code == row.nan ? static_cast<float>(kNaN) : decode_binary(row, code);
}

float decode_e8m0(std::uint8_t code) {
  return code == 0xff ? static_cast<float>(kNaN) : std::ldexp(1.0F, code - 127);
}

float decode(CodeFormat format, std::uint8_t code) {
  switch (format) {
    case CodeFormat::kE4M3Fn:
      return float8_e4m3fn_to_float(code);
    case CodeFormat::kE5M2:
      return float8_e5m2_to_float(code);
    case CodeFormat::kE4M3Fnuz:
    case CodeFormat::kE5M2Fnuz:
      return decode_fnuz(row_of(format), code);
    case CodeFormat::kE8M0:
      return decode_e8m0(code);
    case CodeFormat::kHiFloat8:
      return hifloat8_to_float(code);
    default:
      return decode_binary(row_of(format), code);
  }
}

// The finite numbers that are not negative, smallest first, and their codes.
struct Ladder {
  std::vector<double> values;
  std::vector<std::uint8_t> codes;
};

Ladder make_ladder(CodeFormat format) {
  std::vector<std::pair<double, std::uint8_t>> numbers;
  const unsigned codes = has_sign(format) ? 1U << (row_of(format).bits - 1) : 256U;
  for (unsigned code = 0; code < codes; ++code) {
    const float value = decode(format, static_cast<std::uint8_t>(code));
    if (std::isfinite(value)) numbers.emplace_back(value, static_cast<std::uint8_t>(code));
  }
  std::ranges::sort(numbers);
  Ladder ladder;
  for (const auto& [value, code] : numbers) {
    ladder.values.push_back(value);
    ladder.codes.push_back(code);
  }
  return ladder;
}

const Ladder& ladder_of(CodeFormat format) {
  static const std::vector<Ladder> kLadders = [] {
    std::vector<Ladder> all;
    for (std::size_t i = 0; i < kCodeFormats; ++i) {
      all.push_back(make_ladder(static_cast<CodeFormat>(i)));
    }
    return all;
  }();
  return kLadders[std::to_underlying(format)];
}

// Whether a tie goes to the upper of two neighbours.
bool tie_goes_up(CodeFormat format, std::size_t lower, std::uint8_t lower_code) {
  if (format == CodeFormat::kHiFloat8) return true;
  // PyTorch's e8m0 rounds every tie up, and all of (2^-127, 2^-126).
  if (format == CodeFormat::kE8M0) return lower != 0;
  return (lower_code & 1U) != 0;
}

// Of a magnitude below the overflow.
std::uint8_t nearest_code(CodeFormat format, double magnitude) {
  const auto& [values, codes] = ladder_of(format);
  const auto above = std::ranges::upper_bound(values, magnitude);
  if (above == values.begin()) return codes.front();
  const auto lower = static_cast<std::size_t>(above - values.begin()) - 1;
  if (lower + 1 == values.size() || values[lower] == magnitude) return codes[lower];
  if (format == CodeFormat::kE8M0 && lower == 0) return codes[1];
  const double down = magnitude - values[lower];
  const double up = values[lower + 1] - magnitude;
  const bool upward = up < down || (up == down && tie_goes_up(format, lower, codes[lower]));
  return codes[upward ? lower + 1 : lower];
}

std::uint8_t code_beyond(CodeFormat format, Beyond beyond) {
  const Row& row = row_of(format);
  constexpr CodeFormat kSaturating[] = {CodeFormat::kE4M3Fn, CodeFormat::kE2M1, CodeFormat::kE3M2,
                                        CodeFormat::kE2M3};
  const bool saturates = beyond == Beyond::kSaturates ||
                         (beyond == Beyond::kAsPyTorch &&
                          std::ranges::find(kSaturating, format) != std::end(kSaturating));
  if (saturates) return ladder_of(format).codes.back();
  if (format == CodeFormat::kE5M2) return 0x7c;
  return format == CodeFormat::kHiFloat8 ? 0x6f : row.nan;
}

}  // namespace

std::string_view name(CodeFormat format) { return row_of(format).name; }
int bits(CodeFormat format) { return row_of(format).bits; }
double largest(CodeFormat format) { return ladder_of(format).values.back(); }

const std::array<float, 256>& values_of(CodeFormat format) {
  static const auto kTables = [] {
    std::array<std::array<float, 256>, kCodeFormats> tables{};
    for (std::size_t i = 0; i < kCodeFormats; ++i) {
      for (unsigned code = 0; code < 256; ++code) {
        const unsigned mask = (1U << kRows[i].bits) - 1U;
        tables[i][code] =
            decode(static_cast<CodeFormat>(i), static_cast<std::uint8_t>(code & mask));
      }
    }
    return tables;
  }();
  return kTables[std::to_underlying(format)];
}

std::uint8_t encode(CodeFormat format, double value, Beyond beyond) {
  const Row& row = row_of(format);
  const auto sign = static_cast<std::uint8_t>(1U << (row.bits - 1));
  const bool negative = has_sign(format) && std::signbit(value);
  const auto with_sign = [&](std::uint8_t code) {
    return static_cast<std::uint8_t>(negative ? code | sign : code);
  };
  if (std::isnan(value)) return row.signed_nan ? with_sign(row.nan) : row.nan;
  const double magnitude = std::abs(value);
  const std::uint8_t code =
      magnitude >= row.overflow ? code_beyond(format, beyond) : nearest_code(format, magnitude);
  if (code == row.nan && !row.signed_nan) return code;
  if (code == 0 && !row.negative_zero) return code;
  return with_sign(code);
}

CodeNeighbours neighbours(CodeFormat format, double value) {
  const std::vector<double>& values = ladder_of(format).values;
  const double magnitude = std::min(std::abs(value), values.back());
  const auto above = std::ranges::upper_bound(values, magnitude);
  const double lower = above == values.begin() ? values.front() : *(above - 1);
  const double upper = lower == magnitude || above == values.end() ? lower : *above;
  if (has_sign(format) && std::signbit(value)) return {-upper, -lower};
  return {lower, upper};
}

std::optional<CodeFormat> code_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3:
      return CodeFormat::kE4M3Fn;
    case DType::kFloat8E5M2:
      return CodeFormat::kE5M2;
    case DType::kFloat8E4M3Fnuz:
      return CodeFormat::kE4M3Fnuz;
    case DType::kFloat8E5M2Fnuz:
      return CodeFormat::kE5M2Fnuz;
    case DType::kFloat8E8M0:
      return CodeFormat::kE8M0;
    case DType::kFloat4E2M1x2:
      return CodeFormat::kE2M1;
    case DType::kHiFloat8:
      return CodeFormat::kHiFloat8;
    default:
      return std::nullopt;
  }
}

}  // namespace msprobe
