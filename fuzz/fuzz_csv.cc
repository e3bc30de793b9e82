// SPDX-License-Identifier: Apache-2.0
// Any bytes as a details CSV: every record must be read or refused with a message, and the rows
// that are read must be writable and read back to the same cells.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/visible_text.h"
#include "documented/detail_row.h"
#include "documented/profile.h"
#include "tables/csv_reader.h"
#include "tables/csv_text.h"
#include "tables/detail_columns.h"
#include "tables/table_reader.h"

namespace {

using namespace msprobe;

void require(bool holds) {
  if (!holds) std::abort();
}

// What append_text writes reads back as one record of the same cells, hidden characters as escapes.
void check_record(const tables::CsvReader& reader) {
  std::string line(tables::kByteOrderMark);  // as at the start of a file
  for (std::size_t i = 0; i < reader.cells().size(); ++i) {
    if (i > 0) line += ',';
    tables::append_text(line, tables::without_guard(reader.cells()[i]));
  }
  line += tables::kRecordEnd;
  tables::CsvReader again(line, "again");
  const Result<bool> more = again.next();
  require(more.has_value());
  if (!*more) return;  // one empty cell is an empty line
  require(reader.cells().size() == again.cells().size());
  for (std::size_t i = 0; i < again.cells().size(); ++i) {
    const std::string wanted = visible_text(tables::without_guard(reader.cells()[i]));
    require(tables::without_guard(again.cells()[i]) == tables::without_guard(wanted));
  }
}

void read_records(std::string_view text) {
  tables::CsvReader reader(text, "fuzz.csv");
  std::size_t offset = reader.offset();
  while (true) {
    const Result<bool> more = reader.next();
    if (!more) {
      require(more.error().message.find("fuzz.csv: line ") == 0);
      return;
    }
    if (!*more) return;
    require(reader.offset() > offset && reader.offset() <= text.size());
    offset = reader.offset();
    check_record(reader);
  }
}

void read_rows(std::string_view text) {
  const auto columns = tables::detail_columns(documented::Profile::kDocumented);
  auto table = tables::TableReader<documented::DetailRow>::start(text, "fuzz.csv", columns);
  if (!table) return;
  documented::DetailRow row;
  std::string line;
  while (true) {
    const Result<bool> more = table->next(row);
    if (!more || !*more) return;
    line.clear();
    tables::append_record(line, columns, row, tables::kDefaultPrecision);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_records(text);
  read_rows(text);
  return 0;
}
