#include "dump/dump_json.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "dump/json_scalar.h"
#include "dump/json_scan.h"
#include "dump/name_table.h"

namespace msprobe::dump {
namespace {

// Keys shown to the user; a file can hold any number of them.
constexpr std::size_t kMaxListedKeys = 100;
constexpr std::size_t kMaxShownKey = 200;

struct Member {
  std::string_view key;
  std::size_t key_at;
  std::size_t value_at;
};

bool is_printable(std::string_view key) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return std::ranges::none_of(key, is_control) && simdjson::validate_utf8(key.data(), key.size());
}

// A key as a message can show it: no control character, no broken UTF-8, not without end.
std::string shown(std::string_view key) {
  const bool printable = is_printable(key);
  std::string text;
  for (const char c : key.substr(0, kMaxShownKey)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f;
    text += plain || (printable && key.size() <= kMaxShownKey) ? std::string(1, c)
                                                               : fmt::format("\\x{:02x}", byte);
  }
  return key.size() > kMaxShownKey ? text + "..." : text;
}

class Scanner {
 public:
  Scanner(FileBytes file, std::string_view name) : name_(name), text_(file.text()) {
    index_.file = std::move(file);
  }

  Result<DumpIndex> scan() {
    Result<DumpIndex> index = scan_file();
    if (index) return index;
    // A bracket of the wrong kind shows only where the brackets run out: say where it stands.
    const std::optional<BracketMismatch> mismatch = find_mismatch(text_);
    if (!mismatch) return index;
    return fault(mismatch->close_at,
                 fmt::format("the bracket that closes the one at byte {}", mismatch->open_at));
  }

 private:
  Result<DumpIndex> scan_file() {
    const std::size_t start = skip_space(text_, 0);
    const Result<std::size_t> end =
        each_member(start, "the file", [this](const Member& member) { return read_top(member); });
    if (!end) return propagate(end);
    const std::size_t rest = skip_space(text_, *end);
    if (rest != text_.size()) return fault(rest, "the end of the file");
    if (!seen_[kData]) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: Invalid dump.json format: something wrong with dump, no data "
                              "found in dump.json",
                              name_));
    }
    match_pending();
    keep_names();
    return std::move(index_);
  }

  enum TopKey : std::uint8_t { kTask, kLevel, kFramework, kDirectory, kData };
  static constexpr std::array<std::string_view, 5> kTopKeys{"task", "level", "framework",
                                                            "dump_data_dir", "data"};

  Failure fault(std::size_t at, std::string_view wanted) const {
    const std::string found = at >= text_.size() ? "the end of the file"
                                                 : fmt::format("'{}'", shown(text_.substr(at, 1)));
    return fail(ErrorKind::kFormat, fmt::format("Failed to parse JSON from {}: byte {}: found {}, "
                                                "wanted {}",
                                                name_, at, found, wanted));
  }

  bool is_at(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }

  // Walks over the members of the object at `at`; on_member(member) returns where its value ends.
  // Returns where the object ends.
  template <class OnMember>
  Result<std::size_t> each_member(std::size_t at, std::string_view what, OnMember on_member) {
    if (!is_at(at, '{')) return fault(at, fmt::format("'{{': {} must be an object", what));
    at = skip_space(text_, at + 1);
    if (is_at(at, '}')) return at + 1;
    while (true) {
      const Result<Member> member = read_key(at);
      if (!member) return propagate(member);
      const Result<std::size_t> end = on_member(*member);
      if (!end) return end;
      at = skip_space(text_, *end);
      if (is_at(at, '}')) return at + 1;
      if (!is_at(at, ',')) {
        return fault(at, fmt::format("',' or '}}' behind {}", shown(member->key)));
      }
      at = skip_space(text_, at + 1);
    }
  }

  Result<Member> read_key(std::size_t at) {
    if (!is_at(at, '"')) return fault(at, "a key in quotes");
    const std::size_t end = string_end(text_, at);
    if (end == kNoEnd) return fault(text_.size(), fmt::format("the end of the key at byte {}", at));
    Member member{text_.substr(at + 1, end - at - 2), at, 0};
    if (member.key.find('\\') != std::string_view::npos) {
      std::string plain;
      if (!append_unescaped(member.key, plain)) return fault(at, "a key without bad escapes");
      member.key = names_.emplace_back(std::move(plain));
    }
    const std::size_t colon = skip_space(text_, end);
    if (!is_at(colon, ':')) return fault(colon, fmt::format("':' behind {}", shown(member.key)));
    member.value_at = skip_space(text_, colon + 1);
    return member;
  }

  Result<std::size_t> value_end(const Member& member) const {
    const std::size_t start = member.value_at;
    std::size_t end = kNoEnd;
    if (is_at(start, '{') || is_at(start, '[')) {
      end = container_end(text_, start);
    } else if (is_at(start, '"')) {
      end = string_end(text_, start);
    } else {
      end = scalar_end(text_, start);
      if (end == start) return fault(start, fmt::format("the value of {}", shown(member.key)));
    }
    if (end == kNoEnd) {
      return fault(text_.size(), fmt::format("the end of the value of {} that begins at byte {}",
                                             shown(member.key), start));
    }
    return end;
  }

  Result<std::size_t> read_top(const Member& member) {
    const auto* const found = std::ranges::find(kTopKeys, member.key);
    if (found == kTopKeys.end()) return value_end(member);
    const auto key = static_cast<std::size_t>(found - kTopKeys.begin());
    if (std::exchange(seen_[key], true)) {
      return fault(member.key_at, fmt::format("\"{}\" only once", member.key));
    }
    if (key == kData) {
      return each_member(member.value_at, "\"data\"",
                         [this](const Member& entry) { return read_entry(entry); });
    }
    const Result<std::size_t> end = value_end(member);
    if (!end) return end;
    const Result<std::string> text = read_header(member, *end, key == kFramework);
    if (!text) return propagate(text);
    store_header(static_cast<TopKey>(key), *text);
    return end;
  }

  // A string, or nothing where null stands. `lenient` takes any other value as it is written.
  Result<std::string> read_header(const Member& member, std::size_t end, bool lenient) const {
    const std::string_view value = text_.substr(member.value_at, end - member.value_at);
    std::string text;
    if (value.starts_with('"')) {
      if (append_unescaped(value.substr(1, value.size() - 2), text)) return text;
      return fault(member.value_at, fmt::format("a string without bad escapes as {}", member.key));
    }
    if (value == "null") return text;
    if (lenient) return std::string(value);
    return fault(member.value_at, fmt::format("a string or null as {}", member.key));
  }

  void store_header(TopKey key, const std::string& text) {
    if (key == kTask) index_.task = text;
    if (key == kLevel) index_.level = text;
    if (key == kFramework) index_.framework = text;
    if (key == kDirectory) index_.dump_data_dir = text;
  }

  Result<std::size_t> read_entry(const Member& entry) {
    const Result<std::size_t> end = value_end(entry);
    if (!end) return end;
    const std::string_view json = text_.substr(entry.value_at, *end - entry.value_at);
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
    if (keys.size() < kMaxListedKeys) keys.push_back(shown(key));
  }

  // Names with escapes are not in the file as such: they live as long as the file's bytes.
  void keep_names() {
    if (names_.empty()) return;
    struct Owner {
      std::shared_ptr<const void> file;
      std::deque<std::string> names;
    };
    index_.file.owner =
        std::make_shared<const Owner>(Owner{std::move(index_.file.owner), std::move(names_)});
  }

  struct NameOf {
    const DumpIndex* index;
    std::string_view operator()(std::uint32_t call) const { return index->calls[call].full_name; }
  };

  std::string_view name_;
  std::string_view text_;
  DumpIndex index_;
  std::array<bool, kTopKeys.size()> seen_{};
  std::deque<std::string> names_;
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
