#include "compare/api_precision_compare.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/compare_fixture.h"

namespace msprobe::compare {
namespace {

namespace fs = std::filesystem;
using judge::Profile;
using report::Titles;

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
  EXPECT_EQ(outcome.worst(), judge::Verdict::kError);
}

TEST_F(Golden, ReferenceProfileEqualsThePublicToolOnRealDumps) {
  const fs::path golden = fs::path(MSPROBE_SOURCE_DIR) / "../shared/golden";
  if (!fs::exists(golden)) GTEST_SKIP() << "no golden dumps beside the source";
  int compared = 0;
  for (const char* const set : {"dumps", "dumps_2.13"}) {
    for (const auto& entry : fs::directory_iterator(golden / set)) {
      const fs::path expected = entry.path() / "api_precision_compare";
      if (!fs::exists(expected)) continue;
      SCOPED_TRACE(entry.path());
      const std::string details = "accuracy_checking_details_20260101000000.csv";
      const PrecisionOutcome outcome = compare_as_public_tool(
          entry.path() / "acc_check_perturbed" / details, entry.path() / "acc_check" / details);
      const std::string stamp = "_20260101000000.csv";
      expect_same(expected / ("api_precision_compare_details" + stamp), outcome.details_csv);
      expect_same(expected / ("api_precision_compare_result" + stamp), outcome.result_csv);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 8);
}

}  // namespace
}  // namespace msprobe::compare
