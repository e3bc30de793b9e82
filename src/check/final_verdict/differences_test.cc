// SPDX-License-Identifier: Apache-2.0
// Every cell in which profile documented differs from the public tool has a rule in
// docs/differences.md, and every rule there explains something.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/standard.h"
#include "final_verdict/api_precision_compare.h"
#include "final_verdict/comparison_for_test.h"
#include "final_verdict/details_name.h"
#include "tables/csv_text.h"
#include "tables/number_text.h"

namespace msprobe::final_verdict {
namespace {

namespace fs = std::filesystem;
using documented::Profile;
using Row = std::vector<std::string>;
using Rows = std::map<std::string, Row>;
using RuleSet = std::set<std::string>;

const fs::path kRecorded = fs::path(MSPROBE_SOURCE_DIR) / "tests/data/api_precision_compare";
constexpr std::string_view kEmptyCell = "ERROR: Input data is an empty string";

// Columns of the details CSV of a check.
constexpr std::size_t kDtype = 2, kBinaryRate = 9;
constexpr std::size_t kErrorBalance = 10, kRmse = 11, kSmall = 12, kMaxRelative = 13;
constexpr std::size_t kMeanRelative = 14, kRelativeRate = 16, kUlpProportionIn = 20;
// Columns of the details CSV of a comparison.
constexpr std::size_t kSmallVerdict = 2, kErrorBalanceRatio = 9, kUlpRatio = 21, kUlpVerdict = 22;
constexpr std::size_t kResult = 25, kAlgorithm = 26, kMessage = 27;

Rows by_name(const Table& table) {
  Rows rows;
  for (std::size_t i = 1; i < table.size(); ++i) rows[table[i][0]] = table[i];
  return rows;
}

bool blank(const std::string& cell) { return tables::trim(cell).empty(); }

double floor_of(const std::string& dtype) {
  if (dtype == "torch.float16") return 0x1p-11;
  return dtype == "torch.bfloat16" ? 0x1p-8 : 0x1p-14;
}

// The check's column behind a ratio column.
std::size_t source_of(std::size_t ratio_column) {
  constexpr std::size_t kSources[] = {kSmall, kRmse, kMaxRelative, kMeanRelative, kErrorBalance};
  return ratio_column == kUlpRatio ? kUlpProportionIn : kSources[(ratio_column - 1) / 2];
}

struct Inputs {
  const Row& npu;
  const Row* gpu;
  std::string api;
};

bool divisor_below_floor(const Inputs& in, std::size_t ratio_column) {
  const auto value = tables::parse_number((*in.gpu)[source_of(ratio_column)]);
  return value && std::abs(*value) < floor_of(in.npu[kDtype]);
}

bool is_ratio(std::size_t column) {
  return column == kUlpRatio || (column <= kErrorBalanceRatio && column % 2 == 1);
}

// The rule behind one differing cell, from the inputs; empty for the cells that follow from others.
std::string rule_of(const Inputs& in, const Row& ours, const Row& theirs, std::size_t column) {
  const bool nothing_measured = blank(in.npu[kRmse]) && blank(in.npu[kBinaryRate]);
  const bool lacks_metric = ours[kMessage].starts_with("The NPU row has no metric of the");
  if (nothing_measured || lacks_metric) return "D-no-metric";
  if (ours[kMessage].starts_with("NOTE: no metric")) return "D-foreign-file";
  if (ours[kAlgorithm] != theirs[kAlgorithm]) {
    const bool all_filled = !blank(in.npu[kRelativeRate]) && !blank(in.npu[kRmse]);
    const bool taken_for_float8 = theirs[kAlgorithm] == "绝对阈值法";
    return all_filled && taken_for_float8 ? "D-float8-said" : "D-standard-by-api";
  }
  if (column >= kResult) return {};
  if (is_ratio(column)) return divisor_below_floor(in, column) ? "D-ratio-plain" : "unexplained";
  if (column == kUlpVerdict) return "D-ulp-direct";
  if (column <= kErrorBalanceRatio + 1) {
    if (ours[column - 1] != theirs[column - 1]) return "D-ratio-plain";
    const bool has_level =
        documented::listed_level(in.api, Profile::kDocumented) != documented::Level::kL0;
    if (has_level && column > kSmallVerdict && column < kErrorBalanceRatio) return "D-levels";
  }
  return "unexplained";
}

class Differences : public InDirectory {
 protected:
  PrecisionOutcome compare(Profile profile) const {
    PrecisionOptions options =
        options_for(kRecorded / "npu_details.csv", kRecorded / "gpu_details.csv");
    options.profile = profile;
    options.titles = tables::Titles::kChinese;
    const auto outcome = api_precision_compare(options);
    EXPECT_TRUE(outcome);
    return outcome.value_or(PrecisionOutcome{});
  }

  RuleSet explain_details(const Rows& ours, const Rows& theirs) {
    RuleSet rules;
    const Rows npu = by_name(read_table(kRecorded / "npu_details.csv"));
    const Rows gpu = by_name(read_table(kRecorded / "gpu_details.csv"));
    for (const auto& [name, row] : theirs) EXPECT_TRUE(ours.contains(name)) << name;
    for (const auto& [name, row] : ours) {
      if (!theirs.contains(name)) {
        EXPECT_FALSE(gpu.contains(name)) << name;
        rules.insert("D-missing-partner");
        continue;
      }
      const auto parsed = parse_details_name(name);
      const auto partner = gpu.find(name);
      const Inputs in{npu.at(name), partner == gpu.end() ? nullptr : &partner->second,
                      parsed ? std::string(parsed->api) : ""};
      explain_row(in, row, theirs.at(name), rules);
    }
    return rules;
  }

  void explain_row(const Inputs& in, const Row& ours, const Row& theirs, RuleSet& rules) {
    RuleSet found;
    bool follows = false;
    for (std::size_t i = 1; i < theirs.size(); ++i) {  // further columns of ours follow
      if (ours[i] == theirs[i]) continue;
      const std::string rule = rule_of(in, ours, theirs, i);
      EXPECT_NE(rule, "unexplained")
          << ours[0] << ", column " << i << ": " << theirs[i] << " -> " << ours[i];
      follows |= rule.empty();
      if (!rule.empty()) found.insert(rule);
    }
    EXPECT_TRUE(!follows || !found.empty()) << ours[0] << ": only the verdict differs";
    if (ours[kResult] != theirs[kResult]) changed_.insert(ours[0]);
    rules.merge(found);
  }

  RuleSet explain_results(const Rows& ours, const Rows& theirs) const {
    RuleSet rules;
    RuleSet failed_calls;  // of which the public tool listed a row instead
    for (const auto& [name, row] : theirs) {
      if (ours.contains(name)) continue;
      const auto parsed = parse_details_name(name);
      EXPECT_TRUE(parsed && row[3] == kEmptyCell) << name;
      if (parsed) failed_calls.emplace(parsed->call);
      rules.insert("D-named-by-call");
    }
    for (const auto& [name, row] : ours) {
      if (!theirs.contains(name)) {
        EXPECT_TRUE(failed_calls.contains(name) || name == "Functional.relu.0") << name;
        continue;
      }
      explain_result(row, theirs.at(name), failed_calls.contains(name), rules);
    }
    return rules;
  }

  void explain_result(const Row& ours, const Row& theirs, bool had_failed_row,
                      RuleSet& rules) const {
    const bool unsupported = theirs[3] == "This data type does not support benchmark compare.";
    for (const std::size_t column : {1U, 2U}) {
      if (ours[column] == theirs[column] || had_failed_row || verdict_changed(ours[0], column)) {
        continue;
      }
      EXPECT_TRUE(unsupported && ours[column] == " ") << ours[0] << ", column " << column;
      rules.insert("D-dtype-per-direction");
    }
    const bool follows = verdict_changed(ours[0], 1);  // the message depends on the forward verdict
    if (ours[3] == theirs[3] || had_failed_row || follows) return;
    const bool failed = ours[1] == "error" || ours[2] == "error";
    if (failed && ours[3].starts_with(theirs[3]) && ours[3].find("ward output ") != ours[3].npos) {
      rules.insert("D-failure-named");
      return;
    }
    EXPECT_TRUE(ours[2] == "SKIP" && ours[1] != "SKIP" && theirs[3].empty()) << ours[0];
    rules.insert("D-skip-reason");
  }

  // Whether a row of this call and direction has another verdict, which then has its own rule.
  bool verdict_changed(const std::string& call, std::size_t column) const {
    const std::string start = call + (column == 1 ? ".forward." : ".backward.");
    return std::ranges::any_of(changed_,
                               [&](const std::string& name) { return name.starts_with(start); });
  }

  RuleSet changed_;  // rows whose verdict differs
};

TEST_F(Differences, EveryCellThatDiffersFromTheOlderReleaseHasItsRule) {
  const PrecisionOutcome ours = compare(Profile::kDocumented);
  const RuleSet details =
      explain_details(by_name(read_table(ours.details_csv)),
                      by_name(read_table(kRecorded / "out_v8.3.3/details.csv")));
  EXPECT_THAT(details, ::testing::ElementsAre("D-float8-said", "D-foreign-file", "D-levels",
                                              "D-missing-partner", "D-no-metric", "D-ratio-plain",
                                              "D-ulp-direct"));
  const RuleSet results = explain_results(by_name(read_table(ours.result_csv)),
                                          by_name(read_table(kRecorded / "out_v8.3.3/result.csv")));
  EXPECT_THAT(results, ::testing::ElementsAre("D-dtype-per-direction", "D-failure-named",
                                              "D-named-by-call", "D-skip-reason"));
}

TEST_F(Differences, EveryCellThatDiffersFromTheNewerReleaseHasItsRule) {
  const PrecisionOutcome ours = compare(Profile::kDocumented);
  const RuleSet details =
      explain_details(by_name(read_table(ours.details_csv)),
                      by_name(read_table(kRecorded / "out_v26.0.0/details.csv")));
  EXPECT_THAT(details, ::testing::ElementsAre("D-float8-said", "D-foreign-file", "D-levels",
                                              "D-missing-partner", "D-no-metric", "D-ratio-plain",
                                              "D-standard-by-api"));
  const RuleSet results =
      explain_results(by_name(read_table(ours.result_csv)),
                      by_name(read_table(kRecorded / "out_v26.0.0/result.csv")));
  EXPECT_THAT(results,
              ::testing::ElementsAre("D-dtype-per-direction", "D-failure-named", "D-skip-reason"));
}

// What the made-up files hold no example of: one pair of rows each, and the verdict of each
// profile.
struct Example {
  std::string rule;
  Row npu;
  std::vector<Row> gpu;
  std::string documented;
  std::string reference;  // empty: the row is not shown
};

Row row_of(std::string_view name, std::map<std::size_t, std::string> cells) {
  Row row(23, " ");
  row[0] = name;
  row[kDtype] = "torch.float32";
  row[3] = "(4, 5)";
  row[21] = "pass";
  for (auto& [column, text] : cells) row[column] = std::move(text);
  return row;
}

Row measured(std::map<std::size_t, std::string> cells = {}) {
  for (const std::size_t column : {kErrorBalance, kRmse, kSmall, kMaxRelative, kMeanRelative}) {
    cells.emplace(column, "0.1");
  }
  return row_of("Torch.exp.0.forward.output.0", std::move(cells));
}

std::vector<Example> examples() {
  const Row conv = row_of("Functional.conv2d.0.forward.output.0", {{7, "0.999"}, {kRmse, "0.1"}});
  const Row failed = row_of("Torch.exp.0.forward.output.0", {{21, "error"}});
  const Row empty = measured({{3, "(0, 3)"}});
  return {
      {"D-dual-strict", conv, {conv}, "error", "pass"},
      {"D-error-without-metrics", failed, {measured()}, "error", "pass"},
      {"D-skip-stays", measured({{21, "SKIP"}}), {measured()}, "SKIP", "pass"},
      {"D-nan-one-side", measured({{4, "nan"}}), {measured()}, "error", "pass"},
      {"D-empty-shape", empty, {empty}, "SKIP", "pass"},
      {"D-not-same-call", measured({{3, "(5, 4)"}}), {measured()}, "SKIP", "pass"},
      {"D-gpu-without-metrics", measured(), {failed}, "SKIP", "error"},
      {"D-repeated-row", measured(), {measured(), measured()}, "SKIP", ""},
  };
}

class DifferenceExamples : public Differences {
 protected:
  std::string verdict(const Example& example, Profile profile) const {
    const Table golden = read_table(kRecorded / "npu_details.csv");
    const auto line = [](const Row& row) {
      std::string text;
      for (const std::string& cell : row) {
        if (!text.empty()) text += ',';
        tables::append_text(text, cell);
      }
      return text + "\n";
    };
    std::string gpu = line(golden[0]);
    for (const Row& row : example.gpu) gpu += line(row);
    PrecisionOptions options =
        options_for(write("npu.csv", line(golden[0]) + line(example.npu)), write("gpu.csv", gpu));
    options.profile = profile;
    const auto outcome = api_precision_compare(options);
    EXPECT_TRUE(outcome);
    const Table details = read_table(outcome->details_csv);
    return details.size() < 2 ? "" : details[1][kResult];
  }
};

TEST_F(DifferenceExamples, TheRestIsShownByExamples) {
  for (const Example& example : examples()) {
    EXPECT_EQ(verdict(example, Profile::kDocumented), example.documented) << example.rule;
    EXPECT_EQ(verdict(example, Profile::kReference), example.reference) << example.rule;
  }
}

TEST_F(DifferenceExamples, ThePageListsExactlyTheRulesThatOccur) {
  RuleSet wanted = {"D-dtype-per-direction", "D-failure-named",   "D-float8-said",
                    "D-foreign-file",        "D-levels",          "D-missing-partner",
                    "D-named-by-call",       "D-no-metric",       "D-ratio-plain",
                    "D-skip-reason",         "D-standard-by-api", "D-ulp-direct"};
  for (const Example& example : examples()) wanted.insert(example.rule);
  const auto page = load_file(fs::path(MSPROBE_SOURCE_DIR) / "docs/differences.md");
  ASSERT_TRUE(page);
  RuleSet listed;
  const std::string_view text = page->text();
  for (std::size_t at = text.find("| `D-"); at != std::string_view::npos;
       at = text.find("| `D-", at + 1)) {
    listed.emplace(text.substr(at + 3, text.find('`', at + 3) - at - 3));
  }
  EXPECT_EQ(listed, wanted);
}

}  // namespace
}  // namespace msprobe::final_verdict
