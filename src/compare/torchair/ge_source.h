// SPDX-License-Identifier: Apache-2.0
// Where the data of a dumped GE operator is: one file, or one for each slice it ran in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ge/file_name.h"

namespace msprobe::torchair {

struct GeSource {
  struct Slice {
    std::filesystem::path path;
    std::uint32_t number = 0;  // of the thread, or of the manual slice
  };

  std::filesystem::path path;  // of the first slice where there are several
  ge::FileKind kind = ge::FileKind::kBinary;
  std::vector<Slice> slices;  // of one execution, in order of time and number; empty: one file
};

}  // namespace msprobe::torchair
