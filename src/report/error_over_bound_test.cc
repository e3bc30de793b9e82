// SPDX-License-Identifier: Apache-2.0
#include "report/error_over_bound.h"

#include <cmath>

#include <gtest/gtest.h>

#include "report/report_data.h"

namespace msprobe::report {
namespace {

TEST(ErrorOverBound, ReadsTheReasons) {
  EXPECT_EQ(
      error_over_bound(Verdict::kError,
                       "256 of 131072 elements are beyond the bound (first (0, 0, 16, 16), "
                       "last (0, 0, 31, 31)), worst at (0, 0, 28, 29): device -2.78325, bench "
                       "0.0546788, 1.53e+05 times its bound"),
      1.53e5);
  EXPECT_EQ(error_over_bound(Verdict::kWarning,
                             "1 of 64 elements is beyond the bound, worst at (7, 1): device 2, "
                             "bench 1, 3.5 times its bound"),
            3.5);
  EXPECT_EQ(error_over_bound(Verdict::kPass,
                             "proves little: the CPU errs as much in this dtype; 6 of 16 elements "
                             "differ, by at most 0.869 of the bound, as the CPU computes"),
            0.869);
  EXPECT_EQ(error_over_bound(Verdict::kPass, "equal"), 0);
  EXPECT_EQ(error_over_bound(Verdict::kPass, "proves little: all elements are equal; equal"), 0);
  EXPECT_EQ(error_over_bound(Verdict::kPass, "equal to the rounded benchmark"), 0);
}

TEST(ErrorOverBound, WhatHasNoSizeIsInfiniteOrBlank) {
  EXPECT_TRUE(std::isinf(
      error_over_bound(Verdict::kError,
                       "2 of 64 elements are beyond the bound, 2 of them not finite on one side "
                       "only (first (0, 3), last (7, 1)), worst at (0, 3): device nan, bench 1")));
  EXPECT_TRUE(
      std::isinf(error_over_bound(Verdict::kError, "3 of 64 elements differ, first at (0, 3)")));
  EXPECT_EQ(error_over_bound(Verdict::kError, "shape (2, 3), the benchmark's is (3, 2)"),
            kNoNumber);
  EXPECT_EQ(error_over_bound(Verdict::kSkip, "the benchmark gives None"), kNoNumber);
  EXPECT_EQ(error_over_bound(std::nullopt, ""), kNoNumber);
  EXPECT_EQ(error_over_bound(Verdict::kError, "far off"), kNoNumber);
}

}  // namespace
}  // namespace msprobe::report
