// SPDX-License-Identifier: Apache-2.0
#include "core/call_name.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(CallName, ThreeOrFourSegments) {
  const auto conv = parse_call_name("Functional.conv2d.0");
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->type, "Functional");
  EXPECT_EQ(conv->bare_name, "conv2d");
  EXPECT_EQ(conv->index, "0");
  const auto norm = parse_call_name("Torch.linalg.norm.12");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->bare_name, "linalg.norm");
  EXPECT_EQ(norm->index, "12");
  for (const char* odd : {"", "Torch", "Torch.add", "a.b.c.d.0", "....", "a.b.c.d.e.f"}) {
    EXPECT_FALSE(parse_call_name(odd)) << odd;
  }
  EXPECT_EQ(api_of("Torch.linalg.norm.12"), "Torch.linalg.norm");
}

TEST(RowName, CallDirectionAndPart) {
  const auto row = parse_row_name("Torch.linalg.norm.3.backward.output.1.0");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->call, "Torch.linalg.norm.3");
  EXPECT_FALSE(row->forward);
  EXPECT_EQ(row->part, "output.1.0");
  const auto entry = parse_row_name("Torch.add.0.forward");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->call, "Torch.add.0");
  EXPECT_TRUE(entry->forward);
  EXPECT_EQ(entry->part, "");
  for (const char* odd : {"", ".", "Torch.add.0", "forward", "Torch.add.0.sideways.output.0"}) {
    EXPECT_FALSE(parse_row_name(odd)) << odd;
  }
}

TEST(RowName, RowsAndEntriesNameTheirCall) {
  EXPECT_EQ(call_of("Torch.add.0"), "Torch.add.0");
  EXPECT_EQ(call_of("Torch.add.0.backward"), "Torch.add.0");
  EXPECT_EQ(call_of("Torch.add.0.forward.output.3"), "Torch.add.0");
  EXPECT_EQ(call_of("Functional.multi_head_attention_forward.0"),
            "Functional.multi_head_attention_forward.0");
}

}  // namespace
}  // namespace msprobe
