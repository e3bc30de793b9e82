// SPDX-License-Identifier: Apache-2.0
// Checks that a spreadsheet was written completely: libxlsxwriter makes its parts in temporary
// files and does not look whether the disk took them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace msprobe::tables {

// XML that arrives in pieces: are its elements closed in the order in which they were opened? As
// much as a lost piece would break, not more.
class XmlScan {
 public:
  void take(std::string_view piece);
  bool is_whole() const { return good_ && seen_ && !in_tag_ && open_.empty(); }
  std::uint64_t rows() const { return rows_; }    // elements <row>
  std::uint64_t cells() const { return cells_; }  // elements <c>

 private:
  void end_tag();

  bool good_ = true;
  bool seen_ = false;
  bool in_tag_ = false;
  std::string tag_;  // between < and >
  std::vector<std::string> open_;
  std::uint64_t rows_ = 0;
  std::uint64_t cells_ = 0;
};

// Every part of the file is whole, and its sheets have that many rows and cells together.
Result<void> check_spreadsheet(const std::filesystem::path& path, std::uint64_t rows,
                               std::uint64_t cells);

}  // namespace msprobe::tables
