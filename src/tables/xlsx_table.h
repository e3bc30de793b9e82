// SPDX-License-Identifier: Apache-2.0
// The table of a comparison as a spreadsheet, rows coloured by the documented marks: red abnormal,
// yellow suspicious, green normal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace msprobe::tables {

enum class Mark : std::uint8_t { kNone, kNormal, kSuspicious, kAbnormal };

struct XlsxCell {
  std::string text;
  bool is_text = false;  // never a number, whatever it looks like: the CRC 234161e3
};

// Rows go to disk as they come. A sheet holds a million rows; more go to further sheets.
class XlsxTable {
 public:
  static Result<XlsxTable> create(const std::filesystem::path& path,
                                  std::vector<std::string> titles);
  XlsxTable(XlsxTable&&) noexcept;
  XlsxTable& operator=(XlsxTable&&) noexcept;
  ~XlsxTable();

  void add(std::span<const XlsxCell> cells, Mark mark);
  Result<bool> close();

 private:
  struct Book;
  explicit XlsxTable(std::unique_ptr<Book> book);
  std::unique_ptr<Book> book_;
};

}  // namespace msprobe::tables
