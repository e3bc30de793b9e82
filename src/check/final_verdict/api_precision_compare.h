// SPDX-License-Identifier: Apache-2.0
// api_precision_compare: the details CSV of a check on the NPU beside that of the same check on the
// GPU, judged call by call.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/verdict.h"
#include "documented/detail_row.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "tables/column.h"
#include "tables/number_text.h"

namespace msprobe::final_verdict {

struct PrecisionOptions {
  std::filesystem::path npu_csv;
  std::filesystem::path gpu_csv;
  std::filesystem::path out_dir = ".";  // must exist
  std::string timestamp;                // YYYYMMDDhhmmss, part of both file names
  documented::Profile profile = documented::Profile::kDocumented;
  tables::Titles titles = tables::Titles::kEnglish;
  documented::Standards standards;
  int precision = tables::kDefaultPrecision;
  // Told of each row that has no partner, and of each finished call; either may be empty.
  std::function<void(std::string_view)> warn;
  std::function<void(const documented::ResultRow&)> on_result;
};

struct VerdictCounts {
  std::uint64_t pass = 0, warning = 0, error = 0, skip = 0, blank = 0;
  void add(std::optional<Verdict> verdict);
  std::uint64_t judged() const { return pass + warning + error; }
};

// Calls by their strict verdict (strict_verdict.h); all 0 where the files have no strict status.
struct StrictCounts {
  std::uint64_t pass = 0, device_wrong = 0, both_wrong = 0, documented_only = 0, skip = 0;
  std::uint64_t inconclusive = 0;
  std::uint64_t raised = 0, lost = 0;  // on the device; known without a strict status, too
  void add(std::string_view verdict);
  std::uint64_t judged() const {
    return pass + device_wrong + both_wrong + documented_only + inconclusive;
  }
  std::uint64_t wrong() const { return device_wrong + both_wrong; }
};

struct PrecisionOutcome {
  std::filesystem::path result_csv;
  std::filesystem::path details_csv;
  std::uint64_t npu_rows = 0;
  std::uint64_t gpu_rows = 0;
  std::uint64_t calls = 0;  // lines of the result CSV
  VerdictCounts rows;       // of the details CSV
  VerdictCounts forward;    // of the result CSV
  VerdictCounts backward;
  StrictCounts strict;
  std::uint64_t npu_only = 0;       // NPU rows without a GPU row
  std::uint64_t gpu_only = 0;       // GPU rows no NPU row asked for
  std::uint64_t repeated = 0;       // NPU rows whose GPU row occurs more than once
  std::uint64_t not_same = 0;       // rows whose dtype or shape differ
  std::uint64_t invalid_names = 0;  // not the name of a row, or not safe in a spreadsheet
  std::string stopped;              // profile reference: why the comparison ended early

  // error, warning or pass, whichever is worst; SKIP when nothing was judged.
  Verdict worst() const;
};

// Writes api_precision_compare_{details,result}_{timestamp}.csv. Time and memory grow linearly: the
// GPU's rows are kept as numbers, the NPU's pass through.
Result<PrecisionOutcome> api_precision_compare(const PrecisionOptions& options);

}  // namespace msprobe::final_verdict
