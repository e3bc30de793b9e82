// SPDX-License-Identifier: Apache-2.0
// Going through the directories of a dump.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/look_up.h"

namespace msprobe::torchair {

// Whether `path` is `directory` or below it, by their names.
inline bool is_inside(const std::filesystem::path& path, const std::filesystem::path& directory) {
  return std::ranges::mismatch(directory, path).in1 == directory.end();
}

// Calls visit(directory, names of its files) for every directory under `root`, itself included.
// What links lead to comes last, and no directory twice: they could lead in circles, or up.
// Directories that cannot be read are left out, and unread() says why.
template <class Visit>
class Walk {
 public:
  Walk(const std::filesystem::path& root, const Visit& visit) : visit_(visit) {
    into(root, 0);
    for (std::size_t i = 0; i < links_.size(); ++i) into(std::filesystem::path(links_[i]), 0);
  }

  const std::vector<std::string>& unread() const { return unread_; }

 private:
  static constexpr int kDeepest = 16;  // levels below the root; real dumps have six

  void into(const std::filesystem::path& directory, int depth) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(directory, error);
    if (error) return unread_.push_back(directory.string() + ": " + error.message());
    if (!visited_.insert(real).second) return;
    const auto entries = list_directory(directory);
    if (!entries) unread_.push_back(entries.error().message);
    std::vector<std::filesystem::path> directories;
    std::vector<std::filesystem::path> links;
    std::vector<std::string> files;
    for (const std::filesystem::directory_entry& entry : entries.value_or(DirectoryEntries())) {
      std::error_code ignored;
      if (entry.is_regular_file(ignored)) files.push_back(entry.path().filename().string());
      if (!entry.is_directory(ignored)) continue;
      if (!entry.is_symlink(ignored)) {
        directories.push_back(entry.path());
      } else if (!is_inside(real, std::filesystem::canonical(entry.path(), ignored))) {
        links.push_back(entry.path());
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
  std::vector<std::string> unread_;
};

}  // namespace msprobe::torchair
