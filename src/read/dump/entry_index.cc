// SPDX-License-Identifier: Apache-2.0
#include "dump/entry_index.h"

#include <utility>

#include "dump/entry_name.h"
#include "dump/json_walk.h"
#include "dump/name_table.h"
#include "dump/printable.h"

namespace msprobe::dump {
namespace {

constexpr std::size_t kMaxShownKeys = 100;

class EntryScanner {
 public:
  using Member = JsonWalk::Member;

  EntryScanner(FileBytes file, std::string_view name) : name_(name), walk_(file.text(), name) {
    index_.file = std::move(file);
  }

  Result<EntryIndex> scan() {
    TopLevel top(walk_, name_);
    Result<DumpHeader> header = top.scan([this](const Member& entry) { return add(entry); });
    if (!header) return propagate(header);
    static_cast<DumpHeader&>(index_) = *std::move(header);
    index_.file.owner = walk_.keep_alive(std::move(index_.file.owner));
    return std::move(index_);
  }

 private:
  Result<std::size_t> add(const Member& entry) {
    const Result<std::size_t> end = walk_.value_end(entry.value_at, entry.key);
    if (!end) return end;
    if (!parse_entry_name(entry.key) || !is_printable(entry.key)) {
      ++index_.odd_key_count;
      show(index_.odd_keys, entry.key);
      return end;
    }
    const EntrySlice slice{entry.key, walk_.text().substr(entry.value_at, *end - entry.value_at),
                           entry.value_at};
    const std::uint32_t known = table_.find(entry.key);
    if (known != table_.kNone) {
      show(index_.repeated_keys, entry.key);
      index_.entries[known] = slice;
      return end;
    }
    index_.entries.push_back(slice);
    table_.add(static_cast<std::uint32_t>(index_.entries.size() - 1));
    return end;
  }

  static void show(std::vector<std::string>& keys, std::string_view key) {
    if (keys.size() < kMaxShownKeys) keys.push_back(printable(key));
  }

  struct NameOfEntry {
    const EntryIndex* index;
    std::string_view operator()(std::uint32_t entry) const { return index->entries[entry].name; }
  };

  std::string_view name_;
  JsonWalk walk_;
  EntryIndex index_;
  NameTable<NameOfEntry> table_{NameOfEntry{&index_}};
};

}  // namespace

Result<EntryIndex> index_entries(FileBytes file, std::string_view name) {
  return EntryScanner(std::move(file), name).scan();
}

Result<EntryIndex> open_entries(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return index_entries(*std::move(file), path.string());
}

}  // namespace msprobe::dump
