// SPDX-License-Identifier: Apache-2.0
#include "dump/call_sites.h"

#include <gtest/gtest.h>

#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

constexpr std::string_view kSites = R"json({
 "Functional.linear.0.forward": {"module": "layers.3.\u0061", "line": "/py/site-packages/m.py:12", "user_line": "/me/train.py:33"},
 "Tensor.add_.0.forward": {"line": "/me/train.py:40", "later": [1, {"x": 2}]},
 "Torch.mm.0.forward": 7
})json";

TEST(CallSites, ModuleAndLines) {
  const Result<CallSites> sites = index_call_sites(file_of(std::string(kSites)), "call_sites.json");
  ASSERT_TRUE(sites.has_value()) << sites.error().message;
  const CallSite linear = sites->where("Functional.linear.0");
  EXPECT_EQ(linear.module, "layers.3.a");
  EXPECT_EQ(linear.line, "/py/site-packages/m.py:12");
  EXPECT_EQ(linear.user_line, "/me/train.py:33");
  EXPECT_EQ(site_text(linear), "layers.3.a, m.py:12, from train.py:33");
  const CallSite add = sites->where("Tensor.add_.0");
  EXPECT_EQ(add.user_line, "/me/train.py:40");
  EXPECT_EQ(site_text(add), "train.py:40");
}

TEST(CallSites, UnknownAndBrokenCallsHaveNoPlace) {
  const Result<CallSites> sites = index_call_sites(file_of(std::string(kSites)), "call_sites.json");
  ASSERT_TRUE(sites.has_value());
  EXPECT_TRUE(sites->where("Torch.mm.0").empty());
  EXPECT_TRUE(sites->where("Torch.mm.1").empty());
  EXPECT_EQ(site_text({}), "");
}

TEST(CallSites, ABrokenFileIsAnError) {
  EXPECT_FALSE(index_call_sites(file_of(R"({"a": {)"), "call_sites.json").has_value());
  EXPECT_FALSE(call_sites_of("/nowhere/dump.json").has_value());
}

}  // namespace
}  // namespace msprobe::dump
