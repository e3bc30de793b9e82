// SPDX-License-Identifier: Apache-2.0
#include "dump/json_scalar.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace msprobe::dump {
namespace {

using Kind = JsonScalar::Kind;

TEST(JsonScalar, ReadsWords) {
  EXPECT_EQ(read_json_scalar("null").kind, Kind::kNull);
  EXPECT_EQ(read_json_scalar("true").integer, 1);
  EXPECT_EQ(read_json_scalar("false").integer, 0);
  EXPECT_TRUE(std::isnan(read_json_scalar("NaN").real));
  EXPECT_EQ(read_json_scalar("Infinity").real, HUGE_VAL);
  EXPECT_EQ(read_json_scalar("-Infinity").real, -HUGE_VAL);
}

TEST(JsonScalar, ReadsIntegersOfAllSizes) {
  EXPECT_EQ(read_json_scalar("0").integer, 0);
  EXPECT_EQ(read_json_scalar("-0").integer, 0);
  EXPECT_EQ(read_json_scalar("12345678901234567").integer, 12345678901234567);
  EXPECT_EQ(read_json_scalar("9223372036854775807").integer, INT64_MAX);
  EXPECT_EQ(read_json_scalar("-9223372036854775808").integer, INT64_MIN);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "18446744073709551616",
                           "99999999999999999999", "-123456789012345678901234567890"}) {
    const JsonScalar big = read_json_scalar(text);
    EXPECT_EQ(big.kind, Kind::kBigInteger) << text;
    EXPECT_EQ(big.real, std::strtod(text, nullptr)) << text;
  }
}

TEST(JsonScalar, RefusesWhatJsonHasNot) {
  for (const char* text : {"",     "-",         "+1",       "01",        "-01",
                           "1.",   ".5",        "-.5",      "1.e5",      "1e",
                           "1e+",  "1e5.",      "1.5x",     "12345678x", "1234567890123456x",
                           "0x1",  "1_0",       "nan",      "inf",       "NaNx",
                           "-NaN", "Infinityx", "-Infinit", "nulll",     "True",
                           "1 2"}) {
    EXPECT_EQ(read_json_scalar(text).kind, Kind::kInvalid) << text;
  }
}

void expect_exact(const std::string& text) {
  const JsonScalar scalar = read_json_scalar(text);
  ASSERT_EQ(scalar.kind, Kind::kReal) << text;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(scalar.real),
            std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
      << text;
}

TEST(JsonScalar, RealsAreTheNearestDoubles) {
  for (const char* text :
       {"0.0", "-0.0", "0.1", "1e5", "1E-5", "1.5e+300", "1e400", "-1e400", "1e-400", "4.9e-324",
        "9007199254740993.0", "9007199254740992.5", "0.0000000000000000000001", "1.0e0",
        "123456789012345678901234567890.5", "0.12345678901234567890123456789",
        "2.2250738585072011e-308", "12345678.12345678", "99999999.99999999"}) {
    expect_exact(text);
  }
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 200000; ++i) {
    expect_exact(fmt::format("{:.1f}", normal(random) * 1e6));
    const double single = static_cast<float>(normal(random));
    expect_exact(fmt::format("{:.17g}.0", std::round(single * 1e4)));
    const auto any = std::bit_cast<double>(random());
    if (std::isfinite(any)) expect_exact(fmt::format("{:.16e}", any));
    expect_exact(fmt::format("{}.{}", random() % 1000, random()));
  }
}

TEST(JsonScalar, ReplacesEscapes) {
  std::string text;
  EXPECT_TRUE(append_unescaped(R"(a\"\\\/\b\f\n\r\tz\u0041\u00e9\u20ac\ud83d\ude00)", text));
  EXPECT_EQ(text, "a\"\\/\b\f\n\r\tzAé€😀");
  for (const char* bad : {"\\", "\\x", "\\u", "\\u12", "\\u12g4", "\\ud800", "\\ud800x",
                          "\\ud800\\n", "\\ud800\\u0041", "\\udc00", "\\u-123"}) {
    std::string out;
    EXPECT_FALSE(append_unescaped(bad, out)) << bad;
  }
}

}  // namespace
}  // namespace msprobe::dump
