#include <gtest/gtest.h>

#include "core/suggestion.h"
#include "documented_spellings.h"

namespace msprobe::app {
namespace {

using Words = std::vector<std::string>;

const DeclaredOptions kCheck{
    .long_names = {"api_info_file", "save_error_data", "out_path", "jit_compile", "device",
                   "result_csv_path", "filter_api", "config_path", "config-yaml", "npu_csv_path",
                   "gpu_csv_path", "forward_input_file", "backward_input_file", "help"},
    .letters = "ojdfnh"};

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
  const DeclaredOptions compare{.long_names = {"target_path", "golden_path"}, .letters = "om"};
  EXPECT_EQ(rewrite_spellings(Words{"-tp", "ge", "-gp", "fx"}, compare),
            (Words{"--target_path", "ge", "--golden_path", "fx"}));
  const DeclaredOptions dumps{.long_names = {"cell_mapping", "data_mapping", "diff_analyze",
                                             "fuzzy_match", "is_print_compare_log"},
                              .letters = "om"};
  EXPECT_EQ(rewrite_spellings(Words{"-cm", "-dm", "map.yaml", "-da", "-fm", "-tensor_log"}, dumps),
            (Words{"--cell_mapping", "--data_mapping", "map.yaml", "--diff_analyze",
                   "--fuzzy_match", "--is_print_compare_log"}));
  EXPECT_EQ(rewrite_spellings(Words{"-cm", "cells.yaml"}, dumps),
            (Words{"--cell_mapping=cells.yaml"}));
  EXPECT_EQ(documented_spellings().size(), 15U);
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
