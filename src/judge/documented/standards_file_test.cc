// SPDX-License-Identifier: Apache-2.0
#include "documented/standards_file.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"

namespace msprobe::documented {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string error_of(std::string_view text) {
  const auto rules = parse_rules(text, "my.yaml");
  return rules ? "accepted" : rules.error().message;
}

TEST(StandardsFile, ReadsEveryKey) {
  const auto rules = parse_rules(R"(
rules:
  - api: [conv2d, linalg.norm]
    dtype: float16
    device: [npu, sim]
    standard: ulp
    level: L2
    thresholds: {small_value: 2**-11, small_value_atol: 1e-5, rtol: 2^-10, ulp_count: 4}
    ladder: {cosine: 0.999, max_abs_error: 0.01, dual_100: 0.9, dual_1000: 0.8, dual_10000: 0.7}
    limits: {rmse_ratio: 3, mean_ulp: 10, ulp_proportion: 0.01, dual_1000: 0.99}
  - level: L1
)",
                                 "my.yaml");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_THAT(*rules, SizeIs(2));
  const Rule& rule = rules->front();
  EXPECT_THAT(rule.apis, ElementsAre("conv2d", "linalg.norm"));
  EXPECT_THAT(rule.dtypes, ElementsAre(DType::kFloat16));
  EXPECT_THAT(rule.devices, ElementsAre("npu", "sim"));
  EXPECT_EQ(rule.standard, Standard::kUlp);
  EXPECT_EQ(rule.level, Level::kL2);
  const Standards standards{.rules = *rules};
  const Subject subject{.api = "conv2d", .dtype = DType::kFloat16, .device = "npu"};
  const auto thresholds = thresholds_for(subject, Profile::kDocumented, standards);
  EXPECT_EQ(thresholds.small_value, 0x1p-11);
  EXPECT_EQ(thresholds.small_value_atol, 1e-5);
  EXPECT_EQ(thresholds.absolute_small_value_atol, 1e-5);
  EXPECT_EQ(thresholds.rtol, 0x1p-10);
  EXPECT_EQ(thresholds.ulp_count, 4);
  EXPECT_EQ(ladder_for(subject, standards).dual_10000, 0.7);
  EXPECT_EQ(limits_for(subject, Profile::kDocumented, standards).ulp_proportion, 0.01);
  EXPECT_EQ(level_for(subject, Profile::kDocumented, standards), Level::kL1);
}

TEST(StandardsFile, ErrorsNameLineKeyFoundAndWanted) {
  EXPECT_EQ(
      error_of("rules:\n  - level: L1\n    tresholds: {}\n"),
      "my.yaml: line 3: rules[0]: unknown key 'tresholds'; did you mean 'thresholds'? (known: "
      "api, dtype, device, standard, level, thresholds, ladder, limits)");
  EXPECT_EQ(
      error_of("rules:\n  - level: L1\n  - thresholds: {rtoll: 1}\n"),
      "my.yaml: line 3: rules[1].thresholds: unknown key 'rtoll'; did you mean 'rtol'? (known: "
      "small_value, small_value_atol, rtol, ulp_count)");
  EXPECT_EQ(error_of("rules:\n  - ladder: {cosine: 1.5}\n"),
            "my.yaml: line 2: rules[0].ladder.cosine: found '1.5', expected a number from -1 to 1");
  EXPECT_EQ(error_of("rules:\n  - standard: ulpp\n"),
            "my.yaml: line 2: rules[0].standard: unknown standard 'ulpp'; did you mean 'ulp'? "
            "(known: benchmark, absolute_threshold, binary_consistency, ulp, dual_1000)");
  EXPECT_THAT(
      error_of("rules:\n  - dtype: floatt16\n    level: L0\n"),
      HasSubstr("line 2: rules[0].dtype: unknown dtype 'floatt16'; did you mean 'float16'?"));
  EXPECT_THAT(error_of("rules:\n  - device: gpu\n    level: L0\n"),
              HasSubstr("unknown kind of device 'gpu'"));
  EXPECT_THAT(error_of("rules:\n  - level: L3\n"), HasSubstr("unknown level 'L3'"));
}

TEST(StandardsFile, RefusesWhatMeansNothing) {
  EXPECT_THAT(error_of(""),
              HasSubstr("the file: found nothing, expected a map with some of: rules"));
  EXPECT_THAT(error_of("rules: []\n"), HasSubstr("expected a list of rules"));
  EXPECT_THAT(error_of("rules:\n  - api: f\n"), HasSubstr("line 2: rules[0]: sets nothing"));
  EXPECT_THAT(error_of("rules:\n  - level: L1\n    level: L2\n"),
              HasSubstr("duplicate key 'level'"));
  EXPECT_THAT(error_of("rules:\n  - level: [L1]\n"), HasSubstr("found a list, expected one of L0"));
  EXPECT_THAT(error_of("rules:\n  - api: []\n    level: L1\n"),
              HasSubstr("expected a name or a list"));
  EXPECT_THAT(error_of("rules:\n  - limits: {rmse_ratio: two}\n"),
              HasSubstr("found 'two', expected a number not below 0"));
  EXPECT_THAT(error_of("rules:\n  - limits: {rmse_ratio: .nan}\n"), HasSubstr("expected a number"));
  EXPECT_THAT(error_of("rules:\n  - limits: {rmse_ratio: 10**400}\n"),
              HasSubstr("expected a number"));
  EXPECT_THAT(error_of("rules:\n  - limits: {rmse_ratio: -1}\n"), HasSubstr("not below 0"));
  EXPECT_THAT(error_of("rules: {a: [\n"), HasSubstr("my.yaml: line 2: not YAML"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("not YAML"));
}

TEST(StandardsFile, TheExampleOfThePageIsAccepted) {
  const auto page = load_file(MSPROBE_SOURCE_DIR "/docs/standards.md");
  ASSERT_TRUE(page);
  const std::string_view text = page->text();
  const std::size_t start = text.find("```yaml\n");
  ASSERT_NE(start, std::string_view::npos);
  const std::string_view example = text.substr(start + 8, text.find("```", start + 8) - start - 8);
  const auto rules = parse_rules(example, "docs/standards.md");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_GE(rules->size(), 3U);
}

// The words in backquotes of the table row that starts with `title`.
std::vector<std::string> listed(std::string_view page, std::string_view title) {
  std::vector<std::string> words;
  const std::size_t start = page.find(fmt::format("\n| {} | `", title));
  if (start == std::string_view::npos) return words;
  std::string_view line = page.substr(start + 1, page.find('\n', start + 1) - start - 1);
  for (std::size_t at = line.find('`'); at != std::string_view::npos; at = line.find('`')) {
    line.remove_prefix(at + 1);
    const std::size_t end = line.find('`');
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  return words;
}

TEST(StandardsPage, ListsTheBuiltInTables) {
  const auto file = load_file(MSPROBE_SOURCE_DIR "/docs/standards.md");
  ASSERT_TRUE(file);
  const std::string_view page = file->text();
  struct List {
    const char* title;
    Standard standard;
    std::size_t count;
  };
  for (const List& list :
       {List{"absolute threshold", Standard::kAbsoluteThreshold, 30},
        List{"binary consistency", Standard::kBinaryConsistency, 62},
        List{"ULP", Standard::kUlp, 17}, List{"dual-1000", Standard::kDual1000, 2}}) {
    const auto words = listed(page, list.title);
    EXPECT_EQ(words.size(), list.count) << list.title;
    for (const std::string& word : words) EXPECT_EQ(listed_standard(word), list.standard) << word;
  }
  EXPECT_THAT(listed(page, "L1"), SizeIs(5));
  EXPECT_THAT(listed(page, "L2"), SizeIs(14));  // GELU and gelu
  for (const char* const level : {"L1", "L2"}) {
    for (const std::string& word : listed(page, level)) {
      EXPECT_EQ(name(listed_level(word, Profile::kDocumented)), level) << word;
    }
  }
}

}  // namespace
}  // namespace msprobe::documented
