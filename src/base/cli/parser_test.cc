// SPDX-License-Identifier: Apache-2.0
#include "cli/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Arguments {
  std::string out = "./";
  int threads = 1;
  std::uint64_t seed = 1234;
  double timeout = 300;
  std::optional<int> precision;
  std::vector<std::string> only;
  std::string mode;
  bool filter = false;
  std::string json;
};

class ParserTest : public testing::Test {
 protected:
  ParserTest() {
    parser_.value("-o,--out_path", arguments_.out, "where to").shows_default();
    parser_.value("--threads", arguments_.threads, "threads").between(1, 8);
    parser_.value("--seed", arguments_.seed, "seed");
    parser_.value("--timeout", arguments_.timeout, "seconds").positive();
    parser_.value("--precision", arguments_.precision, "decimals").not_negative();
    parser_.value("--only", arguments_.only, "calls").repeatable();
    parser_
        .value(
            "--mode", [this](const std::string& word) { arguments_.mode = word + "!"; }, "mode")
        .one_of({"slow", "fast"});
    parser_.flag("-f,--filter", arguments_.filter, "filter");
    parser_.flag("--json", arguments_.json, "JSON");
  }

  std::string refusal(std::vector<std::string> words) {
    const auto parsed = parser_.parse(std::move(words));
    return parsed ? "" : parsed.error().message;
  }

  Arguments arguments_;
  Parser parser_{"check", "checks", "  check -o out\n"};
};

TEST_F(ParserTest, WordsReachTheVariables) {
  const auto parsed = parser_.parse({"-o", "out", "--threads", "8", "--seed",
                                     "18446744073709551615", "--timeout", "0.5", "--precision", "3",
                                     "--only", "a", "--only", "b", "--mode", "fast", "-f"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Parser::Parsed::kRun);
  EXPECT_EQ(arguments_.out, "out");
  EXPECT_EQ(arguments_.threads, 8);
  EXPECT_EQ(arguments_.seed, 18446744073709551615U);
  EXPECT_EQ(arguments_.timeout, 0.5);
  EXPECT_EQ(arguments_.precision, 3);
  EXPECT_THAT(arguments_.only, ElementsAre("a", "b"));
  EXPECT_EQ(arguments_.mode, "fast!");
  EXPECT_TRUE(arguments_.filter);
  EXPECT_TRUE(parser_.given("--mode"));
  EXPECT_FALSE(parser_.given("--json"));
}

TEST_F(ParserTest, AFlagMayNameAFile) {
  ASSERT_TRUE(parser_.parse({"--json"}));
  EXPECT_EQ(arguments_.json, "true");
  ASSERT_TRUE(parser_.parse({"--json=summary.json"}));
  EXPECT_EQ(arguments_.json, "summary.json");
}

TEST_F(ParserTest, WhatIsOutsideIsRefusedByName) {
  EXPECT_THAT(refusal({"--threads", "9"}), HasSubstr("--threads"));
  EXPECT_THAT(refusal({"--timeout", "0"}), HasSubstr("--timeout"));
  EXPECT_THAT(refusal({"--precision", "-1"}), HasSubstr("--precision: -1 must be 0 or more"));
  EXPECT_THAT(refusal({"--seed", "many"}), HasSubstr("--seed"));
  EXPECT_THAT(refusal({"--mode", "medium"}), HasSubstr("--mode"));
  EXPECT_THAT(refusal({"--nothing"}), HasSubstr("--nothing"));
}

TEST_F(ParserTest, RequiredMeansRequired) {
  std::string dump;
  parser_.value("--api_info_file", dump, "dump").required();
  EXPECT_THAT(refusal({}), HasSubstr("--api_info_file"));
}

TEST_F(ParserTest, AValueWithoutANameIsAskedForByBoth) {
  std::string dump;
  parser_.value("DUMP,-api_info,--api_info_file", dump, "dump").required();
  EXPECT_THAT(refusal({}), HasSubstr("DUMP (-api_info) is required"));
}

TEST_F(ParserTest, HelpShowsOptionsDefaultsAndExamples) {
  const auto parsed = parser_.parse({"--help"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, Parser::Parsed::kHelp);
  EXPECT_THAT(parser_.help("msprobe"), HasSubstr("-o, --out_path TEXT     where to [default: ./]"));
  EXPECT_THAT(parser_.help("msprobe"), HasSubstr("Examples:\n  check -o out"));
}

TEST_F(ParserTest, ADocumentedSpellingIsShownAndLedToItsLongName) {
  std::string dump;
  parser_.value("DUMP,-api_info,--api_info_file", dump, "the dump");
  EXPECT_THAT(parser_.spellings(), ElementsAre(testing::Pair("-api_info", "api_info_file")));
  EXPECT_THAT(parser_.help("msprobe"), HasSubstr("DUMP, -api_info, --api_info_file"));
  EXPECT_THAT(parser_.help("msprobe"), HasSubstr("Usage: msprobe check [options] [DUMP]"));
  ASSERT_TRUE(parser_.parse({"dump.json", "-f"}));
  EXPECT_EQ(dump, "dump.json");
  ASSERT_TRUE(parser_.parse({"--api_info_file", "other.json"}));
  EXPECT_EQ(dump, "other.json");
}

TEST_F(ParserTest, DeclaredNames) {
  EXPECT_THAT(parser_.long_names(), testing::IsSupersetOf({"out_path", "filter", "json", "help"}));
  EXPECT_THAT(parser_.letters(), testing::UnorderedElementsAre('o', 'f', 'h'));
}

}  // namespace
}  // namespace msprobe::cli
