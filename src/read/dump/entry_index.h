// SPDX-License-Identifier: Apache-2.0
// dump.json as a sequence of entries in the order they were recorded: every direction of every
// call, modules and parameter gradients included. Memory grows with the number of entries, not with
// their text; entry_reader.h reads one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "dump/top_level.h"

namespace msprobe::dump {

// The texts point into the mapped file.
struct EntrySlice {
  std::string_view name;  // "Functional.conv2d.0.forward": parse_entry_name() takes it
  std::string_view json;
  std::uint64_t at = 0;  // byte offset of `json` in the file, for messages
};

struct EntryIndex : DumpHeader {
  FileBytes file;
  std::vector<EntrySlice> entries;
  // The first hundred keys of each kind, made fit to print.
  std::vector<std::string> odd_keys;       // not the name of an entry: left out
  std::vector<std::string> repeated_keys;  // twice in the file; the last one wins, as in Python
  std::size_t odd_key_count = 0;
};

// Scans the whole file once. An error is a fault of the file (not JSON, no "data"); it names the
// byte offset. The content of an entry is not looked at, only where it ends.
Result<EntryIndex> open_entries(const std::filesystem::path& path);

// The same for bytes that are already there; `name` stands for the file in messages.
Result<EntryIndex> index_entries(FileBytes file, std::string_view name);

}  // namespace msprobe::dump
