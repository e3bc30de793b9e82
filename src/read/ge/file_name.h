// SPDX-License-Identifier: Apache-2.0
// What the name of a GE dump file says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe::ge {

enum class FileKind : std::uint8_t {
  kBinary,      // one of the containers
  kStatistics,  // ".csv": CANN wrote statistics instead of data
  kInfo,        // ".npz": converted by the user
};

struct FileName {
  std::string op_type;
  std::string op_name;  // escaped: space . / \ are '_'
  std::uint64_t time = 0;
  FileKind kind = FileKind::kBinary;
  std::optional<std::uint32_t> thread;  // FFTS+: one file per thread
};

// nullopt if it is not a dump file: other suffixes, Opdebug records, mapping.csv, too few fields.
std::optional<FileName> parse_file_name(std::string_view name);

// Whether the name is all digits, the user's suffix of a converted file behind them left aside: the
// real one was too long and is in mapping.csv.
bool is_hashed_name(std::string_view name);

// Pairs of written and real name, as mapping.csv has them.
struct Mapping {
  std::string written;
  std::string real;
};
std::vector<Mapping> read_mapping(std::string_view text);

// As the writer spells an operator name in a file name.
std::string escaped(std::string_view op_name);

}  // namespace msprobe::ge
