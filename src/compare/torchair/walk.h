// SPDX-License-Identifier: Apache-2.0
// Going through the directories of a dump.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace msprobe::torchair {

// Whether `path` is `directory` or below it, by their names.
inline bool is_inside(const std::filesystem::path& path, const std::filesystem::path& directory) {
  return std::ranges::mismatch(directory, path).in1 == directory.end();
}

// Calls visit(directory, names of its files) for every directory under `root`, itself included.
// What links lead to comes last, and no directory twice: they could lead in circles, or up.
template <class Visit>
class Walk {
 public:
  Walk(const std::filesystem::path& root, const Visit& visit) : visit_(visit) {
    into(root, 0);
    for (std::size_t i = 0; i < links_.size(); ++i) into(std::filesystem::path(links_[i]), 0);
  }

 private:
  static constexpr int kDeepest = 16;  // levels below the root; real dumps have six

  void into(const std::filesystem::path& directory, int depth) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(directory, error);
    if (error || !visited_.insert(real).second) return;
    std::vector<std::filesystem::path> directories;
    std::vector<std::filesystem::path> links;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) files.push_back(entry->path().filename().string());
      if (!entry->is_directory(ignored)) continue;
      if (!entry->is_symlink(ignored)) {
        directories.push_back(entry->path());
      } else if (!is_inside(real, std::filesystem::canonical(entry->path(), ignored))) {
        links.push_back(entry->path());
      }
    }
    std::ranges::sort(directories);
    std::ranges::sort(links);
    std::ranges::sort(files);
    std::ranges::move(links, std::back_inserter(links_));
    visit_(directory, files);
    if (depth == kDeepest) return;
    for (const std::filesystem::path& child : directories) into(child, depth + 1);
  }

  const Visit& visit_;
  std::set<std::filesystem::path> visited_;
  std::vector<std::filesystem::path> links_;
};

}  // namespace msprobe::torchair
