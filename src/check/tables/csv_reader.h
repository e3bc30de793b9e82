// SPDX-License-Identifier: Apache-2.0
// Reads CSV as Python and spreadsheets write it: one record at a time over bytes that stay in
// place, so memory does not grow with the file. Cells are text and nothing else; a cell that a
// spreadsheet would run is never evaluated.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace msprobe::tables {

class CsvReader {
 public:
  // `text` must outlive the reader; a byte-order mark at its start is passed over. `shown` names
  // the file in messages.
  CsvReader(std::string_view text, std::string shown);

  // Goes to the next record that is not an empty line; false at the end. A quote that is never
  // closed and a NUL byte are errors; they name the line.
  Result<bool> next();

  // The cells of the record, valid until the next call. Quotes are taken off.
  const std::vector<std::string_view>& cells() const { return cells_; }
  std::size_t line() const { return record_line_; }  // where the record starts, from 1
  // Where the record starts, and where the next one does: what a writer that resumes cuts at.
  std::size_t record_offset() const { return record_offset_; }
  std::size_t offset() const { return offset_; }
  const std::string& shown() const { return shown_; }

 private:
  Result<std::string_view> read_cell();
  Result<std::string_view> read_plain();
  Result<std::string_view> read_quoted();
  void end_line();
  bool at_end_of_line() const;

  std::string_view text_;
  std::string shown_;
  std::size_t offset_ = 0;
  std::size_t line_ = 1;
  std::size_t record_offset_ = 0;
  std::size_t record_line_ = 1;
  std::vector<std::string_view> cells_;
  std::deque<std::string> unquoted_;  // cells of this record whose quotes were doubled
};

}  // namespace msprobe::tables
