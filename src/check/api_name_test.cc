#include "check/api_name.h"

#include <gtest/gtest.h>

namespace msprobe::check {
namespace {

TEST(ApiName, ThreeOrFourSegments) {
  const auto conv = parse_api_name("Functional.conv2d.0");
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->type, "Functional");
  EXPECT_EQ(conv->bare_name, "conv2d");
  EXPECT_EQ(conv->index, "0");
  const auto norm = parse_api_name("Torch.linalg.norm.12");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->bare_name, "linalg.norm");
  EXPECT_EQ(norm->index, "12");
  for (const char* odd : {"", "Torch", "Torch.add", "a.b.c.d.0", "....", "a.b.c.d.e.f"}) {
    EXPECT_FALSE(parse_api_name(odd)) << odd;
  }
}

TEST(ApiName, RowsAndEntriesNameTheirCall) {
  EXPECT_EQ(call_of("Torch.add.0"), "Torch.add.0");
  EXPECT_EQ(call_of("Torch.add.0.forward"), "Torch.add.0");
  EXPECT_EQ(call_of("Torch.add.0.backward"), "Torch.add.0");
  EXPECT_EQ(call_of("Torch.add.0.forward.output.3"), "Torch.add.0");
  EXPECT_EQ(call_of("Torch.linalg.norm.0.backward.output.0"), "Torch.linalg.norm.0");
  EXPECT_EQ(call_of("Functional.multi_head_attention_forward.0"),
            "Functional.multi_head_attention_forward.0");
}

}  // namespace
}  // namespace msprobe::check
