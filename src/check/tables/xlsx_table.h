// SPDX-License-Identifier: Apache-2.0
// Tables as a spreadsheet, rows or cells coloured by the documented marks: red abnormal, yellow
// suspicious, green normal.
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

enum class RowMark : std::uint8_t { kNone, kNormal, kSuspicious, kAbnormal };

struct XlsxCell {
  std::string text;
  bool is_text = false;           // never a number, whatever it looks like: the CRC 234161e3
  RowMark mark = RowMark::kNone;  // of this cell alone; none: that of its row
};

// Rows go to disk as they come. A sheet holds a million rows; more go to further sheets.
class XlsxTable {
 public:
  // `name`: of the sheet, at most 25 characters of letters, digits and "- "; empty: "Sheet1".
  static Result<XlsxTable> create(const std::filesystem::path& path,
                                  std::vector<std::string> titles, std::string name = {});
  XlsxTable(XlsxTable&&) noexcept;
  XlsxTable& operator=(XlsxTable&&) noexcept;
  ~XlsxTable();

  void add(std::span<const XlsxCell> cells, RowMark mark);
  // The rows that follow are those of another table, on its own sheet.
  void start_table(std::vector<std::string> titles, std::string name);
  Result<bool> close();

 private:
  struct Book;
  explicit XlsxTable(std::unique_ptr<Book> book);
  std::unique_ptr<Book> book_;
};

}  // namespace msprobe::tables
