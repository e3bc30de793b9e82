// SPDX-License-Identifier: Apache-2.0
#include "torchair/ge_files.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/look_up.h"
#include "measure/chunks.h"
#include "torchair/info_file.h"
#include "torchair/real_names.h"

namespace msprobe::torchair {
namespace {

void describe(GeFile& file, DumpFiles& files) {
  Result<GeData> data = GeData::open(file.paths.front(), file.kind, files);
  if (!data) {
    file.problem = data.error().message;
    file.is_unread = data.error().kind == ErrorKind::kIo;
    file.is_foreign =
        file.kind == ge::FileKind::kBinary && data.error().kind == ErrorKind::kUnsupported;
    return;
  }
  file.inputs = data->infos(DumpSide::kInput);
  file.outputs = data->infos(DumpSide::kOutput);
  file.may_be_cut = file.kind == ge::FileKind::kStatistics;
  if (const ge::DumpFile* const header = data->header()) {
    if (!header->op_name.empty()) {
      file.op_name = header->op_name;
      file.name_is_escaped = false;
    }
    if (header->time != 0 && file.time == 0) file.time = header->time;
    file.may_be_cut = header->container == ge::Container::kSingleMessage && header->op_name.empty();
    if (Result<ge::SliceInfo> cut = ge::read_slice_info(*header)) file.cut = std::move(*cut);
  }
  file.data = std::make_shared<const GeData>(*std::move(data));
}

void note_manual_slice(GeFile& file) {
  const auto manual = ge::parse_slice_name(file.op_name);
  if (!manual) return;
  file.slice = manual->number;
  file.is_manual_slice = true;
  file.op_name = std::string(manual->op);
}

}  // namespace

std::vector<GeFile> list_ge_files(const fs::path& directory, int threads, DumpFiles& dump_files) {
  const RealNames real_names(directory, dump_files);
  std::vector<GeFile> files;
  const auto entries = list_directory(directory);
  if (!entries) dump_files.note_unread(entries.error().message);
  for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) continue;  // other non-files get a row with the reason
    GeFile file;
    file.paths = {entry.path()};
    file.name = entry.path().filename().string();
    const auto parsed = ge::parse_file_name(real_names.of(file.name));
    if (parsed) {
      file.op_type = parsed->op_type;
      file.op_name = parsed->op_name;
      file.name_is_escaped = true;
      file.time = parsed->time;
      file.kind = parsed->kind;
      file.slice = parsed->thread;
    } else if (!ge::is_hashed_name(file.name)) {
      continue;
    } else {
      // Not in mapping.csv: the header may still say what it is.
      file.op_name = file.name;
      if (file.name.ends_with(".npz")) file.kind = ge::FileKind::kInfo;
    }
    if (file.kind == ge::FileKind::kInfo && has_original(entry.path())) continue;
    files.push_back(std::move(file));
  }
  measure::spread(files.size(), threads, [&](std::size_t i) {
    describe(files[i], dump_files);
    note_manual_slice(files[i]);
  });
  for (const GeFile& file : files) {
    if (file.is_unread) dump_files.note_unread(file.problem);
  }
  std::ranges::sort(files, [](const GeFile& a, const GeFile& b) {
    return std::tie(a.time, a.slice, a.name) < std::tie(b.time, b.slice, b.name);
  });
  return join_slices(std::move(files));
}

}  // namespace msprobe::torchair
