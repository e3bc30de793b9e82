// SPDX-License-Identifier: Apache-2.0
#include "tables/text_table.h"

#include <gtest/gtest.h>

namespace msprobe::tables {
namespace {

TEST(TextTable, AlignsColumns) {
  const TextTable table{{"API", "Verdict"}, {{"Torch.add.0", "pass"}, {"é", "error"}}};
  EXPECT_EQ(render(table, false),
            "API          Verdict\n"
            "-----------  -------\n"
            "Torch.add.0  pass\n"
            "é            error\n");
}

TEST(TextTable, ColoursOnlyVerdicts) {
  const std::string text = render({{"a", "b"}, {{"x", "error"}}}, true);
  EXPECT_NE(text.find("\033[31merror\033[0m"), std::string::npos);
  EXPECT_EQ(text.find("\033[31mx"), std::string::npos);
}

}  // namespace
}  // namespace msprobe::tables
