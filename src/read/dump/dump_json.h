// SPDX-License-Identifier: Apache-2.0
// dump.json: a scan of the top level, then one entry at a time, so that memory does not grow with
// the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "dump/call_record.h"
#include "dump/top_level.h"

namespace msprobe::dump {

// Of the directory of tensor files, beside dump.json.
inline constexpr const char* kDataDirectory = "dump_tensor_data";

// Where a call's entries are in the file. The texts point into the mapped file.
struct CallSlice {
  std::string_view full_name;      // "Functional.conv2d.0"
  std::string_view forward_json;   // the value of "Functional.conv2d.0.forward"
  std::string_view backward_json;  // empty: no backward entry
  std::uint64_t forward_at = 0;    // byte offset of forward_json in the file, for messages
  std::uint64_t backward_at = 0;
  std::string_view key = {};  // older files: the key of the forward entry, as written

  // What rows call it.
  std::string_view shown_name() const { return key.empty() ? full_name : key; }
};

struct DumpIndex : DumpHeader {
  FileBytes file;
  std::vector<CallSlice> calls;  // forward entries in file order, each with its backward entry
  // The first hundred keys of each kind, made fit to print.
  std::vector<std::string> odd_keys;       // neither forward nor backward entries
  std::vector<std::string> repeated_keys;  // duplicate keys; the last one wins, as in Python
  std::size_t odd_key_count = 0;
  std::size_t unmatched_backward = 0;  // backward entries without a forward entry
  std::size_t module_entries = 0;      // Module.* and Cell.* entries, which are left out
  // Older files only.
  bool of_overflow = false;                 // recorded by an overflow check: every call overflowed
  std::vector<std::string> unmatched_keys;  // backward entries without a forward entry, the first
  std::vector<std::string> notes;           // what a person should know of the files
  std::string_view backward_text;           // the whole of the second file
};

// Scans the whole file once. An error is a fault of the file (not JSON, no "data"); it names the
// byte offset. The inside of an entry is not read, only where it ends.
Result<DumpIndex> open_dump(const std::filesystem::path& path);

// The same for bytes that are already there; `name` stands for the file in messages.
Result<DumpIndex> index_dump(FileBytes file, std::string_view name);

// Parses calls one after the other, keeping its buffers. One per thread.
class CallParser {
 public:
  CallParser();
  CallParser(CallParser&&) noexcept;
  CallParser& operator=(CallParser&&) noexcept;
  ~CallParser();

  // An error is a fault of this call alone; `place` (file name) opens the message.
  Result<CallRecord> parse(const CallSlice& slice, std::string_view place);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// The same with its own parser: for the odd call.
Result<CallRecord> parse_call(const CallSlice& slice, std::string_view place);

}  // namespace msprobe::dump
