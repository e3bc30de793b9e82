// SPDX-License-Identifier: Apache-2.0
// The lines of cards of small devices whose arithmetic is known.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/float_formats.h"
#include "identify/casts.h"
#include "identify/functions.h"
#include "identify/numbers.h"
#include "identify/products.h"
#include "identify/reductions.h"

namespace msprobe::identify {
namespace {

std::string value_of(const std::vector<card::Line>& lines, std::string_view field) {
  for (const card::Line& line : lines) {
    if (line.field == field) return line.value.empty() ? "cannot tell" : line.value;
  }
  return "no such line";
}

const ReferenceFunction& function(std::string_view name) {
  for (const ReferenceFunction& row : reference_functions()) {
    if (row.name == name) return row;
  }
  throw std::logic_error("no such function");
}

TEST(ReferenceFunction, RoundsOnce) {
  using enum DType;
  EXPECT_EQ(correctly_rounded(function("exp"), kFloat32, 0), 1);
  EXPECT_EQ(correctly_rounded(function("exp"), kFloat32, 1), static_cast<double>(2.7182817F));
  EXPECT_EQ(correctly_rounded(function("exp"), kFloat16, 11.0859375), 65248);
  EXPECT_EQ(correctly_rounded(function("exp"), kFloat16, 11.1015625), kInfinity);
  EXPECT_TRUE(std::isnan(correctly_rounded(function("log"), kFloat32, -1)));
  EXPECT_EQ(correctly_rounded(function("log"), kFloat32, 0), -kInfinity);
  // Exactly in the middle between two numbers: the even one.
  EXPECT_EQ(correctly_rounded(function("sqrt"), kBFloat16, 0x1.04p0 * 0x1.04p0), 0x1.04p0);
  EXPECT_EQ(correctly_rounded(function("exp2"), kBFloat16, -134), 0);
  EXPECT_EQ(correctly_rounded(function("exp2"), kBFloat16, -133), 0x1p-133);
  EXPECT_EQ(correctly_rounded(function("sin"), kFloat32, static_cast<double>(3.14159274F)),
            static_cast<double>(-8.74227766e-08F));
  EXPECT_EQ(correctly_rounded(function("gelu"), kFloat32, 0), 0);
}

// Gives results that are correctly rounded, and then `spoil` of them.
Compute functions_with(double (*spoil)(DType dtype, double result)) {
  return [spoil](const Operation& operation) -> Result<Numbers> {
    const Numbers& in = operation.inputs.front();
    std::vector<double> out;
    for (const double x : values_of(in)) {
      out.push_back(spoil(in.dtype, correctly_rounded(function(operation.name), in.dtype, x)));
    }
    return make_numbers(in.dtype, in.shape, out);
  };
}

card::Card exp_card(double (*spoil)(DType dtype, double result)) {
  card::Card card;
  describe_function(functions_with(spoil), function("exp"), DType::kBFloat16,
                    function_inputs(DType::kBFloat16), card);
  return card;
}

TEST(Functions, OfAnExactDeviceAreCorrectlyRounded) {
  const card::Card card = exp_card([](DType, double result) { return result; });
  EXPECT_EQ(value_of(card.lines, "correctly rounded"), "100 %");
  EXPECT_EQ(value_of(card.lines, "largest error"), "0.5 ulp");
  EXPECT_EQ(value_of(card.lines, "monotonic"), "yes");
  EXPECT_EQ(value_of(card.lines, "infinities and NaN"), "right");
  EXPECT_EQ(value_of(card.lines, "subnormals"), "kept");
  ASSERT_EQ(card.curves.size(), 1U);
  EXPECT_LE(std::ranges::max(card.curves[0].largest), 0.5);
}

TEST(Functions, ShowWhatIsSpoiled) {
  const card::Card off = exp_card([](DType dtype, double result) {
    return result > 1.4 && result < 1.5 ? result + 16 * unit_at(dtype, result) : result;
  });
  EXPECT_EQ(value_of(off.lines, "largest error"), "16.5 ulp");
  EXPECT_EQ(value_of(off.lines, "monotonic"), "no");
  const card::Card flushed =
      exp_card([](DType, double result) { return std::abs(result) < 0x1p-126 ? 0 : result; });
  EXPECT_EQ(value_of(flushed.lines, "subnormals"), "flushed to zero");
  EXPECT_EQ(value_of(flushed.lines, "correctly rounded"), "100 %");
  const card::Card finite = exp_card([](DType dtype, double result) {
    return std::isinf(result) ? format_of(dtype).largest : result;
  });
  EXPECT_EQ(value_of(finite.lines, "infinities and NaN"), "wrong");
}

// The logarithm of a subnormal number is then that of zero: here the largest number, not infinity.
TEST(Functions, ShowFlushedInputs) {
  const Compute device = [](const Operation& operation) -> Result<Numbers> {
    const Numbers& in = operation.inputs.front();
    std::vector<double> out;
    for (const double x : values_of(in)) {
      const double result =
          correctly_rounded(function("log"), in.dtype, std::abs(x) < 0x1p-126 ? 0 : x);
      out.push_back(std::isinf(result) ? std::copysign(format_of(in.dtype).largest, result)
                                       : result);
    }
    return make_numbers(in.dtype, in.shape, out);
  };
  card::Card card;
  describe_function(device, function("log"), DType::kBFloat16, function_inputs(DType::kBFloat16),
                    card);
  EXPECT_EQ(value_of(card.lines, "subnormals"), "flushed to zero");
  EXPECT_EQ(value_of(card.lines, "infinities and NaN"), "wrong");
}

TEST(Functions, OfADeviceThatCannotAreUnknown) {
  card::Card card;
  const Compute broken = [](const Operation&) -> Result<Numbers> {
    return fail(ErrorKind::kExecution, "not on this device");
  };
  describe_function(broken, function("exp"), DType::kFloat16, {0, 1}, card);
  ASSERT_EQ(card.lines.size(), 1U);
  EXPECT_EQ(card.lines[0].confidence, card::Confidence::kNone);
  EXPECT_EQ(card.lines[0].evidence, "not on this device");
}

Compute casts_with(double (*convert)(DType to, double value)) {
  return [convert](const Operation& operation) -> Result<Numbers> {
    std::vector<double> out;
    for (const double value : values_of(operation.inputs.front())) {
      out.push_back(convert(operation.result, value));
    }
    return make_numbers(operation.result, operation.inputs.front().shape, out);
  };
}

TEST(Casts, ToNearestWithInfinities) {
  const auto lines = describe_cast(casts_with([](DType, double value) { return value; }),
                                   {DType::kFloat32, DType::kFloat16});
  EXPECT_EQ(value_of(lines, "rounding"), "to nearest, ties to even");
  EXPECT_EQ(value_of(lines, "overflow"), "infinity");
  EXPECT_EQ(value_of(lines, "NaN"), "kept");
  EXPECT_EQ(value_of(lines, "-0"), "kept");
  EXPECT_EQ(value_of(lines, "subnormal results"), "kept");
}

TEST(Casts, CutSaturateAndFlush) {
  const auto lines = describe_cast(casts_with([](DType to, double value) {
                                     if (std::isnan(value)) return value;
                                     const double most = format_of(to).largest;
                                     if (std::abs(value) > most) return std::copysign(most, value);
                                     if (std::abs(value) < 0x1p-14) return 0.0;
                                     const double unit = unit_at(to, value);
                                     return std::trunc(value / unit) * unit;
                                   }),
                                   {DType::kFloat32, DType::kFloat16});
  EXPECT_EQ(value_of(lines, "rounding"), "toward zero");
  EXPECT_EQ(value_of(lines, "overflow"), "largest number");
  EXPECT_EQ(value_of(lines, "infinity"), "largest number");
  EXPECT_EQ(value_of(lines, "-0"), "+0");
  EXPECT_EQ(value_of(lines, "subnormal results"), "flushed to zero");
}

// float8_e4m3fn has no infinities. Here what is too large becomes NaN; PyTorch 2.13 saturates.
TEST(Casts, ToFloat8) {
  const Compute device = [](const Operation& operation) -> Result<Numbers> {
    Numbers out{operation.result, operation.inputs.front().shape, {}};
    for (const double value : values_of(operation.inputs.front())) {
      int nearest = std::isnan(value) || std::abs(value) > 464 ? 0x7f : 0;
      for (int bits = 1; nearest != 0x7f && bits < 0x7f; ++bits) {
        const auto apart = [&](int of) {
          const float number = float8_e4m3fn_to_float(static_cast<std::uint8_t>(of));
          return std::abs(static_cast<double>(number) - std::abs(value));
        };
        const bool even = apart(bits) == apart(nearest) && bits % 2 == 0;
        if (apart(bits) < apart(nearest) || even) nearest = bits;
      }
      out.bytes += static_cast<char>(nearest | (std::signbit(value) ? 0x80 : 0));
    }
    return out;
  };
  const auto lines = describe_cast(device, {DType::kFloat32, DType::kFloat8E4M3});
  EXPECT_EQ(value_of(lines, "rounding"), "to nearest, ties to even");
  EXPECT_EQ(value_of(lines, "overflow"), "NaN");
  EXPECT_EQ(value_of(lines, "infinity"), "NaN");
  EXPECT_EQ(value_of(lines, "-0"), "kept");
  EXPECT_EQ(value_of(lines, "subnormal results"), "kept");
}

TEST(Casts, ToWholeNumbers) {
  const auto lines = describe_cast(casts_with([](DType, double value) {
                                     if (std::isnan(value)) return 0.0;
                                     return std::trunc(std::clamp(value, -128.0, 127.0));
                                   }),
                                   {DType::kFloat32, DType::kInt8});
  EXPECT_EQ(value_of(lines, "rounding"), "toward zero");
  EXPECT_EQ(value_of(lines, "too large"), "largest number");
  EXPECT_EQ(value_of(lines, "too small"), "least number");
  EXPECT_EQ(value_of(lines, "NaN"), "zero");
}

// Sums in order, rounded to `kept` after each term; softmax of equal terms in the same way.
Compute sums_in(DType kept) {
  return [kept](const Operation& operation) -> Result<Numbers> {
    if (operation.name != "sum" && operation.name != "softmax") {
      return fail(ErrorKind::kExecution, "not on this device");
    }
    const Numbers& in = operation.inputs.front();
    const std::vector<double> values = values_of(in);
    std::vector<double> out;
    const auto length = static_cast<std::size_t>(in.shape[1]);
    for (std::size_t row = 0; row < values.size() / length; ++row) {
      double sum = 0;
      for (std::size_t at = 0; at < length; ++at) {
        const double term = values[row * length + at];
        sum = round_to(kept, sum + (operation.name == "sum" ? term : std::exp(term)));
      }
      if (operation.name == "sum") out.push_back(sum);
      for (std::size_t at = 0; operation.name == "softmax" && at < length; ++at) {
        out.push_back(std::exp(values[row * length + at]) / sum);
      }
    }
    return make_numbers(in.dtype, {static_cast<std::int64_t>(out.size())}, out);
  };
}

TEST(Reductions, ShowTheWidthOfSums) {
  using enum DType;
  for (const DType dtype : {kFloat32, kFloat16, kBFloat16}) {
    const auto wide = describe_reductions(sums_in(kFloat32), dtype);
    EXPECT_EQ(value_of(wide, "sum accumulator"), "float32") << name(dtype);
    EXPECT_EQ(value_of(wide, "softmax accumulator"), "wider than 11 bits");
    EXPECT_EQ(value_of(wide, "softmax subtracts the maximum"), "no");
    EXPECT_EQ(value_of(wide, "mean accumulator"), "cannot tell");
  }
  const auto half = describe_reductions(sums_in(kFloat16), kFloat16);
  EXPECT_EQ(value_of(half, "sum accumulator"), "float16");
  EXPECT_EQ(value_of(half, "softmax accumulator"), "few bits");
  EXPECT_EQ(value_of(describe_reductions(sums_in(kBFloat16), kBFloat16), "sum accumulator"),
            "bfloat16");
}

TEST(Products, OfADeviceThatCannotAreUnknown) {
  const auto lines = describe_products(
      [](const Operation&) -> Result<Numbers> { return fail(ErrorKind::kExecution, "no matmul"); },
      DType::kFloat16);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].evidence, "no matmul");
}

}  // namespace
}  // namespace msprobe::identify
