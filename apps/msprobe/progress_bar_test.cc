// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.h"

#include <gtest/gtest.h>

namespace msprobe::app {
namespace {

TEST(ProgressBar, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_text("Processing", 0, 450, 1000, 9, 60),
            "Processing:  45%|████▉      | 450/1000 [00:09<00:11, 50.0/s]");
  EXPECT_EQ(progress_text("Processing", 0, 0, 10, 0, 60),
            "Processing:   0%|                    | 0/10 [00:00<?, 0.0/s]");
}

TEST(ProgressBar, AResumedRunIsNotFasterThanItIs) {
  const std::string text = progress_text("Processing", 900, 950, 1000, 10);
  EXPECT_NE(text.find("5.0/s"), std::string::npos) << text;
  EXPECT_NE(text.find("<00:10"), std::string::npos) << text;
}

TEST(ProgressBar, NothingToDoIsAllDone) {
  EXPECT_NE(progress_text("Processing", 0, 0, 0, 1).find("100%"), std::string::npos);
}

}  // namespace
}  // namespace msprobe::app
