// SPDX-License-Identifier: Apache-2.0
#include "card/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::card {
namespace {

using ::testing::ElementsAre;

Line line_of(const char* section, const char* subject, const char* field, const char* value) {
  return {section, subject, field, value, Confidence::kHigh, ""};
}

TEST(CardSummary, AGoodDeviceNeedsNoLook) {
  Card card;
  card.lines = {line_of("products", "float32", "accumulator", "float32"),
                line_of("products", "float32", "input rounding", "as_they_are"),
                line_of("products", "float16", "accumulator", "float32"),
                line_of("casts", "float32 to float16", "rounding", "to nearest, ties to even"),
                line_of("casts", "float32 to int32", "rounding", "toward zero"),
                line_of("functions", "exp float32", "largest error", "0.55 ulp")};
  EXPECT_THAT(summary(card),
              ElementsAre("Matrix products are added up as follows. float32, float16: in float32.",
                          "Casts round to nearest, with ties to even, and keep subnormal numbers.",
                          "All 1 functions are within 4 ulp of the exact value."));
}

TEST(CardSummary, NamesWhatDeservesALook) {
  Card card;
  card.lines = {line_of("products", "float32", "input rounding", "tf32"),
                line_of("casts", "float32 to float16", "rounding", "toward zero"),
                line_of("casts", "float32 to float16", "subnormal results", "flushed to zero"),
                line_of("functions", "exp float16", "largest error", "0.5 ulp"),
                line_of("functions", "tanh float16", "largest error", "16.5 ulp"),
                line_of("functions", "gelu float16", "largest error", "255 ulp"),
                line_of("functions", "sinh float16", "infinities and NaN", "wrong"),
                line_of("functions", "sinh float16", "largest error", "1 ulp")};
  EXPECT_THAT(
      summary(card),
      ElementsAre("Matrix products are added up as follows. float32: in a way that could not be "
                  "found after their inputs are rounded to tf32.",
                  "Look at the casts: float32 to float16 rounds toward zero; float32 to float16: "
                  "subnormal results flushed to zero.",
                  "Look at 3 of 4 functions, which are off by more than 4 ulp or wrong at infinity "
                  "or NaN: gelu float16 (255 ulp), tanh float16 (16.5 ulp), sinh float16 (1 ulp, "
                  "wrong at infinity or NaN)."));
}

TEST(CardSummary, ASectionThatIsMissingIsNotMentioned) { EXPECT_TRUE(summary({}).empty()); }

}  // namespace
}  // namespace msprobe::card
