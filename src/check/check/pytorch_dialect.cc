// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch; docs/documents.md lists the pages that describe their check.
#include <algorithm>

#include <fmt/format.h>

#include "check/dialect.h"
#include "check/leaf_verdict.h"
#include "ops/op.h"
#include "tables/detail_columns.h"

namespace msprobe::check {
namespace {

constexpr std::string_view kNotReplayedTypes[] = {"Distributed", "MindSpeed"};

SkipReason pytorch_reason_to_skip(const ops::NamedCall& call) {
  const std::string_view type = call.full_name.substr(0, call.full_name.find('.'));
  if (std::ranges::find(kNotReplayedTypes, type) != std::end(kNotReplayedTypes)) {
    return SkipReason::kNotSupported;
  }
  if (!call.name) return SkipReason::kNotSupported;
  return call.traits.never_checked == ops::NeverChecked::kNowhere ? SkipReason::kNone
                                                                  : SkipReason::kFiltered;
}

std::filesystem::path pytorch_error_data(const Config& config, const journal::CsvPaths& paths,
                                         const dump::DumpIndex& /*dump*/) {
  return config.error_data_path / ("ut_error_data" + paths.stamp);
}

// The public tool writes no details of a dropout.
bool pytorch_has_no_details(const ops::NamedCall& call, documented::Profile profile) {
  return profile == documented::Profile::kReference && call.name && ops::is_dropout(call.traits);
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
