// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/adapter.h"

namespace msprobe::execute {
namespace {

TEST(Signature, ReadsDefaultsKeywordOnlyAndRest) {
  const Signature signature("input, size=(2, 3), mode='mean', eps=1e-05, flag=False, *, out=None");
  const auto& parameters = signature.parameters();
  ASSERT_EQ(parameters.size(), 6U);
  EXPECT_FALSE(parameters[0].default_value);
  EXPECT_EQ(as_integers(*parameters[1].default_value), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(*parameters[2].default_value->as<std::string>(), "mean");
  EXPECT_EQ(as_real(*parameters[3].default_value), 1e-05);
  EXPECT_FALSE(*parameters[4].default_value->as<bool>());
  EXPECT_TRUE(parameters[5].keyword_only);
  EXPECT_TRUE(Signature("*tensors").parameters()[0].rest);
}

TEST(Bound, TakesPositionalKeywordAndDefault) {
  const Signature signature("input, dim=-1, keepdim=False");
  const PyCall call{.args = {{at::ones({2})}}, .kwargs = {{"keepdims", {true}}}};
  const Bound bound(signature, call);
  EXPECT_EQ(bound.tensor("input").numel(), 2);
  EXPECT_EQ(bound.integer("dim"), -1);
  EXPECT_TRUE(bound.boolean("keepdim"));
  EXPECT_FALSE(bound.given("dim"));
  EXPECT_TRUE(bound.given("keepdim"));
}

TEST(Bound, TakesAParameterByEachOfItsNames) {
  const Signature signature("self|x|input, gamma=2");
  for (const std::string name : {"self", "x", "input"}) {
    const PyCall call{.args = {}, .kwargs = {{name, {std::int64_t{7}}}}};
    EXPECT_EQ(Bound(signature, call).integer("self"), 7) << name;
  }
  const PyCall twice{.args = {{std::int64_t{7}}}, .kwargs = {{"x", {std::int64_t{8}}}}};
  EXPECT_THROW(Bound(signature, twice), BindError);
}

TEST(Bound, CollectsTheRest) {
  const Signature signature("equation, *operands");
  const PyCall call{.args = {{std::string("i,i")}, {at::ones({2})}, {at::ones({2})}}};
  EXPECT_EQ(Bound(signature, call).tensors("operands").size(), 2U);
}

TEST(Bound, RefusesWhatPythonRefuses) {
  const Signature signature("input, dim=-1");
  const auto message = [&](const PyCall& call) -> std::string {
    try {
      const Bound bound(signature, call);
    } catch (const BindError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({}), testing::HasSubstr("missing required argument 'input'"));
  EXPECT_THAT(message({.args = {{1.0}}, .kwargs = {{"input", {1.0}}}}),
              testing::HasSubstr("multiple values for argument 'input'"));
  EXPECT_THAT(message({.args = {{1.0}}, .kwargs = {{"foo", {1.0}}}}),
              testing::HasSubstr("unexpected keyword argument 'foo'"));
  EXPECT_THAT(message({.args = {{1.0}, {1.0}, {1.0}}}),
              testing::HasSubstr("takes 2 positional arguments but 3 were given"));
}

TEST(Bound, WidensOneNumberToAList) {
  const Signature signature("kernel_size");
  const PyCall call{.args = {{std::int64_t{3}}}};
  const Bound bound(signature, call);
  EXPECT_EQ(bound.integers("kernel_size", 2), (std::vector<std::int64_t>{3, 3}));
  EXPECT_THROW(bound.integers("kernel_size"), BindError);
}

}  // namespace
}  // namespace msprobe::execute
