// SPDX-License-Identifier: Apache-2.0
#include "tables/number_text.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace msprobe::tables {
namespace {

using Kind = documented::Cell::Kind;

std::string shown(Kind kind, double value, int precision = kDefaultPrecision) {
  std::string out;
  append_number(out, {kind, value}, precision);
  return out;
}

TEST(AppendNumber, DoublesHaveFixedDecimals) {
  EXPECT_EQ(shown(Kind::kDouble, 0.999999706109664), "0.99999970610966");
  EXPECT_EQ(shown(Kind::kDouble, 100.0000000000141), "100.00000000001410");
  EXPECT_EQ(shown(Kind::kDouble, 1e-20), "0.00000000000000");
  EXPECT_EQ(shown(Kind::kDouble, 0.5, 3), "0.500");
  EXPECT_EQ(shown(Kind::kDouble, 2.5, 0), "2");
  EXPECT_EQ(shown(Kind::kDouble, std::nan("")), "nan");
  EXPECT_EQ(shown(Kind::kDouble, -std::nan("")), "nan");
  EXPECT_EQ(shown(Kind::kDouble, -std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(shown(Kind::kDouble, std::numeric_limits<double>::max(), 20).size(), 330U);
}

TEST(AppendNumber, IntegersAreBareAndBlanksOneSpace) {
  EXPECT_EQ(shown(Kind::kInteger, 0), "0");
  EXPECT_EQ(shown(Kind::kInteger, 255), "255");
  EXPECT_EQ(shown(Kind::kBlank, 3), " ");
}

struct Sample {
  double value;
  const char* text;
};

// Texts of NumPy 1.24, as far as golden files of the public tool hold such numbers.
TEST(AppendNumber, SinglesAreShortestAsNumpyPrintsThem) {
  constexpr Sample kSamples[] = {
      {0.0, "0.0"},
      {1.0, "1.0"},
      {0.10000000149011612, "0.1"},
      {9.999999747378752e-05, "1e-04"},
      {9.999900066759437e-05, "9.9999e-05"},
      {1.1920928955078125e-07, "1.1920929e-07"},
      {0.0009765625, "0.0009765625"},
      {0.0002429485321044922, "0.00024294853"},
      {114797.9765625, "114797.98"},
      {120388.9921875, "120388.99"},
      {1.0000000272564224e+16, "1e+16"},
      {3.3999999521443642e+38, "3.4e+38"},
      {1.401298464324817e-45, "1e-45"},
      {-2.499999936844688e-05, "-2.5e-05"},
      {100.0, "100.0"},
  };
  for (const Sample& sample : kSamples) {
    EXPECT_EQ(shown(Kind::kSingle, sample.value), sample.text);
  }
  EXPECT_EQ(shown(Kind::kSingle, std::nan("")), "nan");
  EXPECT_EQ(shown(Kind::kSingle, std::numeric_limits<double>::infinity()), "inf");
}

TEST(AppendNumber, HalvesAreShorterStill) {
  constexpr Sample kSamples[] = {
      {0.005859375, "0.00586"},
      {0.0038433074951171875, "0.003843"},
      {0.0007805824279785156, "0.0007806"},
      {5.960464477539063e-08, "6e-08"},
      {0.00010001659393310547, "0.0001"},
      {0.333251953125, "0.3333"},
      {100.0, "100.0"},
  };
  for (const Sample& sample : kSamples) {
    EXPECT_EQ(shown(Kind::kHalf, sample.value), sample.text);
  }
}

TEST(ParseNumber, TakesWhatWritersWrite) {
  EXPECT_EQ(parse_number(" 0.5 "), 0.5);
  EXPECT_EQ(parse_number("1.1920929e-07"), 1.1920929e-07);
  EXPECT_EQ(parse_number("+3"), 3.0);
  EXPECT_TRUE(std::isnan(*parse_number("nan")));
  EXPECT_EQ(parse_number("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_number("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_number("1e-999"), 0.0);
}

TEST(ParseNumber, RefusesTheRest) {
  for (const char* const text : {"", " ", "abc", "1,5", "0.5x", "+-1", "=1", "0x10"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

}  // namespace
}  // namespace msprobe::tables
