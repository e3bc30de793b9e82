// SPDX-License-Identifier: Apache-2.0
#include "yaml/load_yaml.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::yaml {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(load(text));
  } catch (const YAML::Exception& error) {
    return error.what();
  }
  return {};
}

TEST(LoadYaml, ReadsWhatYamlCppReads) {
  const YAML::Node node = load("a: &x [1, two]\nb: *x\n");
  EXPECT_EQ(node["b"][1].as<std::string>(), "two");
  EXPECT_TRUE(load("").IsNull());
  EXPECT_THAT(refusal("a: ["), HasSubstr("end of sequence flow not found"));
}

// Nine lines that stand for 10^9 words.
TEST(LoadYaml, AliasesCountAsWhatTheyStandFor) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) {
      text += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    }
    text += "]\n";
  }
  EXPECT_THAT(refusal(text), HasSubstr("more than 1000000 values"));
  const std::string name(100'000, 'n');
  std::string names = "a: &a " + name + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) names += ", *a";
  EXPECT_THAT(refusal(names + "]\n"), HasSubstr("64 MB of text"));
}

TEST(LoadYaml, AnAliasOfItselfIsRefused) {
  EXPECT_THAT(refusal("a: &a [1, *a]"), HasSubstr("inside of what it stands for"));
  EXPECT_THAT(refusal("a: *b"), HasSubstr("the referenced anchor is not defined"));
}

TEST(LoadYaml, DepthIsLimited) { EXPECT_NE(refusal(std::string(100'000, '[')), ""); }

}  // namespace
}  // namespace msprobe::yaml
