// SPDX-License-Identifier: Apache-2.0
#include "check/cost.h"

#include <string>

#include <gtest/gtest.h>

namespace msprobe::check {
namespace {

TEST(Cost, FollowsShapesAndOperator) {
  const auto cost = [](std::string_view name, std::string_view forward,
                       std::string_view back = "") {
    dump::CallSlice call;
    call.full_name = name;
    call.forward_json = forward;
    call.backward_json = back;
    return estimate_cost(call);
  };
  const std::string small = R"({"input_args": [{"shape": [2, 3]}]})";
  const std::string large = R"({"input_args": [{"shape":[1000,1000]}, {"shape": [1000, 1000]}]})";
  EXPECT_LT(cost("Torch.add.0", small), cost("Torch.add.0", large));
  EXPECT_LT(cost("Torch.add.0", large), cost("Torch.add.0", large, large));
  EXPECT_GT(cost("Torch.matmul.0", large), 100 * cost("Torch.add.0", large));
  EXPECT_LT(cost("Torch.add.0", R"({"shape": [99999999999, 99999999999, 99999999999]})"), 1e16);
  EXPECT_GT(cost("Torch.add.0", R"({"shape": [-5, "x"], "shape": )"), 0);
}

}  // namespace
}  // namespace msprobe::check
