// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/parser.h"
#include "command.h"
#include "core/suggestion.h"
#include "documented_spellings.h"

namespace msprobe::app {
namespace {

using Words = std::vector<std::string>;

const DeclaredOptions kCheck{
    .long_names = {"api_info_file", "save_error_data", "out_path", "jit_compile", "device",
                   "result_csv_path", "filter_api", "config_path", "config-yaml", "npu_csv_path",
                   "gpu_csv_path", "forward_input_file", "backward_input_file", "help"},
    .letters = "ojdfnh",
    .spellings = {{"-api_info", "api_info_file"},
                  {"-save_error_data", "save_error_data"},
                  {"-csv_path", "result_csv_path"},
                  {"-config", "config_path"},
                  {"-npu", "npu_csv_path"},
                  {"-gpu", "gpu_csv_path"},
                  {"-forward", "forward_input_file"},
                  {"-backward", "backward_input_file"}}};

Words rewrite(const Words& words) { return rewrite_spellings(words, kCheck); }

TEST(Spellings, EveryDocumentedOneIsRewritten) {
  EXPECT_EQ(rewrite({"-api_info", "dump.json"}), (Words{"--api_info_file", "dump.json"}));
  EXPECT_EQ(rewrite({"-csv_path", "r.csv"}), (Words{"--result_csv_path", "r.csv"}));
  EXPECT_EQ(rewrite({"-config", "c.json"}), (Words{"--config_path", "c.json"}));
  EXPECT_EQ(rewrite({"-npu", "a.csv", "-gpu", "b.csv"}),
            (Words{"--npu_csv_path", "a.csv", "--gpu_csv_path", "b.csv"}));
  EXPECT_EQ(rewrite({"-forward", "f.json", "-backward", "b.json"}),
            (Words{"--forward_input_file", "f.json", "--backward_input_file", "b.json"}));
  EXPECT_EQ(rewrite({"-save_error_data"}), (Words{"--save_error_data"}));
  const DeclaredOptions dumps{
      .long_names = {"cell_mapping"}, .letters = "om", .spellings = {{"-cm", "cell_mapping"}}};
  EXPECT_EQ(rewrite_spellings(Words{"-cm", "cells.yaml"}, dumps),
            (Words{"--cell_mapping=cells.yaml"}));
  const DeclaredOptions apis{
      .long_names = {"api_mapping"}, .letters = "o", .spellings = {{"-am", "api_mapping"}}};
  EXPECT_EQ(rewrite_spellings(Words{"-am", "apis.yaml"}, apis), (Words{"--api_mapping=apis.yaml"}));
  EXPECT_EQ(rewrite_spellings(Words{"-am", "-o", "out"}, apis),
            (Words{"--api_mapping", "-o", "out"}));
}

// The commands that take each of the documents' spellings.
TEST(Spellings, CommandsDeclareThoseOfTheDocuments) {
  std::map<std::string, std::string> long_names;
  for (const Command& command : commands()) {
    cli::Parser parser{std::string(command.name), std::string(command.summary)};
    (void)command.declare(parser);
    for (const auto& [documented, long_name] : parser.spellings()) {
      EXPECT_TRUE(long_names.try_emplace(documented, long_name).first->second == long_name);
    }
  }
  EXPECT_EQ(long_names, (std::map<std::string, std::string>{{"-am", "api_mapping"},
                                                            {"-api_info", "api_info_file"},
                                                            {"-backward", "backward_input_file"},
                                                            {"-cm", "cell_mapping"},
                                                            {"-config", "config_path"},
                                                            {"-csv_path", "result_csv_path"},
                                                            {"-da", "diff_analyze"},
                                                            {"-dm", "data_mapping"},
                                                            {"-fm", "fuzzy_match"},
                                                            {"-forward", "forward_input_file"},
                                                            {"-gp", "golden_path"},
                                                            {"-gpu", "gpu_csv_path"},
                                                            {"-lm", "layer_mapping"},
                                                            {"-npu", "npu_csv_path"},
                                                            {"-save_error_data", "save_error_data"},
                                                            {"-tensor_log", "is_print_compare_log"},
                                                            {"-tp", "target_path"}}));
}

TEST(Help, FitsEightyColumns) {
  for (const Command& command : commands()) {
    cli::Parser parser{std::string(command.name), std::string(command.summary),
                       std::string(command.examples)};
    (void)command.declare(parser);
    std::istringstream lines(parser.help("msprobe"));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << command.name << ": " << line;
    }
  }
}

TEST(Spellings, ValuesAfterAnEqualsSign) {
  EXPECT_EQ(rewrite({"-o=out"}), (Words{"-o", "out"}));
  EXPECT_EQ(rewrite({"-api_info=dump.json"}), (Words{"--api_info_file", "dump.json"}));
  EXPECT_EQ(rewrite({"--out=x"}), (Words{"--out_path=x"}));
}

TEST(Spellings, BundlesAndLettersStay) {
  EXPECT_EQ(rewrite({"-jf"}), (Words{"-jf"}));
  EXPECT_EQ(rewrite({"-n", "-4"}), (Words{"-n", "-4"}));
  EXPECT_EQ(rewrite({"-d", "0", "1", "2", "3"}), (Words{"-d", "0", "1", "2", "3"}));
}

TEST(Spellings, UnambiguousPrefixes) {
  EXPECT_EQ(rewrite({"--api", "x"}), (Words{"--api_info_file", "x"}));
  EXPECT_EQ(rewrite({"-save"}), (Words{"--save_error_data"}));
  EXPECT_EQ(rewrite({"--config", "x"}), (Words{"--config", "x"})) << "two options start with it";
  EXPECT_EQ(rewrite({"--", "--api"}), (Words{"--", "--api"}));
  EXPECT_EQ(rewrite({"-xyz"}), (Words{"-xyz"}));
}

TEST(Spellings, ValuesThatMayBeLeftOut) {
  EXPECT_EQ(rewrite({"--json", "s.json"}), (Words{"--json=s.json"}));
  EXPECT_EQ(rewrite({"--report", "r.html", "-j"}), (Words{"--report=r.html", "-j"}));
  EXPECT_EQ(rewrite({"--report", "shard1"}), (Words{"--report", "shard1"}));
  EXPECT_EQ(rewrite({"--xlsx", "tables.xlsx"}), (Words{"--xlsx=tables.xlsx"}));
  EXPECT_EQ(rewrite({"--json", "-api_info", "dump.json"}),
            (Words{"--json", "--api_info_file", "dump.json"}));
}

TEST(Nearest, FindsTheMistypedWord) {
  const Words names{"acc_check", "multi_acc_check", "api_precision_compare", "metrics"};
  EXPECT_EQ(nearest("acc_chekc", names), "acc_check");
  EXPECT_EQ(nearest("metric", names), "metrics");
  EXPECT_EQ(nearest("api_precision", names), "api_precision_compare");
  EXPECT_EQ(nearest("banana", names), "");
}

}  // namespace
}  // namespace msprobe::app
