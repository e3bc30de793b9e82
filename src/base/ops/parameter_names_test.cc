// SPDX-License-Identifier: Apache-2.0
#include "ops/parameter_names.h"

#include <gmock/gmock.h>

namespace msprobe::ops {
namespace {

using testing::ElementsAre;

TEST(ParameterNames, AreThoseOfThePythonFunction) {
  EXPECT_THAT(parameter_names("Functional.linear", 3), ElementsAre("input", "weight", "bias"));
  EXPECT_THAT(parameter_names("Tensor.__add__", 2), ElementsAre("self", "other"));
  EXPECT_THAT(parameter_names("Torch.matmul", 2), ElementsAre("input", "other"));
  EXPECT_THAT(parameter_names("NPU.npu_rms_norm", 2), ElementsAre("input", "gamma"));
  EXPECT_THAT(parameter_names("MintFunctional.linear", 2), ElementsAre("input", "weight"));
}

TEST(ParameterNames, ItemsOfAListMayBeGivenOneByOne) {
  EXPECT_THAT(parameter_names("Tensor.permute", 2), ElementsAre("self", "dims"));
  EXPECT_THAT(parameter_names("Tensor.permute", 3), ElementsAre("self", "dims[0]", "dims[1]"));
}

TEST(ParameterNames, WhatIsNotKnownIsANumber) {
  EXPECT_THAT(parameter_names("Torch.max", 2), ElementsAre("input", "1")) << "dim, or other";
  EXPECT_THAT(parameter_names("Functional.sigmoid", 2), ElementsAre("input", "1"));
  EXPECT_THAT(parameter_names("Custom.mine", 2), ElementsAre("0", "1"));
  EXPECT_THAT(parameter_names("", 0), ElementsAre());
}

}  // namespace
}  // namespace msprobe::ops
