// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_mode.h"

#include <fmt/format.h>

#include "core/look_up.h"
#include "torchair/fx_files.h"
#include "torchair/ge_files.h"
#include "torchair/info_file.h"
#include "torchair/real_names.h"

namespace msprobe::torchair {
namespace {

// Whether the first converted file that can be read holds minimum and maximum.
std::optional<bool> info_is_range(const fs::path& path, bool is_array, DumpFiles& files) {
  const Result<FileBytes> file = files.load(path);
  if (!file) {
    files.note_unread(file.error().message);
    return std::nullopt;
  }
  const std::string name = path.filename().string();
  if (is_array) {
    const Result<InfoValues> values = read_info_array(*file, name);
    return values && !values->empty() ? std::optional(is_range(*values)) : std::nullopt;
  }
  const Result<InfoFile> info = read_info_file(*file, name);
  if (!info) return std::nullopt;
  for (const auto* side : {&info->outputs, &info->inputs}) {
    for (const InfoValues& values : *side) {
      if (!values.empty()) return is_range(values);
    }
  }
  return std::nullopt;
}

// Nothing: every file holds data.
std::optional<GraphMode> mode_of_directory(const fs::path& directory, bool is_fx,
                                           DumpFiles& files) {
  const RealNames real_names(directory, files);
  const auto entries = list_directory(directory);
  if (!entries) files.note_unread(entries.error().message);
  for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
    const std::string name = real_names.of(entry.path().filename().string());
    bool is_info = false;
    if (is_fx) {
      const auto parsed = parse_fx_name(name);
      is_info = parsed && parsed->array.is_info;
    } else {
      const auto parsed = ge::parse_file_name(name);
      if (parsed && parsed->kind == ge::FileKind::kStatistics) return GraphMode::kStatistics;
      is_info = parsed ? parsed->kind == ge::FileKind::kInfo
                       : ge::is_hashed_name(name) && name.ends_with(".npz");
    }
    if (!is_info || has_original(entry.path())) continue;
    if (const auto range = info_is_range(entry.path(), is_fx, files)) {
      return *range ? GraphMode::kStatistics : GraphMode::kReal;
    }
  }
  return std::nullopt;
}

}  // namespace

GraphMode find_mode(const UnitPlan& plan, DumpFiles& files) {
  for (const UnitPair& unit : plan.pairs) {
    if (const auto mode = mode_of_directory(unit.device, false, files)) return *mode;
    if (const auto mode = mode_of_directory(unit.bench, plan.bench_is_fx, files)) return *mode;
  }
  return GraphMode::kReal;
}

}  // namespace msprobe::torchair
