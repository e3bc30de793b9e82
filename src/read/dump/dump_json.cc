// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_json.h"

#include <utility>

#include <fmt/format.h>

#include "dump/json_walk.h"
#include "dump/name_table.h"
#include "dump/printable.h"
#include "dump/top_level.h"

namespace msprobe::dump {
namespace {

// Keys shown to the user; a file can hold any number of them.
constexpr std::size_t kMaxListedKeys = 100;

class Scanner {
 public:
  using Member = JsonWalk::Member;

  Scanner(FileBytes file, std::string_view name) : name_(name), walk_(file.text(), name) {
    index_.file = std::move(file);
  }

  Result<DumpIndex> scan() {
    TopLevel top(walk_, name_);
    Result<DumpHeader> header = top.scan([this](const Member& entry) { return read_entry(entry); });
    if (!header) return propagate(header);
    static_cast<DumpHeader&>(index_) = *std::move(header);
    match_pending();
    index_.file.owner = walk_.keep_alive(std::move(index_.file.owner));
    return std::move(index_);
  }

 private:
  Result<std::size_t> read_entry(const Member& entry) {
    const Result<std::size_t> end = walk_.value_end(entry.value_at, entry.key);
    if (!end) return end;
    const std::string_view json = walk_.text().substr(entry.value_at, *end - entry.value_at);
    const std::size_t dot = entry.key.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? "" : entry.key.substr(dot + 1);
    if (entry.key.starts_with("Module.") || entry.key.starts_with("Cell.")) {
      ++index_.module_entries;
    } else if (dot == 0 || (last != "forward" && last != "backward") || !is_printable(entry.key)) {
      list(index_.odd_keys, entry.key);
      ++index_.odd_key_count;
    } else if (last == "forward") {
      add_forward(entry, entry.key.substr(0, dot), json);
    } else {
      add_backward({entry.key.substr(0, dot), {}, json, 0, entry.value_at});
    }
    return end;
  }

  void add_forward(const Member& entry, std::string_view full_name, std::string_view json) {
    const std::uint32_t known = table_.find(full_name);
    if (known != table_.kNone) {
      list(index_.repeated_keys, entry.key);
      index_.calls[known].forward_json = json;
      index_.calls[known].forward_at = entry.value_at;
      return;
    }
    index_.calls.push_back({full_name, json, {}, entry.value_at, 0});
    table_.add(static_cast<std::uint32_t>(index_.calls.size() - 1));
  }

  // Only `backward_*` of `entry` counts; its forward entry may still follow.
  void add_backward(const CallSlice& entry) {
    const std::uint32_t known = table_.find(entry.full_name);
    if (known == table_.kNone) {
      pending_.push_back(entry);
      return;
    }
    CallSlice& call = index_.calls[known];
    if (!call.backward_json.empty()) {
      list(index_.repeated_keys, fmt::format("{}.backward", entry.full_name));
    }
    if (call.backward_at > entry.backward_at) return;
    call.backward_json = entry.backward_json;
    call.backward_at = entry.backward_at;
  }

  void match_pending() {
    for (const CallSlice& entry : pending_) {
      if (table_.find(entry.full_name) == table_.kNone) {
        ++index_.unmatched_backward;
      } else {
        add_backward(entry);
      }
    }
  }

  static void list(std::vector<std::string>& keys, std::string_view key) {
    if (keys.size() < kMaxListedKeys) keys.push_back(printable(key));
  }

  struct NameOf {
    const DumpIndex* index;
    std::string_view operator()(std::uint32_t call) const { return index->calls[call].full_name; }
  };

  std::string_view name_;
  JsonWalk walk_;
  DumpIndex index_;
  std::vector<CallSlice> pending_;  // backward entries that come before their forward entry
  NameTable<NameOf> table_{NameOf{&index_}};
};

}  // namespace

Result<DumpIndex> index_dump(FileBytes file, std::string_view name) {
  if (file.text().starts_with("\xEF\xBB\xBF")) {
    return fail(
        ErrorKind::kFormat,
        fmt::format("Failed to parse JSON from {}: it begins with a byte order mark, which an "
                    "editor has added; save it as UTF-8 without BOM",
                    name));
  }
  return Scanner(std::move(file), name).scan();
}

Result<DumpIndex> open_dump(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return index_dump(*std::move(file), path.string());
}

}  // namespace msprobe::dump
