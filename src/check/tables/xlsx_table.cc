// SPDX-License-Identifier: Apache-2.0
#include "tables/xlsx_table.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <xlsxwriter.h>

#include "core/new_file.h"
#include "core/visible_text.h"
#include "tables/xlsx_check.h"

namespace msprobe::tables {
namespace {

constexpr lxw_row_t kRowsOfSheet = 1'000'000;
constexpr std::size_t kMostCharacters = 32767;  // of a cell

struct Colour {
  RowMark mark;
  lxw_color_t background;
};
constexpr std::array<Colour, 3> kColours = {{{RowMark::kNormal, 0xC6EFCE},
                                             {RowMark::kSuspicious, 0xFFFF00},
                                             {RowMark::kAbnormal, 0xFF0000}}};

// A finite number, so that a spreadsheet can sort by it; everything else stays text.
bool is_finite_number(const std::string& text, double& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
         std::isfinite(number);
}

// What a cell can hold, not cut inside a character.
std::string_view fitting_text(std::string_view text) {
  if (text.size() <= kMostCharacters) return text;
  std::size_t end = kMostCharacters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

struct XlsxTable::Book {
  std::filesystem::path path;
  std::optional<NewFile> file;
  std::vector<std::string> titles;
  std::string name;  // of the table's sheets
  int sheets = 0;    // of the table
  lxw_workbook* workbook = nullptr;
  lxw_worksheet* sheet = nullptr;
  lxw_format* bold = nullptr;
  std::array<lxw_format*, kColours.size()> formats{};
  lxw_row_t next = 0;
  std::uint64_t rows = 0;   // of the workbook, with something in them
  std::uint64_t cells = 0;  // what libxlsxwriter was given and does not leave out

  void count(const lxw_format* format, std::string_view text) {
    if (format != nullptr || !text.empty()) ++cells;
  }

  ~Book() {
    if (workbook != nullptr) workbook_close(workbook);
  }

  void start_sheet() {
    const std::string numbered = ++sheets == 1 ? name : fmt::format("{} {}", name, sheets);
    sheet = workbook_add_worksheet(workbook, name.empty() ? nullptr : numbered.c_str());
    next = 0;
    lxw_col_t place = 0;
    for (const std::string& title : titles) {
      count(bold, title);
      worksheet_write_string(sheet, next, place++, title.c_str(), bold);
    }
    worksheet_freeze_panes(sheet, 1, 1);
    ++next;
    if (!titles.empty()) ++rows;
  }

  lxw_format* format_of(RowMark mark) const {
    for (std::size_t i = 0; i < kColours.size(); ++i) {
      if (kColours[i].mark == mark) return formats[i];
    }
    return nullptr;
  }
};

XlsxTable::XlsxTable(std::unique_ptr<Book> book) : book_(std::move(book)) {}
XlsxTable::XlsxTable(XlsxTable&&) noexcept = default;
XlsxTable& XlsxTable::operator=(XlsxTable&&) noexcept = default;
XlsxTable::~XlsxTable() = default;

Result<XlsxTable> XlsxTable::create(const std::filesystem::path& path,
                                    std::vector<std::string> titles, std::string name) {
  auto book = std::make_unique<Book>();
  book->path = path;
  book->titles = std::move(titles);
  book->name = std::move(name);
  // libxlsxwriter makes the file at the end, and follows links.
  Result<NewFile> file = NewFile::create(path);
  if (!file) {
    return fail(ErrorKind::kIo,
                fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  }
  book->file = *std::move(file);
  std::string directory = path.parent_path().string();
  lxw_workbook_options options{};
  options.constant_memory = LXW_TRUE;
  options.tmpdir = directory.data();
  book->workbook = workbook_new_opt(book->file->descriptor_path().c_str(), &options);
  if (book->workbook == nullptr) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot be written", path.string()));
  }
  book->bold = workbook_add_format(book->workbook);
  format_set_bold(book->bold);
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    book->formats[i] = workbook_add_format(book->workbook);
    format_set_bg_color(book->formats[i], kColours[i].background);
  }
  book->start_sheet();
  return XlsxTable(std::move(book));
}

void XlsxTable::start_table(std::vector<std::string> titles, std::string name) {
  book_->titles = std::move(titles);
  book_->name = std::move(name);
  book_->sheets = 0;
  book_->start_sheet();
}

void XlsxTable::add(std::span<const XlsxCell> cells, RowMark mark) {
  if (book_->next > kRowsOfSheet) book_->start_sheet();
  lxw_col_t place = 0;
  const std::uint64_t before = book_->cells;
  for (const XlsxCell& cell : cells) {
    lxw_format* format = book_->format_of(cell.mark == RowMark::kNone ? mark : cell.mark);
    const std::string text(fitting_text(visible_text(cell.text)));
    book_->count(format, text);
    double number = 0;
    if (!cell.is_text && is_finite_number(text, number)) {
      worksheet_write_number(book_->sheet, book_->next, place++, number, format);
    } else {
      // Written as text, so a name that looks like a formula stays one.
      worksheet_write_string(book_->sheet, book_->next, place++, text.c_str(), format);
    }
  }
  ++book_->next;
  if (book_->cells > before) ++book_->rows;
}

Result<bool> XlsxTable::close() {
  const lxw_error error = workbook_close(std::exchange(book_->workbook, nullptr));
  if (error != LXW_NO_ERROR) {
    return fail(ErrorKind::kIo, fmt::format("{}: {}", book_->path.string(), lxw_strerror(error)));
  }
  const Result<void> whole =
      check_spreadsheet(book_->file->descriptor_path(), book_->rows, book_->cells);
  if (!whole) {
    return fail(ErrorKind::kIo, fmt::format("{}: it could not be written completely ({}); is the "
                                            "disk full?",
                                            book_->path.string(), whole.error().message));
  }
  if (const Result<void> done = book_->file->commit(); !done) return propagate(done);
  return true;
}

}  // namespace msprobe::tables
