#include "dump/dump_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "dump/json_scalar.h"
#include "dump/json_walk.h"
#include "dump/name_table.h"
#include "dump/printable.h"

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
    const Result<bool> walked =
        walk_.whole([this](const Member& member) { return read_top(member); });
    if (!walked) return propagate(walked);
    if (!seen_[kData]) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: Invalid dump.json format: something wrong with dump, no data "
                              "found in dump.json",
                              name_));
    }
    match_pending();
    index_.file.owner = walk_.keep_alive(std::move(index_.file.owner));
    return std::move(index_);
  }

 private:
  enum TopKey : std::uint8_t { kTask, kLevel, kFramework, kDirectory, kData };
  static constexpr std::array<std::string_view, 5> kTopKeys{"task", "level", "framework",
                                                            "dump_data_dir", "data"};

  Result<std::size_t> read_top(const Member& member) {
    const auto* const found = std::ranges::find(kTopKeys, member.key);
    if (found == kTopKeys.end()) return walk_.value_end(member.value_at, member.key);
    const auto key = static_cast<std::size_t>(found - kTopKeys.begin());
    if (std::exchange(seen_[key], true)) {
      return walk_.fault(member.key_at, fmt::format("\"{}\" only once", member.key));
    }
    if (key == kData) {
      return walk_.members(member.value_at, "\"data\"",
                           [this](const Member& entry) { return read_entry(entry); });
    }
    const Result<std::size_t> end = walk_.value_end(member.value_at, member.key);
    if (!end) return end;
    const Result<std::string> text = read_header(member, *end, key == kFramework);
    if (!text) return propagate(text);
    store_header(static_cast<TopKey>(key), *text);
    return end;
  }

  // A string, or nothing where null stands. `lenient` takes any other value as it is written.
  Result<std::string> read_header(const Member& member, std::size_t end, bool lenient) const {
    const std::string_view value = walk_.text().substr(member.value_at, end - member.value_at);
    std::string text;
    if (value.starts_with('"')) {
      if (append_unescaped(value.substr(1, value.size() - 2), text)) return text;
      return walk_.fault(member.value_at,
                         fmt::format("a string without bad escapes as {}", member.key));
    }
    if (value == "null") return text;
    if (lenient) return std::string(value);
    return walk_.fault(member.value_at, fmt::format("a string or null as {}", member.key));
  }

  void store_header(TopKey key, const std::string& text) {
    if (key == kTask) index_.task = text;
    if (key == kLevel) index_.level = text;
    if (key == kFramework) index_.framework = text;
    if (key == kDirectory) index_.dump_data_dir = text;
  }

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
  std::array<bool, kTopKeys.size()> seen_{};
  std::vector<CallSlice> pending_;  // backward entries that stand before their forward entry
  NameTable<NameOf> table_{NameOf{&index_}};
};

}  // namespace

Result<DumpIndex> index_dump(FileBytes file, std::string_view name) {
  return Scanner(std::move(file), name).scan();
}

Result<DumpIndex> open_dump(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return index_dump(*std::move(file), path.string());
}

}  // namespace msprobe::dump
