// SPDX-License-Identifier: Apache-2.0
#include "report/report_row.h"

#include <algorithm>

#include "dump/printable.h"
#include "tables/number_text.h"

namespace msprobe::report {

std::string utf8(std::string_view text) {
  return dump::is_utf8(text) ? std::string(text) : dump::printable(text, text.size());
}

std::string shown_text(std::string_view cell) { return utf8(tables::trim(cell)); }

void take_dots(std::string& name) { std::ranges::replace(name, '*', '.'); }

ReportRow report_row(const documented::DetailRow& row) {
  ReportRow out;
  out.status = row.status;
  out.strict = row.strict_status;
  out.bench_dtype = shown_text(row.bench_dtype);
  out.device_dtype = shown_text(row.device_dtype);
  out.shape = shown_text(row.shape);
  out.message = utf8(row.message);
  out.skip = row.skip;
  out.strict_reason = utf8(row.strict_reason);
  out.likely_cause = utf8(row.likely_cause);
  out.error_over_bound = row.error_over_bound.value_or(kNoNumber);
  return out;
}

}  // namespace msprobe::report
