// SPDX-License-Identifier: Apache-2.0
#include "terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "terminal/layout.h"

namespace msprobe::terminal {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Progress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_text("Processing", {.done = 450, .total = 1000, .seconds = 9}, 60),
            "Processing:  45%|████▉      | 450/1000 [00:09<00:11, 50.0/s]");
  EXPECT_EQ(progress_text("Processing", {.total = 10}, 60),
            "Processing:   0%|                    | 0/10 [00:00<?, 0.0/s]");
}

TEST(Progress, AResumedRunIsNotFasterThanItIs) {
  const std::string text = progress_text(
      "Processing", {.first = 900, .done = 950, .total = 1000, .seconds = 10}, kBarColumns);
  EXPECT_THAT(text, HasSubstr("5.0/s"));
  EXPECT_THAT(text, HasSubstr("<00:10"));
}

TEST(Progress, NothingToDoIsAllDone) {
  EXPECT_THAT(progress_text("Processing", {.seconds = 1}, kBarColumns), HasSubstr("100%"));
}

TEST(Progress, FitsANarrowTerminalAndCountsFailures) {
  const Progress progress{.done = 450, .total = 1000, .failed = 3, .seconds = 9};
  for (std::size_t columns = 10; columns < 140; ++columns) {
    EXPECT_LE(shown_width(progress_text("Total items", progress, columns)),
              std::min(columns, kBarColumns));
  }
  EXPECT_EQ(progress_text("Processing", progress, 40), " 45%|███████▏        | 450/1000 3 failed");
  EXPECT_THAT(progress_text("Processing", progress, 75), HasSubstr("450/1000 3 failed [00:09<"));
  EXPECT_THAT(progress_text("Processing", progress, 60), Not(HasSubstr("/s")));
}

}  // namespace
}  // namespace msprobe::terminal
