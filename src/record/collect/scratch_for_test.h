// SPDX-License-Identifier: Apache-2.0
// Tests with a directory for their files.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::collect {

class InScratch : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (scratch_.path() / name).string(); }

 private:
  ScratchDirectory scratch_;
};

}  // namespace msprobe::collect
