// SPDX-License-Identifier: Apache-2.0
#include "tables/older_summary.h"

#include <fmt/format.h>

#include "core/file.h"
#include "tables/older_columns.h"
#include "tables/table_reader.h"
#include "tables/text_table.h"

namespace msprobe::tables {
namespace {

using documented::ResultRow;

struct Counts {
  std::size_t passed = 0, forward = 0, backward = 0, both = 0, skipped = 0;

  void add(const ResultRow& row) {
    const bool forward_fails = row.forward == Verdict::kError;
    const bool backward_fails = row.backward == Verdict::kError;
    if (forward_fails && backward_fails) {
      ++both;
    } else if (forward_fails) {
      ++forward;
    } else if (backward_fails) {
      ++backward;
    } else if (row.forward == Verdict::kSkip) {
      ++skipped;
    } else {
      ++passed;
    }
  }
};

}  // namespace

Result<std::string> older_summary(const std::filesystem::path& result_csv, bool colour) {
  const Result<FileBytes> file = load_file(result_csv);
  if (!file) return propagate(file);
  auto table = TableReader<ResultRow>::start(file->text(), result_csv.string(),
                                             older_result_columns(), {}, kOlderStyle);
  if (!table) return propagate(table);
  Counts counts;
  ResultRow row;
  for (Result<bool> more = table->next(row); more && *more; more = table->next(row)) {
    counts.add(row);
  }
  const std::size_t failed = counts.forward + counts.backward + counts.both;
  const std::size_t judged = counts.passed + failed;
  const double rate =
      judged == 0 ? 0 : static_cast<double>(counts.passed) / static_cast<double>(judged);
  const auto text = [](std::size_t count) { return std::to_string(count); };
  return render({{"Total Pass", "Total Fail", "Passing Rate", "Skipped"},
                 {{text(counts.passed), text(failed), fmt::format("{:.2f}%", 100 * rate),
                   text(counts.skipped)}}},
                colour) +
         "\n" +
         render({{"Forward Fail", "Backward Fail", "Both Fail"},
                 {{text(counts.forward), text(counts.backward), text(counts.both)}}},
                colour);
}

}  // namespace msprobe::tables
