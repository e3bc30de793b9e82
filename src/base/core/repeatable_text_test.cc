// SPDX-License-Identifier: Apache-2.0
#include "core/repeatable_text.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(RepeatableText, TimesProcessesAndDevicesAreLeftOut) {
  EXPECT_EQ(repeatable_text("[ERROR] 2026-11-18-20:33:32 (PID:11814, Device:0, RankID:-1) "
                            "ERR00100 PTA call acl api failed"),
            "[ERROR] (PID, Device, RankID) ERR00100 PTA call acl api failed");
  EXPECT_EQ(repeatable_text("[PID: 77] 2026-11-18-20:33:32.123.456 Kernel_Fault(EZ9999): "
                            "device_id=1, stream_id = 3, task_id=12, error code is 507015"),
            "[PID] Kernel_Fault(EZ9999): device_id, stream_id, task_id, error code is 507015");
  EXPECT_EQ(repeatable_text("found at least two devices, npu:1 and cpu!"),
            "found at least two devices, npu and cpu!");
  EXPECT_EQ(repeatable_text("at 12:30:59.123456 on thread 4, process 8."),
            "at on thread, process.");
}

TEST(RepeatableText, AddressesAndDirectoriesAreLeftOut) {
  EXPECT_EQ(repeatable_text("pc 0x12c041200000, mask 0x91"), "pc , mask 0x91");
  EXPECT_EQ(repeatable_text("cannot open '/usr/local/Ascend/lib64/libx.so': no such file"),
            "cannot open 'libx.so': no such file");
  EXPECT_EQ(repeatable_text("f:../csrc/a/OpCommand.cpp:270 failed"),
            "f:../csrc/a/OpCommand.cpp:270 failed");
}

TEST(RepeatableText, TheRestStays) {
  for (const std::string_view text :
       {"", "shape (2, 3), expected 4", "call aclnnGelu failed, error code is 561103", "10/20 ok",
        "EZ1001: a/b\n\tdetails", "valid 3", "idle 4", "ratio 1:2:3", "version 2.13.0"}) {
    EXPECT_EQ(repeatable_text(text), text);
  }
}

}  // namespace
}  // namespace msprobe
