// SPDX-License-Identifier: Apache-2.0
#include "torchair/real_names.h"

#include <algorithm>
#include <string_view>

#include "core/look_up.h"
#include "ge/file_name.h"

namespace msprobe::torchair {

RealNames::RealNames(const std::filesystem::path& directory, DumpFiles& files) {
  const std::filesystem::path path = directory / "mapping.csv";
  if (const Result<bool> there = is_there(path); there && !*there) return;
  const Result<FileBytes> mapping = files.load(path);
  if (!mapping) {
    files.note_unread(mapping.error().message);
    return;
  }
  for (ge::Mapping& row : ge::read_mapping(mapping->text())) {
    names_.emplace(row.written, row.real);
  }
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
