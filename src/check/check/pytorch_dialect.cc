// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch, as documents 000 and 002 describe their check.
#include <algorithm>

#include <fmt/format.h>

#include "check/dialect.h"
#include "check/leaf_verdict.h"
#include "core/call_name.h"
#include "ops/op.h"
#include "tables/detail_columns.h"

namespace msprobe::check {
namespace {

constexpr std::string_view kNotReplayedTypes[] = {"Distributed", "MindSpeed"};

SkipReason pytorch_reason_to_skip(std::string_view full_name) {
  const std::string_view type = full_name.substr(0, full_name.find('.'));
  if (std::ranges::find(kNotReplayedTypes, type) != std::end(kNotReplayedTypes)) {
    return SkipReason::kNotSupported;
  }
  const auto name = parse_call_name(full_name);
  if (!name) return SkipReason::kNotSupported;
  const ops::NeverChecked never = ops::traits_of(name->bare_name).never_checked;
  return never == ops::NeverChecked::kNowhere ? SkipReason::kNone : SkipReason::kFiltered;
}

std::filesystem::path pytorch_error_data(const Config& config, const journal::CsvPaths& paths,
                                         const dump::DumpIndex& /*dump*/) {
  return config.error_data_path / ("ut_error_data" + paths.stamp);
}

// The public tool writes no details of a dropout.
bool pytorch_has_no_details(std::string_view full_name, documented::Profile profile) {
  const auto name = parse_call_name(full_name);
  return profile == documented::Profile::kReference && name &&
         ops::is_dropout(ops::traits_of(name->bare_name));
}

}  // namespace

const Dialect& pytorch_dialect() {
  static const Dialect dialect{
      .name = "pytorch",
      .engine_name = "pytorch",
      .reason_to_skip = &pytorch_reason_to_skip,
      .left_out = [](std::string_view) { return std::string_view(); },
      .look_at = [](const dump::DumpIndex& dump, const std::filesystem::path&)
          -> Result<std::vector<std::string>> { return warnings_about(dump); },
      .engine_device = [](std::string_view named,
                          const dump::DumpIndex&) { return std::string(named); },
      .judge_leaf = &judge_leaf,
      .conclude = &documented::conclude,
      .has_no_details = &pytorch_has_no_details,
      .detail_columns = &tables::detail_columns,
      .result_columns = &tables::result_columns,
      .style = {},
      .names = {},
      .error_data = &pytorch_error_data,
  };
  return dialect;
}

}  // namespace msprobe::check
