// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/api_precision_compare.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "final_verdict/comparison_for_test.h"

namespace msprobe::final_verdict {
namespace {

namespace fs = std::filesystem;
using documented::Profile;
using tables::Titles;

class Golden : public InDirectory {
 protected:
  // Every cell, the messages included; numbers to the last digit.
  void expect_same(const fs::path& wanted_path, const fs::path& found_path) const {
    const Table wanted = read_table(wanted_path);
    const Table found = read_table(found_path);
    ASSERT_EQ(wanted.size(), found.size()) << wanted_path;
    std::size_t cells = 0;
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(wanted[row].size(), found[row].size()) << wanted[row][0];
      for (std::size_t i = 0; i < wanted[row].size(); ++i, ++cells) {
        EXPECT_EQ(wanted[row][i], found[row][i]) << wanted[row][0] << ", " << wanted[0][i];
      }
    }
    EXPECT_GT(cells, 0U);
  }

  PrecisionOutcome compare_as_public_tool(const fs::path& npu, const fs::path& gpu) const {
    PrecisionOptions options = options_for(npu, gpu);
    options.profile = Profile::kReference;
    options.titles = Titles::kChinese;
    const Result<PrecisionOutcome> outcome = api_precision_compare(options);
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
    return outcome.value_or(PrecisionOutcome{});
  }
};

const fs::path kData = fs::path(MSPROBE_SOURCE_DIR) / "tests/data/api_precision_compare";

TEST_F(Golden, ReferenceProfileEqualsThePublicToolCellByCell) {
  const PrecisionOutcome outcome =
      compare_as_public_tool(kData / "npu_details.csv", kData / "gpu_details.csv");
  expect_same(kData / "out_v26.0.0/details.csv", outcome.details_csv);
  expect_same(kData / "out_v26.0.0/result.csv", outcome.result_csv);
  EXPECT_EQ(outcome.npu_only, 1U);
  EXPECT_EQ(outcome.gpu_only, 1U);
  EXPECT_EQ(outcome.worst(), Verdict::kError);
}

TEST_F(Golden, ReferenceProfileEqualsThePublicToolOnRealDumps) {
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(kData / "recorded")) {
    SCOPED_TRACE(entry.path());
    const PrecisionOutcome outcome =
        compare_as_public_tool(entry.path() / "npu_details.csv", entry.path() / "gpu_details.csv");
    expect_same(entry.path() / "details.csv", outcome.details_csv);
    expect_same(entry.path() / "result.csv", outcome.result_csv);
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

}  // namespace
}  // namespace msprobe::final_verdict
