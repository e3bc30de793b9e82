// SPDX-License-Identifier: Apache-2.0
#include "check/check_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class CheckRequestTest : public ::testing::Test {
 protected:
  CheckRequest request() const {
    CheckRequest made;
    made.api_info = scratch_.write("dump.json", "{}").string();
    made.out = (scratch_.path() / "out").string();
    made.engine.program = MSPROBE_FAKE_ENGINE;
    return made;
  }
  static std::string refusal(const CheckRequest& request) {
    const Result<CheckOptions> options = options_of(request, {});
    return options ? "accepted" : options.error().message;
  }

  ScratchDirectory scratch_;
};

TEST_F(CheckRequestTest, FilesAreFoundAndDefaultsFilledIn) {
  const Result<CheckOptions> options = options_of(request(), {});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->dump.filename(), "dump.json");
  EXPECT_TRUE(fs::is_directory(options->out_directory));
  EXPECT_THAT(options->request.devices, ElementsAre("0"));
  EXPECT_EQ(options->request.engine.program, MSPROBE_FAKE_ENGINE);
  EXPECT_TRUE(options->config.error_data_path.is_absolute());
  EXPECT_GE(options->dispatch.worker_memory_bytes, std::uint64_t{1} << 30);
}

TEST_F(CheckRequestTest, TheEnvironmentNamesTheEngineUnlessAnOptionDoes) {
  CheckRequest asked = request();
  asked.engine.program.clear();
  const Result<CheckOptions> options =
      options_of(asked, {.program = {}, .engine = MSPROBE_FAKE_ENGINE, .config = std::nullopt});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->request.engine.program, MSPROBE_FAKE_ENGINE);
}

TEST_F(CheckRequestTest, OptionsWinOverTheConfiguration) {
  CheckRequest asked = request();
  asked.config_yaml = scratch_.write("config.yaml", "precision: 5\nwhite_list: [mm]\n").string();
  asked.output.precision = 9;
  asked.worker_memory_mb = 7;
  const Result<CheckOptions> options = options_of(asked, {});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->config.white_list, ElementsAre("mm"));
  EXPECT_EQ(options->config.precision, 9);
  EXPECT_EQ(options->dispatch.worker_memory_bytes, std::uint64_t{7} << 20);
}

TEST_F(CheckRequestTest, FilesInEachOthersPlaceAreNamed) {
  CheckRequest asked = request();
  asked.api_info.clear();
  EXPECT_EQ(
      refusal(asked),
      "Please provide api_info_file for offline acc_check. It is a dump.json, or the dump_path "
      "of a recording: msprobe acc_check dump");
  asked.api_info = scratch_.write("a.csv", "").string();
  EXPECT_THAT(refusal(asked), EndsWith("-csv_path the result CSV of the run to continue."));
  asked = request();
  asked.resume_csv = "dump.json";
  EXPECT_THAT(refusal(asked), HasSubstr("should be a file of type .csv!"));
  asked.resume_csv = "out/accuracy_checking_details_20260101000000.csv";
  EXPECT_THAT(refusal(asked), EndsWith("accuracy_checking_result_20260101000000.csv"));
}

TEST_F(CheckRequestTest, OptionsOfTheSimulatedDeviceNeedIt) {
  CheckRequest asked = request();
  asked.engine.sim_profile = "tf32";
  asked.devices = {"cpu"};
  EXPECT_THAT(refusal(asked), HasSubstr("add -d sim"));
  asked.devices = {"sim"};
  EXPECT_EQ(refusal(asked), "accepted");
  asked.devices = {"0"};
  EXPECT_EQ(refusal(asked), "accepted");
}

TEST_F(CheckRequestTest, RunUtOverwritesNothing) {
  CheckRequest asked = request();
  asked.api_info.clear();
  asked.older.forward = scratch_.write("forward_info_0.json", "{}").string();
  asked.older.backward = scratch_.write("backward_info_0.json", "{}").string();
  const Result<CheckOptions> options = options_of(asked, {});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_TRUE(options->older.has_value());
  EXPECT_EQ(options->older->data, options->dump.parent_path());
  scratch_.write("out/accuracy_checking_details.csv", "");
  EXPECT_THAT(refusal(asked), HasSubstr("accuracy_checking_details.csv already exists"));
}

TEST_F(CheckRequestTest, ACardMustHaveAUnit) {
  CheckRequest asked = request();
  asked.card_file = scratch_.write("card.json", "{}").string();
  EXPECT_THAT(refusal(asked), HasSubstr("not a device card"));
  const auto card_with = [](const std::string& value, const std::string& confidence) {
    return R"({"schema": "msprobe device card", "version": 1, "device": "npu:0", "torch": "2.1",)"
           R"( "msprobe": "1", "curves": [], "lines": [{"section": "products",)"
           R"( "subject": "float16", "field": "unit", "value": )" +
           value + R"(, "confidence": ")" + confidence + R"(", "evidence": ""}]})";
  };
  scratch_.write("card.json", card_with("null", "none"));
  EXPECT_THAT(refusal(asked), HasSubstr("no matrix unit was found on npu:0"));
  scratch_.write("card.json", card_with("\"block=4,bits=23\"", "high"));
  const Result<CheckOptions> options = options_of(asked, {});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_EQ(options->card.products.size(), 1U);
  EXPECT_EQ(options->card.products[0].dtype, DType::kFloat16);
  EXPECT_TRUE(options->card.products[0].certain);
  asked.verdict.profile = documented::Profile::kReference;
  EXPECT_THAT(refusal(asked), HasSubstr("--card is for the strict status"));
}

TEST_F(CheckRequestTest, TheRerunLineHasAllThatChangesRows) {
  CheckRequest asked;
  asked.api_info = "dump.json";
  EXPECT_EQ(rerun_command(asked).text(), "msprobe acc_check -api_info dump.json");
  asked.devices = {"sim:1", "sim:2"};
  asked.engine.sim_profile = "tf32";
  asked.engine.replay.seed = 7;
  asked.engine.replay.allow_tf32 = true;
  asked.card_file = "card.json";
  asked.verdict.standards_file = "my.yaml";
  asked.workers = 4;
  EXPECT_EQ(rerun_command(asked).text(),
            "msprobe acc_check -api_info dump.json -d sim:1 --sim-profile tf32 --allow-tf32 "
            "--card card.json --standards my.yaml --seed 7");
  asked = {};
  asked.older = {"f.json", "b.json", "data"};
  EXPECT_EQ(rerun_command(asked).text(),
            "msprobe run_ut -forward f.json -backward b.json --data_path data");
}

}  // namespace
}  // namespace msprobe::check
