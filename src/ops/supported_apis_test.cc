#include "ops/supported_apis.h"

#include <set>

#include <gtest/gtest.h>

namespace msprobe::ops {
namespace {

TEST(SupportedApis, GroupsHaveTheirDocumentedSizes) {
  EXPECT_EQ(supported_apis(ApiGroup::kFunctional).size(), 126U);
  EXPECT_EQ(supported_apis(ApiGroup::kTensor).size(), 491U);
  EXPECT_EQ(supported_apis(ApiGroup::kTorch).size(), 506U);
  EXPECT_EQ(supported_apis(ApiGroup::kVf).size(), 1U);
  EXPECT_EQ(supported_apis(ApiGroup::kTorchNpu).size(), 235U);
  EXPECT_EQ(supported_apis(ApiGroup::kAten).size(), 723U);
  EXPECT_EQ(supported_apis(ApiGroup::kDistributed).size(), 18U);
  EXPECT_EQ(supported_apis(ApiGroup::kNpuDistributed).size(), 2U);
  EXPECT_EQ(supported_apis(ApiGroup::kMindSpeed).size(), 17U);
}

TEST(SupportedApis, ListsMayNameTheUnionOfFourGroups) {
  std::set<std::string_view> listed;
  for (const ApiGroup group :
       {ApiGroup::kFunctional, ApiGroup::kTensor, ApiGroup::kTorch, ApiGroup::kTorchNpu}) {
    listed.insert(supported_apis(group).begin(), supported_apis(group).end());
  }
  EXPECT_EQ(listed.size(), 977U);
  EXPECT_TRUE(may_be_listed("conv2d"));
  EXPECT_TRUE(may_be_listed("linalg.norm"));
  EXPECT_TRUE(may_be_listed("npu_swiglu"));
  EXPECT_FALSE(may_be_listed("all_reduce"));
  EXPECT_FALSE(may_be_listed("Conv2d"));
  EXPECT_FALSE(may_be_listed(""));
}

}  // namespace
}  // namespace msprobe::ops
