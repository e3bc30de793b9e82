// SPDX-License-Identifier: Apache-2.0
// The files of the older recorder: forward_info_{pid}.json and backward_info_{pid}.json, as one
// index of calls.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "dump/dump_json.h"

namespace msprobe::dump {

// A key of these files in the project's own form.
struct LegacyKey {
  std::string full_name;  // "Functional.conv2d.1"
  bool backward = false;  // the key itself says so: "Functional_conv2d_1_backward"
  bool of_overflow = false;
};

// "Functional*conv2d*1" (pre-check), "Functional_conv2d_1_forward" (overflow check) and
// "Functional.conv2d.1" with or without a direction. Empty for any other key.
std::optional<LegacyKey> parse_legacy_key(std::string_view key);

// Whether the file is one of these, by its content: its top level holds calls, not the members of a
// dump.json.
bool is_legacy(const FileBytes& file);
// Whether it is a dump.json, whole or not.
bool is_dump(const FileBytes& file);

struct LegacyFile {
  FileBytes file;
  std::string name;  // stands for the file in messages
};

// Both recorders append to the file and put the last bracket behind it, so a run that was killed
// leaves a file without it: such a file is taken, and a note says so. A last entry that is cut off
// stays a call; reading it fails. An error is a fault of the file.
Result<DumpIndex> index_legacy(LegacyFile forward, std::optional<LegacyFile> backward);

Result<DumpIndex> open_legacy(const std::filesystem::path& forward,
                              const std::optional<std::filesystem::path>& backward);

// A dump.json or a forward_info_{pid}.json alone, by its content.
Result<DumpIndex> open_any(const std::filesystem::path& path);

}  // namespace msprobe::dump
