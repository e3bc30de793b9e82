// The table of a comparison as a spreadsheet, rows coloured by the documented marks: red abnormal,
// yellow suspicious, green normal.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "core/result.h"
#include "torchair/row.h"

namespace msprobe::torchair {

// Rows go to disk as they come. A sheet holds a million rows; more go to further sheets.
class XlsxTable {
 public:
  static Result<XlsxTable> create(const std::filesystem::path& path, Mode mode);
  XlsxTable(XlsxTable&&) noexcept;
  XlsxTable& operator=(XlsxTable&&) noexcept;
  ~XlsxTable();

  void add(const Row& row);
  Result<bool> close();

 private:
  struct Book;
  explicit XlsxTable(std::unique_ptr<Book> book);
  std::unique_ptr<Book> book_;
};

}  // namespace msprobe::torchair
