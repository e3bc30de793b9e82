// SPDX-License-Identifier: Apache-2.0
#include "dump/construct_json.h"

#include <algorithm>
#include <utility>

#include "dump/json_walk.h"

namespace msprobe::dump {

class ConstructScanner {
 public:
  ConstructScanner(FileBytes file, std::string_view name) : walk_(file.text(), name) {
    index_.file_ = std::move(file);
  }

  Result<ConstructIndex> scan() {
    const Result<bool> walked = walk_.whole([this](const JsonWalk::Member& member) {
      return read_parent(member.key, member.value_at);
    });
    if (!walked) return propagate(walked);
    index_.file_.owner = walk_.keep_alive(std::move(index_.file_.owner));
    std::ranges::stable_sort(index_.entries_, {}, &ConstructIndex::Link::child);
    return std::move(index_);
  }

 private:
  Result<std::size_t> read_parent(std::string_view child, std::size_t at) {
    if (walk_.is_at(at, '[')) {
      bool first = true;
      return walk_.elements(at, "a parent", [&](std::size_t element) -> Result<std::size_t> {
        if (!std::exchange(first, false)) return walk_.value_end(element, child);
        return read_name(child, element);
      });
    }
    return read_name(child, at);
  }

  Result<std::size_t> read_name(std::string_view child, std::size_t at) {
    if (!walk_.is_at(at, '"')) return walk_.value_end(at, child);
    std::size_t end = 0;
    const Result<std::string_view> parent = walk_.string(at, end);
    if (!parent) return propagate(parent);
    index_.entries_.push_back({child, *parent});
    return end;
  }

  JsonWalk walk_;
  ConstructIndex index_;
};

std::string_view ConstructIndex::parent(std::string_view entry) const {
  const auto found = std::ranges::lower_bound(entries_, entry, {}, &Link::child);
  return found == entries_.end() || found->child != entry ? std::string_view() : found->parent;
}

std::vector<std::string_view> ConstructIndex::parents(std::string_view entry) const {
  // No module tree is deeper; a file may have a circle.
  constexpr std::size_t kDeepest = 400;
  std::vector<std::string_view> found;
  for (std::string_view at = parent(entry); !at.empty() && found.size() < kDeepest;
       at = parent(at)) {
    found.push_back(at);
  }
  std::ranges::reverse(found);
  return found;
}

Result<ConstructIndex> index_construct(FileBytes file, std::string_view name) {
  return ConstructScanner(std::move(file), name).scan();
}

Result<ConstructIndex> open_construct(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return index_construct(*std::move(file), path.string());
}

}  // namespace msprobe::dump
