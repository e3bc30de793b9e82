#include "torchair/real_names.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include "ge/file_name.h"

namespace msprobe::torchair {

bool has_original(const std::filesystem::path& info) {
  const bool is_array = info.extension() == ".npy";
  std::string name = info.stem().string();
  const std::size_t field = name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1;
  name.resize(std::min(name.find_first_not_of("0123456789", field), name.size()));
  if (is_array) name += ".npy";
  std::error_code ignored;
  return name != info.filename() && std::filesystem::exists(info.parent_path() / name, ignored);
}

RealNames::RealNames(const std::filesystem::path& directory) {
  std::ifstream mapping(directory / "mapping.csv", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(mapping), {}};
  for (ge::Mapping& row : ge::read_mapping(text)) names_.emplace(row.written, row.real);
}

std::string RealNames::of(const std::string& written) const {
  if (const auto known = names_.find(written); known != names_.end()) return known->second;
  const std::size_t digits = std::min(written.find_first_not_of("0123456789"), written.size());
  const std::string_view suffix = std::string_view(written).substr(digits);
  const auto known = names_.find(written.substr(0, digits));
  if (known == names_.end() || !suffix.ends_with(".npz")) return written;
  return known->second + std::string(suffix);
}

}  // namespace msprobe::torchair
