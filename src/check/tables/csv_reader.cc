// SPDX-License-Identifier: Apache-2.0
#include "tables/csv_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tables/csv_text.h"

namespace msprobe::tables {

CsvReader::CsvReader(std::string_view text, std::string shown)
    : text_(text), shown_(std::move(shown)) {
  if (text_.starts_with(kByteOrderMark)) offset_ = kByteOrderMark.size();
  record_offset_ = offset_;
}

bool CsvReader::at_end_of_line() const {
  return offset_ == text_.size() || text_[offset_] == '\n' || text_[offset_] == '\r';
}

// CR LF, LF or CR.
void CsvReader::end_line() {
  if (offset_ == text_.size()) return;
  if (text_[offset_] == '\r' && offset_ + 1 < text_.size() && text_[offset_ + 1] == '\n') ++offset_;
  ++offset_;
  ++line_;
}

Result<bool> CsvReader::next() {
  cells_.clear();
  unquoted_.clear();
  while (offset_ < text_.size() && at_end_of_line()) end_line();
  record_offset_ = offset_;
  record_line_ = line_;
  if (offset_ == text_.size()) return false;
  while (true) {
    const Result<std::string_view> cell = read_cell();
    if (!cell) return propagate(cell);
    cells_.push_back(*cell);
    if (at_end_of_line()) break;
    ++offset_;  // the comma
  }
  end_line();
  return true;
}

Result<std::string_view> CsvReader::read_cell() {
  const bool quoted = offset_ < text_.size() && text_[offset_] == '"';
  return quoted ? read_quoted() : read_plain();
}

Result<std::string_view> CsvReader::read_plain() {
  const std::size_t start = offset_;
  for (; offset_ < text_.size(); ++offset_) {
    const char c = text_[offset_];
    if (c == ',' || c == '\n' || c == '\r') break;
    if (c == '\0') {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: line {}: a NUL byte (byte {}); the file is damaged or not UTF-8 "
                              "text",
                              shown_, line_, offset_));
    }
  }
  return text_.substr(start, offset_ - start);
}

// What follows the closing quote up to the comma belongs to the cell, as Python's reader has it.
Result<std::string_view> CsvReader::read_quoted() {
  const std::size_t opening_line = line_;
  const std::size_t start = ++offset_;
  std::string* copy = nullptr;  // made once the cell is no longer one piece of the text
  std::size_t piece = start;
  while (true) {
    const std::size_t quote = text_.find('"', offset_);
    const std::size_t end = std::min(quote, text_.size());
    const std::string_view inside = text_.substr(offset_, end - offset_);
    if (inside.find('\0') != std::string_view::npos) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: line {}: a NUL byte inside quotes; the file is damaged or not "
                              "UTF-8 text",
                              shown_, opening_line));
    }
    if (quote == std::string_view::npos) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: line {}: a quote is opened here and never closed", shown_,
                              opening_line));
    }
    line_ += static_cast<std::size_t>(std::ranges::count(inside, '\n'));
    offset_ = quote + 1;
    const bool doubled = offset_ < text_.size() && text_[offset_] == '"';
    const bool closed = offset_ == text_.size() || text_[offset_] == ',' || at_end_of_line();
    if (closed && copy == nullptr) return text_.substr(start, quote - start);
    if (copy == nullptr) copy = &unquoted_.emplace_back();
    copy->append(text_, piece, quote - piece);
    if (closed) return std::string_view(*copy);
    if (doubled) {
      *copy += '"';
      piece = ++offset_;
      continue;
    }
    const Result<std::string_view> rest = read_plain();
    if (!rest) return propagate(rest);
    copy->append(*rest);
    return std::string_view(*copy);
  }
}

}  // namespace msprobe::tables
