// SPDX-License-Identifier: Apache-2.0
#include "check/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    return scratch_.write(name, text);
  }
  std::string yaml_error(const std::string& text) {
    const Result<Config> config = read_config_yaml(write("config.yaml", text));
    return config ? "no error" : config.error().message;
  }
  std::string json_error(const std::string& text) {
    const Result<Config> config = with_config_json({}, write("config.json", text));
    return config ? "no error" : config.error().message;
  }

  ScratchDirectory scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST_F(ConfigTest, TheShippedFileHoldsTheDefaults) {
  const auto config = read_config_yaml(MSPROBE_SOURCE_DIR "/share/msprobe/config.yaml");
  ASSERT_TRUE(config) << config.error().message;
  const Config defaults;
  EXPECT_EQ(config->white_list, defaults.white_list);
  EXPECT_EQ(config->black_list, defaults.black_list);
  EXPECT_EQ(config->error_data_path, defaults.error_data_path);
  EXPECT_EQ(config->precision, defaults.precision);
  EXPECT_EQ(config->quantization_api_list, defaults.quantization_api_list);
}

TEST_F(ConfigTest, ReadsEveryYamlKey) {
  const auto config = read_config_yaml(
      write("config.yaml",
            "white_list: [conv2d, 'linalg.norm']\nblack_list:\n  - relu\nprecision: 6\n"
            "error_data_path: " +
                directory_.string() + "\nquantization_api_list: [npu_quantize]\n"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->white_list, ElementsAre("conv2d", "linalg.norm"));
  EXPECT_THAT(config->black_list, ElementsAre("relu"));
  EXPECT_EQ(config->precision, 6);
  EXPECT_EQ(config->error_data_path, directory_);
  EXPECT_THAT(config->quantization_api_list, ElementsAre("npu_quantize"));
}

TEST_F(ConfigTest, AnEmptyYamlHoldsTheDefaults) {
  const auto config = read_config_yaml(write("config.yaml", "# nothing\n"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->precision, 14);
}

TEST_F(ConfigTest, YamlFaultsHaveTheirDocumentedTexts) {
  EXPECT_THAT(yaml_error("whitelist: []"),
              EndsWith("whitelist must be one of white_list, black_list, error_data_path, "
                       "precision, quantization_api_list; did you mean white_list?"));
  EXPECT_THAT(yaml_error("white_list: conv2d"), EndsWith("white_list must be a list type"));
  EXPECT_THAT(yaml_error("white_list:"), EndsWith("white_list must be a list type"));
  EXPECT_THAT(yaml_error("black_list: [1]"),
              EndsWith("All elements in black_list must be string type"));
  EXPECT_THAT(yaml_error("black_list: [true]"),
              EndsWith("All elements in black_list must be string type"));
  EXPECT_THAT(yaml_error("white_list: [conv2d, nope, '1']"),
              EndsWith("Invalid api in white_list: ['nope', '1']"));
  EXPECT_THAT(yaml_error("quantization_api_list: [npu_quantize, my_quant]"),
              EndsWith("Invalid api in quantization_api_list: ['my_quant']"));
  EXPECT_THAT(yaml_error("precision: true"), EndsWith("precision must be int type"));
  EXPECT_THAT(yaml_error("precision: '14'"), EndsWith("precision must be int type"));
  EXPECT_THAT(yaml_error("precision: 1.5"), EndsWith("precision must be int type"));
  EXPECT_THAT(yaml_error("precision: [1]"), EndsWith("precision must be int type"));
  EXPECT_THAT(yaml_error("precision: 21"),
              EndsWith("precision must be between 0 and 20, it is 21"));
  EXPECT_THAT(yaml_error("error_data_path: 7"), EndsWith("error_data_path must be str type"));
  EXPECT_THAT(yaml_error("error_data_path: /no/such/place"),
              EndsWith("error_data_path: /no/such/place does not exist"));
  EXPECT_THAT(yaml_error("- 1"), EndsWith("the keys must be a map type"));
  EXPECT_THAT(yaml_error("white_list: [a\nb: }"), HasSubstr("config.yaml: line "));
}

TEST_F(ConfigTest, JsonReplacesListsAndPathEvenWhereItIsSilent) {
  Config config{.white_list = {"relu"},
                .black_list = {"conv2d"},
                .error_data_path = "x",
                .precision = 3,
                .quantization_api_list = {"q"}};
  const auto silent = with_config_json(config, write("a.json", R"({"task": "statistics"})"));
  ASSERT_TRUE(silent) << silent.error().message;
  EXPECT_THAT(silent->white_list, IsEmpty());
  EXPECT_THAT(silent->black_list, IsEmpty());
  EXPECT_EQ(silent->error_data_path, "./");
  EXPECT_EQ(silent->precision, 3);
  EXPECT_THAT(silent->quantization_api_list, ElementsAre("q"));
  const auto given = with_config_json(
      config, write("b.json", R"({"acc_check": {"white_list": ["mm"], "black_list": ["add"]}})"));
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_THAT(given->white_list, ElementsAre("mm"));
  EXPECT_THAT(given->black_list, ElementsAre("add"));
}

TEST_F(ConfigTest, JsonFaultsAreNamed) {
  EXPECT_THAT(json_error("{"), HasSubstr("Failed to parse JSON from "));
  EXPECT_THAT(json_error("[]"), HasSubstr("Failed to parse JSON from "));
  EXPECT_THAT(json_error(R"({"acc_check": []})"), EndsWith("acc_check must be dict type"));
  EXPECT_THAT(json_error(R"({"acc_check": {"white_list": "mm"}})"),
              EndsWith("white_list must be a list type"));
  EXPECT_THAT(json_error(R"({"acc_check": {"white_list": [1]}})"),
              EndsWith("All elements in white_list must be string type"));
  EXPECT_THAT(json_error(R"({"acc_check": {"black_list": ["nope"]}})"),
              EndsWith("Invalid api in black_list: ['nope']"));
  EXPECT_THAT(json_error(R"({"acc_check": {"error_data_path": "/no/such"}})"),
              EndsWith("error_data_path: /no/such does not exist"));
}

// Document 000: "You can configure the black_list or white_list parameter [...] in config.json." A
// list that is not in force would leave every call checked without a word.
TEST_F(ConfigTest, AListThatWouldHaveNoEffectIsRefused) {
  EXPECT_THAT(json_error(R"({"acc_check": {"whitelist": ["mm"]}})"),
              EndsWith("acc_check: whitelist must be one of white_list, black_list, "
                       "error_data_path; did you mean white_list?"));
  EXPECT_THAT(json_error(R"({"acc_check": {"x": 1}})"),
              EndsWith("x must be one of white_list, black_list, error_data_path"));
  EXPECT_THAT(json_error(R"({"white_list": ["mm"]})"),
              EndsWith(R"(white_list belongs in the section acc_check: {"acc_check": )"
                       R"({"white_list": ...}})"));
  EXPECT_THAT(json_error(R"({"acc_chek": {"white_list": ["mm"]}})"),
              EndsWith("unknown key acc_chek; did you mean acc_check?"));
  EXPECT_THAT(json_error(R"({"acc_check": {"is_online": true}})"),
              HasSubstr("a check while the training runs is not supported"));
  EXPECT_EQ(json_error(R"({"acc_check": {"is_online": false, "host": "", "port": -1}})"),
            "no error");
}

TEST_F(ConfigTest, WhatIsMissingOrUnknownInTheJsonIsSaid) {
  const auto no_section = with_config_json({}, write("a.json", R"({"task": "statistics"})"));
  ASSERT_TRUE(no_section) << no_section.error().message;
  EXPECT_THAT(no_section->warnings,
              ElementsAre(EndsWith("a.json: no section acc_check: every call is checked; the "
                                   "lists of config.yaml do not apply either")));
  const auto odd = with_config_json({}, write("b.json", R"({"acc_check": {}, "zzz": 1})"));
  ASSERT_TRUE(odd) << odd.error().message;
  EXPECT_THAT(odd->warnings, ElementsAre(EndsWith("b.json: unknown key zzz: ignored")));
}

TEST_F(ConfigTest, TheCollectorsPartOfTheJsonIsValidatedToo) {
  EXPECT_EQ(json_error(R"({"task": "tensor", "dump_path": "./out", "rank": [], "level": "L1",
                           "step": [1, "3-4"], "async_dump": false, "extra_info": true,
                           "precision": "low", "risk_level": "ALL", "dump_enable": null,
                           "custom_op_namespaces": ["x"], "tensor": {"scope": []}})"),
            "no error");
  EXPECT_THAT(json_error(R"({"task": "cook"})"), HasSubstr("task must be one of tensor, "));
  EXPECT_THAT(json_error(R"({"level": "L9"})"), HasSubstr("level must be one of L0, L1"));
  EXPECT_THAT(json_error(R"({"dump_path": 3})"), EndsWith("dump_path must be str type"));
  EXPECT_THAT(json_error(R"({"extra_info": 1})"), EndsWith("extra_info must be bool type"));
  EXPECT_THAT(json_error(R"({"rank": 3})"), EndsWith("rank must be list type"));
  for (const char* step : {"[-1]", "[1000001]", "[\"4-3\"]", "[\"1-\"]", "[\"x\"]", "[1.5]",
                           "[\"1-2-3\"]", "[\"\"]"}) {
    EXPECT_THAT(json_error(std::string("{\"step\": ") + step + "}"),
                HasSubstr("step must hold numbers"))
        << step;
  }
  EXPECT_THAT(json_error(R"({"custom_op_namespaces": [1]})"),
              EndsWith("All elements in custom_op_namespaces must be string type"));
}

TEST_F(ConfigTest, TheMostParticularPlaceWins) {
  const fs::path shared = write("env/share/msprobe/config.yaml", "");
  const ConfigPlaces places{
      .option = "a.yaml", .environment = "b.yaml", .program = directory_ / "env/bin/msprobe"};
  EXPECT_EQ(find_config_yaml(places), "a.yaml");
  EXPECT_EQ(find_config_yaml({.environment = "b.yaml", .program = places.program}), "b.yaml");
  EXPECT_EQ(find_config_yaml({.program = places.program}), shared);
  const fs::path installed = write(
      "env/lib/python3.11/site-packages/msprobe/pytorch/api_accuracy_checker/config.yaml", "");
  EXPECT_EQ(find_config_yaml({.program = places.program}), installed);
  EXPECT_EQ(find_config_yaml(
                {.program = installed.parent_path().parent_path().parent_path() / "bin/msprobe"}),
            installed);
  EXPECT_EQ(find_config_yaml({.program = "/no/such/bin/msprobe"}), std::nullopt);
}

}  // namespace
}  // namespace msprobe::check
