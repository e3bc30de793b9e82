// SPDX-License-Identifier: Apache-2.0
#include "dump/stack_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dump/json_walk.h"
#include "dump/printable.h"

namespace msprobe::dump {

class StackScanner {
 public:
  StackScanner(FileBytes file, std::string_view name) : walk_(file.text(), name) {
    index_.file_ = std::move(file);
    index_.name_ = name;
  }

  Result<StackIndex> scan() {
    bool torn = false;
    const Result<JsonWalk::End> end =
        walk_.whole_or_open([this, &torn](const JsonWalk::Member& member) -> Result<std::size_t> {
          const std::size_t known = index_.entries_.size();
          const Result<std::size_t> read = read_member(member);
          if (read || !walk_.ends_inside(member.value_at)) return read;
          torn = true;
          index_.entries_.resize(known);
          return walk_.text().size();
        });
    if (!end) return propagate(end);
    if (*end != JsonWalk::End::kClosed) {
      index_.note_ = fmt::format("{}: {}; the recording was cut off; the complete entries are used",
                                 index_.name_,
                                 torn                           ? "the last entry is cut off"
                                 : *end == JsonWalk::End::kOpen ? "the last '}' is missing"
                                                                : "ends inside a key");
    }
    index_.file_.owner = walk_.keep_alive(std::move(index_.file_.owner));
    // Of a duplicate name the first place counts.
    std::ranges::sort(index_.entries_, {}, [](const StackIndex::Entry& entry) {
      return std::pair(entry.name, entry.frames_at);
    });
    return std::move(index_);
  }

 private:
  Result<std::size_t> read_member(const JsonWalk::Member& member) {
    const std::size_t first = skip_space(walk_.text(), member.value_at + 1);
    return walk_.is_at(member.value_at, '[') && walk_.is_at(first, '[') ? read_group(member)
                                                                        : read_single(member);
  }

  // "name": [frames]
  Result<std::size_t> read_single(const JsonWalk::Member& member) {
    index_.entries_.push_back({member.key, member.value_at});
    return walk_.value_end(member.value_at, member.key);
  }

  // "number": [[names], [frames]]
  Result<std::size_t> read_group(const JsonWalk::Member& member) {
    const std::size_t first = index_.entries_.size();
    std::size_t part = 0;
    const Result<std::size_t> end =
        walk_.elements(member.value_at, "a stack", [&](std::size_t at) -> Result<std::size_t> {
          if (part++ == 0) return read_names(at);
          if (part > 2) return walk_.fault(at, "two lists: names and frames");
          for (std::size_t i = first; i < index_.entries_.size(); ++i) {
            index_.entries_[i].frames_at = at;
          }
          return walk_.value_end(at, member.key);
        });
    if (end && part != 2) return walk_.fault(*end - 1, "two lists: names and frames");
    return end;
  }

  Result<std::size_t> read_names(std::size_t at) {
    return walk_.elements(at, "the names", [&](std::size_t name_at) -> Result<std::size_t> {
      std::size_t end = 0;
      const Result<std::string_view> name = walk_.string(name_at, end);
      if (!name) return propagate(name);
      index_.entries_.push_back({*name, 0});
      return end;
    });
  }

  JsonWalk walk_;
  StackIndex index_;
};

Result<std::vector<std::string>> StackIndex::frames(std::string_view entry) const {
  std::vector<std::string> frames;
  const auto found = std::ranges::lower_bound(entries_, entry, {}, &Entry::name);
  if (found == entries_.end() || found->name != entry) return frames;
  JsonWalk walk(file_.text(), name_);
  const Result<std::size_t> end =
      walk.elements(found->frames_at, "the frames", [&](std::size_t at) -> Result<std::size_t> {
        std::size_t behind = 0;
        const Result<std::string_view> frame = walk.string(at, behind);
        if (!frame) return propagate(frame);
        frames.emplace_back(is_utf8(*frame) ? *frame : printable(*frame, frame->size()));
        return behind;
      });
  if (!end) return propagate(end);
  return frames;
}

Result<StackIndex> index_stacks(FileBytes file, std::string_view name) {
  return StackScanner(std::move(file), name).scan();
}

Result<StackIndex> open_stacks(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return index_stacks(*std::move(file), path.string());
}

}  // namespace msprobe::dump
