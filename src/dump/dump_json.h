// dump.json: a scan of the top level, then one entry at a time, so that memory does not grow with
// the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "dump/call_record.h"

namespace msprobe::dump {

// Where a call's entries stand in the file. The texts point into the mapped file.
struct CallSlice {
  std::string_view full_name;      // "Functional.conv2d.0"
  std::string_view forward_json;   // the value of "Functional.conv2d.0.forward"
  std::string_view backward_json;  // empty: no backward entry
};

struct DumpIndex {
  FileBytes file;
  std::string task;                      // empty: not there
  std::string level;                     // empty: not there
  std::optional<std::string> framework;  // as written
  std::string dump_data_dir;             // empty: random mode
  std::vector<CallSlice> calls;       // forward entries in file order, each with its backward entry
  std::vector<std::string> odd_keys;  // keys that are neither forward nor backward entries
  std::size_t unmatched_backward = 0;  // backward entries without a forward entry
};

// Scans the whole file once. An error is a fault of the file (not JSON, no "data"); it names the
// byte offset.
Result<DumpIndex> open_dump(const std::filesystem::path& path);

// Parses one call. An error is a fault of this entry alone; `place` (file name) opens the message.
Result<CallRecord> parse_call(const CallSlice& slice, std::string_view place);

}  // namespace msprobe::dump
