// SPDX-License-Identifier: Apache-2.0
#include "libtorch/device.h"

#include <gtest/gtest.h>

#include "libtorch/jit_compile.h"

namespace {

std::optional<bool> handed_over;

}  // namespace

// What a back end's library may offer; the test program exports it.
extern "C" void msprobe_device_jit_compile(bool on) { handed_over = on; }

namespace msprobe::libtorch {
namespace {

// Document 000: "-d: the ID of the device where UT code runs. The default value is 0", "up to eight
// devices (0 to 7)". This test runs where PyTorch has a CPU alone.
TEST(Device, ABareIdIsTheCpuWhereThereIsNothingElse) {
  if (available_devices().size() > 1) GTEST_SKIP() << "this machine has an accelerator";
  for (const char* name : {"0", "7", "cpu", "cpu:0", "cpu:7"}) {
    const Result<at::Device> device = open_device(name);
    ASSERT_TRUE(device) << name << ": " << device.error().message;
    EXPECT_EQ(*device, at::Device(at::kCPU)) << name;
  }
}

TEST(Device, OnlyEightIdsOfTheCpu) {
  for (const char* name :
       {"cpu:8", "cpu:99", "cpu:257", "99999999999999999999", "nothing", "nothing:0"}) {
    const Result<at::Device> device = open_device(name);
    ASSERT_FALSE(device) << name;
    EXPECT_NE(device.error().message.find(name), std::string::npos);
    EXPECT_NE(device.error().message.find("cpu takes the ids 0 to 7"), std::string::npos);
  }
}

TEST(Device, ABareIdIsNeverTheCpuWhereABackEndWasLoaded) {
  if (available_devices().size() > 1) GTEST_SKIP() << "this machine has an accelerator";
  EXPECT_FALSE(open_device("0", BareIds::kLoadedBackEnd));
  EXPECT_TRUE(open_device("cpu", BareIds::kLoadedBackEnd));
}

// Document 000: "-j: Enables JIT compilation."
TEST(JitCompile, IsHandedToTheBackEnd) {
  EXPECT_TRUE(set_jit_compile(true));
  EXPECT_EQ(handed_over, true);
  EXPECT_TRUE(set_jit_compile(false));
  EXPECT_EQ(handed_over, false);
}

}  // namespace
}  // namespace msprobe::libtorch
