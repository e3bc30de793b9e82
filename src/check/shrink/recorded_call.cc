// SPDX-License-Identifier: Apache-2.0
#include "shrink/recorded_call.h"

#include "check/call_selection.h"
#include "core/path_check.h"
#include "dump/dump_json.h"

namespace msprobe::shrink {

namespace fs = std::filesystem;

Result<RecordedCall> read_call(const std::string& api_info, const std::string& name,
                               const std::string& device) {
  const Result<fs::path> path = check_input_file(api_info, {.suffix = ".json"});
  if (!path) return propagate(path);
  const Result<dump::DumpIndex> index = dump::open_dump(*path);
  if (!index) return propagate(index);
  const Result<const check::Dialect*> dialect = check::dialect_of(*index, *path);
  if (!dialect) return propagate(dialect);
  for (const dump::CallSlice& slice : index->calls) {
    if (slice.full_name != name) continue;
    Result<dump::CallRecord> call = dump::parse_call(slice, path->filename().string());
    if (!call) return propagate(call);
    RecordedCall recorded{*std::move(call), "", *dialect,
                          (*dialect)->engine_device(device, *index)};
    if (!index->dump_data_dir.empty()) {
      recorded.data_directory = (path->parent_path() / dump::kDataDirectory).string();
    }
    return recorded;
  }
  return fail(ErrorKind::kUsage, check::no_call_named(name, *index));
}

ReplaySettings replay_settings(const RecordedCall& recorded, const std::string& api_info,
                               ReplaySettings asked) {
  asked.dialect = recorded.dialect->engine_name;
  asked.save_npy = recorded.dialect->saves_npy;
  asked.dump_name = fs::path(api_info).filename().string();
  asked.data_directory = recorded.data_directory;
  asked.strict = true;
  return asked;
}

}  // namespace msprobe::shrink
