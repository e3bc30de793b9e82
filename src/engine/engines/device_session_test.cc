// SPDX-License-Identifier: Apache-2.0
#include "engines/device_session.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::engines {
namespace {

using ::testing::HasSubstr;

constexpr double kPatience = 60;
const Numbers kNumbers{DType::kUInt8, {3}, "abc"};

class Sessions : public testing::Test {
 protected:
  Sessions() { ::setenv("MSPROBE_FAKE_DIRECTORY", directory_.path().c_str(), 1); }
  Result<DeviceSession> open(const std::string& device) {
    return DeviceSession::open({MSPROBE_FAKE_ENGINE, {"--device", device}}, kPatience);
  }
  ScratchDirectory directory_;
};

TEST_F(Sessions, AnswerOneOperationAfterAnother) {
  auto session = open("cpu");
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->hello().device, "cpu");
  for (int i = 0; i < 3; ++i) {
    const auto result = session->compute({"copy", {kNumbers}});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->bytes, "abc");
  }
  // More than a pipe holds.
  const Numbers large{DType::kUInt8, {1 << 22}, std::string(1 << 22, 'x')};
  const auto back = session->compute({"copy", {large}});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->bytes.size(), large.bytes.size());
  EXPECT_FALSE(session->compute({"copy", {}}));
}

TEST_F(Sessions, ReplaceAnEngineThatEnded) {
  auto session = open("cpu");
  ASSERT_TRUE(session);
  const auto lost = session->compute({"crash", {kNumbers}});
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("crash: the engine ended"));
  EXPECT_TRUE(session->compute({"copy", {kNumbers}}));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(session->compute({"exit", {kNumbers}}));
  EXPECT_THAT(session->compute({"copy", {kNumbers}}).error().message, HasSubstr("engines ended"));
}

TEST_F(Sessions, SayThatThereIsNoSuchDevice) {
  const auto session = open("none:0");
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, HasSubstr("no device none:0"));
}

}  // namespace
}  // namespace msprobe::engines
