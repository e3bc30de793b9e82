// The names files would have had: too long ones were written under another, which mapping.csv
// lists.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace msprobe::torchair {

// Whether the dump file that a converted one was made of is still there, "x.17" of
// "x.17_min_max.npz" or "y.5.npy" of "y.5_min_max.npy": then it is the original that counts.
bool has_original(const std::filesystem::path& info);

class RealNames {
 public:
  explicit RealNames(const std::filesystem::path& directory);

  // The name itself where it is not listed. A converted GE file has the user's suffix behind the
  // digits of the listed name, and so has its real name.
  std::string of(const std::string& written) const;

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace msprobe::torchair
