// Any bytes as a details CSV: every record must be read or refused with a message, and the rows
// that are read must be writable and read back to the same cells.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "judge/detail_row.h"
#include "report/csv_reader.h"
#include "report/csv_text.h"
#include "report/detail_columns.h"
#include "report/table_reader.h"

namespace {

using namespace msprobe;

void require(bool holds) {
  if (!holds) std::abort();
}

// What append_text writes reads back as one record of the same cells.
void check_record(const report::CsvReader& reader) {
  std::string line(report::kByteOrderMark);  // as at the start of a file
  for (std::size_t i = 0; i < reader.cells().size(); ++i) {
    if (i > 0) line += ',';
    report::append_text(line, report::without_guard(reader.cells()[i]));
  }
  line += report::kRecordEnd;
  report::CsvReader again(line, "again");
  const Result<bool> more = again.next();
  require(more.has_value());
  if (!*more) return;  // one empty cell is an empty line
  require(reader.cells().size() == again.cells().size());
  for (std::size_t i = 0; i < again.cells().size(); ++i) {
    require(report::without_guard(again.cells()[i]) == report::without_guard(reader.cells()[i]));
  }
}

void read_records(std::string_view text) {
  report::CsvReader reader(text, "fuzz.csv");
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
  const auto columns = report::detail_columns(judge::Profile::kDocumented);
  auto table = report::TableReader<judge::DetailRow>::start(text, "fuzz.csv", columns);
  if (!table) return;
  judge::DetailRow row;
  std::string line;
  while (true) {
    const Result<bool> more = table->next(row);
    if (!more || !*more) return;
    line.clear();
    report::append_record(line, columns, row, report::kDefaultPrecision);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_records(text);
  read_rows(text);
  return 0;
}
