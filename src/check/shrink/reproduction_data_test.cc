// SPDX-License-Identifier: Apache-2.0
#include "shrink/reproduction_data.h"

#include <fstream>

#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::shrink {
namespace {

namespace fs = std::filesystem;

TEST(HasData, ATextThatLooksLikeAKeyIsNoFile) {
  dump::ForwardRecord forward;
  forward.input_args.push_back({std::string("a \"data_name\" in a text")});
  EXPECT_FALSE(has_data(forward));
  dump::TensorRecord tensor;
  forward.output.push_back({tensor});
  EXPECT_FALSE(has_data(forward));
  tensor.data_name = "Torch.add.0.forward.input.0.pt";
  forward.input_args.push_back({dump::List{{tensor}}});
  EXPECT_TRUE(has_data(forward));
}

// An error used to be forgotten when the next file could be copied.
TEST(CopyData, OneFileThatCannotBeCopiedIsAnError) {
  const ScratchDirectory scratch;
  for (const char* name : {"a/Torch.add.0.x.pt", "a/Torch.add.0.y.pt", "a/Torch.add.0.z.pt"}) {
    scratch.write(name, "1");
  }
  fs::create_directories(scratch.path() / "b" / "Torch.add.0.x.pt");  // in the way
  EXPECT_FALSE(copy_data(scratch.path() / "a", "Torch.add.0", scratch.path() / "b"));
  ASSERT_TRUE(copy_data(scratch.path() / "a", "Torch.add.0", scratch.path() / "c"));
  EXPECT_EQ(read_text(scratch.path() / "c" / "Torch.add.0.z.pt"), "1");
}

}  // namespace
}  // namespace msprobe::shrink
