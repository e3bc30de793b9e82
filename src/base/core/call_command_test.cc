// SPDX-License-Identifier: Apache-2.0
#include "core/call_command.h"

#include <gtest/gtest.h>

#include "core/shell_words.h"
#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

using Words = std::vector<std::string>;

CallCommand whole() {
  CallCommand command("acc_check");
  command.add("-api_info", "a b/dump.json").add("-d", "sim:1").add("--sim-config", "");
  return command.add_flag("--hf32").add("--seed", "7");
}

TEST(CallCommand, WordsBecomeTextAtTheEnd) {
  EXPECT_EQ(whole().words(), (Words{"msprobe", "acc_check", "-api_info", "a b/dump.json", "-d",
                                    "sim:1", "--hf32", "--seed", "7"}));
  EXPECT_EQ(whole().text_for("Torch.mm.0"),
            "msprobe acc_check -api_info 'a b/dump.json' -d sim:1 --hf32 --seed 7 --only "
            "Torch.mm.0");
  EXPECT_EQ(whole().text_for("Torch.exp.$(touch P1)"),
            whole().text() + " --only 'Torch.exp.$(touch P1)'");
  EXPECT_EQ(whole().text_for("-Torch.exp.0"), whole().text() + " --only=-Torch.exp.0");
  EXPECT_EQ(CallCommand("acc_check").add("-api_info", "-x.json").text(),
            "msprobe acc_check -api_info ./-x.json");
  EXPECT_EQ(CallCommand().text_for("Torch.mm.0"), "");
}

TEST(CallCommand, ComesBackFromItsWords) {
  EXPECT_EQ(CallCommand::parse(whole().words()), whole());
  for (const std::string call : {"Torch.mm.0", "Torch.exp.$(touch P1)", "-x", "it's"}) {
    const auto words = shell_split(whole().text_for(call));
    ASSERT_TRUE(words) << call;
    EXPECT_EQ(CallCommand::parse(*words), whole());
  }
  // As version 0.2.0 wrote it.
  EXPECT_EQ(CallCommand::parse(Words{"msprobe", "run_ut", "-forward", "f.json", "--only"}),
            CallCommand("run_ut").add("-forward", "f.json"));
}

TEST(CallCommand, OtherWordsAreRefused) {
  const std::vector<Words> all = {{},
                                  {"msprobe"},
                                  {"curl", "acc_check"},
                                  {"/tmp/msprobe", "acc_check"},
                                  {"msprobe", "report"},
                                  {"msprobe", "acc_check", "--engine", "/tmp/x"},
                                  {"msprobe", "acc_check", "-api_info"},
                                  {"msprobe", "acc_check", "-api_info", "--engine"},
                                  {"msprobe", "acc_check", "-api_info", ""},
                                  {"msprobe", "acc_check", "-api_info", "a\nb"},
                                  {"msprobe", "acc_check", "-d", "a\x1b[2J"},
                                  {"msprobe", "acc_check", "-d", "\xe2\x80\xae"},
                                  {"msprobe", "acc_check", "curl"},
                                  {"msprobe", "acc_check", "--only", "a", "b"},
                                  {"msprobe", "acc_check", "--hf32", "curl"},
                                  {"msprobe", "acc_check", ";", "curl"}};
  for (const Words& words : all) {
    EXPECT_EQ(CallCommand::parse(words), std::nullopt) << shell_command(words);
  }
}

TEST(CallCommand, ShrinkTakesWhatItKnows) {
  CallCommand command("acc_check");
  command.add("-api_info", "d.json").add("-d", "sim").add("--sim-config", "s.yaml");
  command.add_flag("--allow-tf32").add("--standards", "mine.yaml").add("--seed", "3");
  EXPECT_EQ(command.add_flag("-j").as_shrink().text_for("x"),
            "msprobe shrink -api_info d.json -d sim --sim-config s.yaml --seed 3 --only x");
  EXPECT_TRUE(CallCommand("run_ut").add("-forward", "f.json").as_shrink().empty());
  EXPECT_TRUE(CallCommand().as_shrink().empty());
}

TEST(CallCommand, PathsWorkFromAnywhere) {
  const ScratchDirectory scratch;
  scratch.write("a b.json", "{}");
  scratch.write("sim", "a file, not the device");
  const std::string base = scratch.path().string();
  CallCommand command("acc_check");
  command.add("-api_info", "./a b.json").add("-d", "sim").add("--config-yaml", "gone.yaml");
  EXPECT_EQ(command.add("--data_path", ".").from_anywhere(scratch.path()).words(),
            (Words{"msprobe", "acc_check", "-api_info", base + "/a b.json", "-d", "sim",
                   "--config-yaml", "gone.yaml", "--data_path", base + "/"}));
  EXPECT_TRUE(CallCommand().from_anywhere(scratch.path()).empty());
}

TEST(CallCommand, CodeThatOnlyAFileNamesIsLeftOut) {
  const auto naming = [](const char* library) {
    return CallCommand("acc_check").add("--device-lib", library);
  };
  CallCommand command("acc_check");
  command.add("-api_info", "d.json").add("--device-lib", "evil.so");
  EXPECT_EQ(command.without_code({}).text(), "msprobe acc_check -api_info d.json");
  EXPECT_EQ(command.without_code(naming("mine.so")).text(), "msprobe acc_check -api_info d.json");
  EXPECT_EQ(command.without_code(naming("evil.so")), command);
  CallCommand functions("acc_check");
  functions.add("-api_info", "d.json").add("--reference", "ops.py").add("--kernel", "impl.py");
  EXPECT_EQ(functions.without_code(CallCommand("acc_check").add("--kernel", "impl.py")).text(),
            "msprobe acc_check -api_info d.json --kernel impl.py");
}

}  // namespace
}  // namespace msprobe
