// SPDX-License-Identifier: Apache-2.0
#include "dump/legacy_json.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/shell_words.h"
#include "dump/json_walk.h"
#include "dump/name_table.h"
#include "dump/printable.h"

namespace msprobe::dump {
namespace {

constexpr std::size_t kListedKeys = 100;
constexpr std::string_view kRealData = "\"datapath\"";

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<LegacyKey> joined(std::string_view type, std::string_view api,
                                std::string_view call) {
  if (type.empty() || api.empty() || !is_number(call)) return std::nullopt;
  return LegacyKey{.full_name = fmt::format("{}.{}.{}", type, api, call)};
}

// "Functional*conv2d*1"
std::optional<LegacyKey> parse_starred(std::string_view key) {
  const std::size_t first = key.find('*');
  const std::size_t last = key.rfind('*');
  if (first == last) return std::nullopt;
  const std::string_view api = key.substr(first + 1, last - first - 1);
  if (api.find('*') != std::string_view::npos) return std::nullopt;
  return joined(key.substr(0, first), api, key.substr(last + 1));
}

// "Functional_conv2d_1" in front of its direction. The API may hold underscores itself.
std::optional<LegacyKey> parse_underscored(std::string_view key) {
  const std::size_t first = key.find('_');
  const std::size_t last = key.rfind('_');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return joined(key.substr(0, first), key.substr(first + 1, last - first - 1),
                key.substr(last + 1));
}

std::optional<LegacyKey> parse_dotted(std::string_view key) {
  const std::optional<CallName> name = parse_call_name(key);
  return name ? joined(name->type, name->bare_name, name->index) : std::nullopt;
}

// Takes "_forward" or "_backward" (or with a dot) off the key.
std::optional<bool> take_direction(std::string_view& key, char separator) {
  const std::size_t at = key.rfind(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view last = key.substr(at + 1);
  if (last != "forward" && last != "backward") return std::nullopt;
  key = key.substr(0, at);
  return last == "backward";
}

// The names that were made here, and the file that the other texts point into.
struct Owner {
  std::deque<std::string> names;
  std::shared_ptr<const void> forward, backward;
};

class LegacyScanner {
 public:
  Result<DumpIndex> scan(LegacyFile forward, std::optional<LegacyFile> backward) {
    if (Result<void> done = scan_file(forward, false, owner_->forward); !done) {
      return propagate(done);
    }
    if (backward) {
      if (Result<void> done = scan_file(*backward, true, owner_->backward); !done) {
        return propagate(done);
      }
    }
    index_.framework = "pytorch";
    index_.file = std::move(forward.file);
    index_.file.owner = std::move(owner_);
    index_.of_overflow = !index_.calls.empty() && overflow_keys_ == index_.calls.size();
    return std::move(index_);
  }

 private:
  Result<void> scan_file(LegacyFile& source, bool backward, std::shared_ptr<const void>& owner) {
    JsonWalk walk(source.file.text(), source.name);
    const auto on_member = [&](const JsonWalk::Member& member) -> Result<std::size_t> {
      Result<std::size_t> end = walk.value_end(member.value_at, member.key);
      const bool torn = !end && walk.ends_inside(member.value_at);
      if (!end && !torn) return end;
      if (torn) {
        end = walk.text().size();
        index_.notes.push_back(
            fmt::format("{}: the last entry, {}, is cut off", source.name, printable(member.key)));
      }
      add(member, walk.text().substr(member.value_at, *end - member.value_at), backward);
      return end;
    };
    const Result<JsonWalk::End> end = walk.whole_or_open(on_member);
    if (!end) return propagate(end);
    if (*end != JsonWalk::End::kClosed) {
      index_.notes.push_back(fmt::format(
          "{}: {}; the recording was cut off; the complete entries are used", source.name,
          *end == JsonWalk::End::kOpen ? "the last '}' is missing" : "ends inside a key"));
    }
    if (index_.dump_data_dir.empty() && walk.text().find(kRealData) != std::string_view::npos) {
      index_.dump_data_dir = ".";
    }
    if (backward) index_.backward_text = walk.text();
    owner = walk.keep_alive(std::move(source.file.owner));
    return {};
  }

  void add(const JsonWalk::Member& member, std::string_view json, bool backward_file) {
    std::optional<LegacyKey> key =
        is_printable(member.key) ? parse_legacy_key(member.key) : std::nullopt;
    if (!key || (key->backward && !backward_file)) {
      list(index_.odd_keys, member.key);
      ++index_.odd_key_count;
      return;
    }
    const std::uint32_t known = table_.find(key->full_name);
    if (backward_file) {
      add_backward(known, member, json);
    } else if (known != table_.kNone) {
      list(index_.repeated_keys, member.key);
      index_.calls[known].forward_json = json;
      index_.calls[known].forward_at = member.value_at;
    } else {
      overflow_keys_ += key->of_overflow ? 1 : 0;
      const std::string& name = owner_->names.emplace_back(std::move(key->full_name));
      index_.calls.push_back({name, json, {}, member.value_at, 0, member.key});
      table_.add(static_cast<std::uint32_t>(index_.calls.size() - 1));
    }
  }

  void add_backward(std::uint32_t known, const JsonWalk::Member& member, std::string_view json) {
    if (known == table_.kNone) {
      ++index_.unmatched_backward;
      list(index_.unmatched_keys, member.key);
      return;
    }
    CallSlice& call = index_.calls[known];
    if (!call.backward_json.empty()) list(index_.repeated_keys, member.key);
    call.backward_json = json;
    call.backward_at = member.value_at;
  }

  static void list(std::vector<std::string>& keys, std::string_view key) {
    if (keys.size() < kListedKeys) keys.push_back(printable(key));
  }

  struct NameOf {
    const DumpIndex* index;
    std::string_view operator()(std::uint32_t call) const { return index->calls[call].full_name; }
  };

  DumpIndex index_;
  std::shared_ptr<Owner> owner_ = std::make_shared<Owner>();
  NameTable<NameOf> table_{NameOf{&index_}};
  std::size_t overflow_keys_ = 0;
};

enum class FileKind : std::uint8_t { kDump, kLegacy, kNeither };

// By the first keys of the top level.
FileKind kind_of(const FileBytes& file) {
  constexpr std::array<std::string_view, 5> kOfDumpJson{"task", "level", "framework",
                                                        "dump_data_dir", "data"};
  JsonWalk walk(file.text(), "");
  std::optional<FileKind> kind;
  const auto on_member = [&](const JsonWalk::Member& member) -> Result<std::size_t> {
    if (std::ranges::find(kOfDumpJson, member.key) != kOfDumpJson.end()) kind = FileKind::kDump;
    if (parse_legacy_key(member.key)) kind = FileKind::kLegacy;
    const Result<std::size_t> end = walk.value_end(member.value_at, member.key);
    return kind || !end ? Result<std::size_t>(walk.text().size()) : end;
  };
  const Result<JsonWalk::End> walked = walk.whole_or_open(on_member);
  return kind.value_or(walked ? FileKind::kLegacy : FileKind::kNeither);
}

}  // namespace

std::optional<LegacyKey> parse_legacy_key(std::string_view key) {
  if (key.find('*') != std::string_view::npos) return parse_starred(key);
  const bool dotted = key.find('.') != std::string_view::npos;
  std::string_view call = key;
  const std::optional<bool> backward = take_direction(call, dotted ? '.' : '_');
  if (!dotted && !backward) return std::nullopt;
  // A dotted API in a key of underscores: "Torch_linalg.inv_0_forward".
  std::optional<LegacyKey> parsed = dotted ? parse_dotted(call) : parse_underscored(call);
  if (!parsed && dotted) {
    call = key;
    const std::optional<bool> underscored = take_direction(call, '_');
    if (!underscored) return std::nullopt;
    parsed = parse_underscored(call);
    if (!parsed) return std::nullopt;
    parsed->backward = *underscored;
    parsed->of_overflow = true;
    return parsed;
  }
  if (!parsed) return std::nullopt;
  parsed->backward = backward.value_or(false);
  parsed->of_overflow = !dotted;
  return parsed;
}

bool is_dump(const FileBytes& file) { return kind_of(file) == FileKind::kDump; }
bool is_legacy(const FileBytes& file) { return kind_of(file) == FileKind::kLegacy; }

Result<DumpIndex> index_legacy(LegacyFile forward, std::optional<LegacyFile> backward) {
  return LegacyScanner().scan(std::move(forward), std::move(backward));
}

Result<DumpIndex> open_legacy(const std::filesystem::path& forward,
                              const std::optional<std::filesystem::path>& backward) {
  Result<FileBytes> file = load_file(forward);
  if (!file) return propagate(file);
  if (is_dump(*file)) {
    return fail(
        ErrorKind::kFormat,
        fmt::format("{0} is a dump.json, not a forward_info of the older recorder; check it "
                    "with msprobe acc_check -api_info {1}, or its overflows with msprobe "
                    "run_overflow_check -api_info {1}",
                    forward.string(), shell_path(forward)));
  }
  std::optional<LegacyFile> second;
  if (backward) {
    Result<FileBytes> bytes = load_file(*backward);
    if (!bytes) return propagate(bytes);
    second = LegacyFile{*std::move(bytes), backward->string()};
  }
  return index_legacy({*std::move(file), forward.string()}, std::move(second));
}

Result<DumpIndex> open_any(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  if (!is_legacy(*file)) return index_dump(*std::move(file), path.string());
  return index_legacy({*std::move(file), path.string()}, std::nullopt);
}

}  // namespace msprobe::dump
