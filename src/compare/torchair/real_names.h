// SPDX-License-Identifier: Apache-2.0
// The names files would have had: too long ones were written under another, which mapping.csv
// lists.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "torchair/dump_files.h"

namespace msprobe::torchair {

class RealNames {
 public:
  RealNames(const std::filesystem::path& directory, DumpFiles& files);

  // The name itself where it is not listed. A converted GE file has the user's suffix behind the
  // digits of the listed name, and so has its real name.
  std::string of(const std::string& written) const;

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace msprobe::torchair
