// SPDX-License-Identifier: Apache-2.0
// Dialect: everything in which the dumps of one framework, and the files a check of them writes,
// differ from those of another. One struct of data and functions per dialect; nothing else in the
// check asks whose dump it is. What differs in running a call is execute::ReplayDialect, in the
// engine.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/config.h"
#include "core/result.h"
#include "documented/detail_row.h"
#include "documented/judge.h"
#include "documented/profile.h"
#include "documented/result_row.h"
#include "documented/skip_message.h"
#include "dump/dump_json.h"
#include "journal/csv_pair.h"
#include "ops/named_call.h"
#include "protocol/measured_call.h"
#include "tables/column.h"

namespace msprobe::check {

struct Dialect {
  std::string_view name;         // in the run file: "pytorch"
  std::string_view engine_name;  // its name in messages to engines

  // --- Which calls are checked. ---
  // Why a call gets a row without running; kNone: it runs.
  SkipReason (*reason_to_skip)(const ops::NamedCall& call);
  // Calls that get no row and are only counted: the group they are counted under; empty: a row.
  std::string_view (*left_out)(std::string_view full_name);
  // What a user should know before the check, or why there can be none.
  Result<std::vector<std::string>> (*look_at)(const dump::DumpIndex& dump,
                                              const std::filesystem::path& path);

  // --- Devices. ---
  // What an engine opens for a device as the user named it.
  std::string (*engine_device)(std::string_view named, const dump::DumpIndex& dump);

  // --- Verdicts. ---
  documented::DetailRow (*judge_leaf)(const protocol::MeasuredLeaf& leaf,
                                      const documented::Context& context);
  documented::ResultRow (*conclude)(std::string_view full_name,
                                    std::span<const documented::DetailRow> forward,
                                    std::span<const documented::DetailRow> backward,
                                    documented::Profile profile, bool backward_skipped);
  // Calls of which the details say nothing.
  bool (*has_no_details)(const ops::NamedCall& call, documented::Profile profile);

  // --- Files. ---
  std::span<const tables::Column<documented::DetailRow>> (*detail_columns)(
      documented::Profile profile);
  std::span<const tables::Column<documented::ResultRow>> (*result_columns)();
  tables::CellStyle style;  // its decimals are those of the configuration
  journal::CsvNames names;
  bool saves_npy = false;  // error data are .npy files; .pt files otherwise
  // Where -save_error_data puts tensors; empty: nowhere, the dump holds them already.
  std::filesystem::path (*error_data)(const Config& config, const journal::CsvPaths& paths,
                                      const dump::DumpIndex& dump);
};

const Dialect& pytorch_dialect();
// The older recorder's files, checked by run_ut.
const Dialect& older_dialect();
const Dialect& mindspore_dialect();
const Dialect& mindtorch_dialect();  // MSAdapter

// By the key "framework"; older dumps lack it and are recognized by their tensor types.
Result<const Dialect*> dialect_of(const dump::DumpIndex& dump, const std::filesystem::path& path);

// By name; null: none is called so.
const Dialect* find_dialect(std::string_view name);

// The first bytes of both files.
journal::CsvHeaders headers_of(const Dialect& dialect, documented::Profile profile,
                               tables::Titles titles);

// What a user should know of any dump before it is checked: its level, odd and repeated keys.
std::vector<std::string> warnings_about(const dump::DumpIndex& dump);

}  // namespace msprobe::check
