// SPDX-License-Identifier: Apache-2.0
#include "torchair/ge_files.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/file.h"
#include "core/look_up.h"
#include "ge/elements.h"
#include "ge/statistics_file.h"
#include "measure/chunks.h"
#include "torchair/info_file.h"
#include "torchair/real_names.h"
#include "torchair/slices.h"

namespace msprobe::torchair {
namespace {

GeTensorInfo info_of(const ge::DumpTensor& tensor, const FileBytes& file) {
  GeTensorInfo info;
  info.original_op = tensor.original_op;
  const ge::ElementType* type = ge::element_type(tensor.type);
  if (type != nullptr) info.dtype = type->text;
  if (tensor.absent) {
    info.problem = "the file has no bytes for this tensor (address 0)";
    info.shape = tensor.original_shape.empty() ? tensor.shape : tensor.original_shape;
    return info;
  }
  const Result<ge::Elements> elements = ge::elements_of(tensor, file);
  if (!elements) {
    info.problem = elements.error().message;
    return info;
  }
  info.shape = elements->shape;
  info.format = elements->format;
  return info;
}

void describe_dump(const FileBytes& bytes, GeFile& file) {
  const Result<ge::DumpFile> dump = ge::read_dump_file(bytes);
  if (!dump) {
    file.problem = dump.error().message;
    file.is_foreign = dump.error().kind == ErrorKind::kUnsupported;
    return;
  }
  if (!dump->op_name.empty()) {
    file.op_name = dump->op_name;
    file.name_is_escaped = false;
  }
  if (dump->time != 0 && file.time == 0) file.time = dump->time;
  file.may_be_cut = dump->container == ge::Container::kSingleMessage && dump->op_name.empty();
  if (Result<ge::SliceInfo> cut = ge::read_slice_info(*dump)) file.cut = std::move(*cut);
  for (const ge::DumpTensor& tensor : dump->inputs) file.inputs.push_back(info_of(tensor, bytes));
  for (const ge::DumpTensor& tensor : dump->outputs) file.outputs.push_back(info_of(tensor, bytes));
}

void describe_statistics(const FileBytes& bytes, GeFile& file) {
  const auto rows = ge::read_statistics(bytes.text());
  if (!rows) {
    file.problem = rows.error().message;
    return;
  }
  file.may_be_cut = true;
  for (const ge::TensorStatistics& row : *rows) {
    std::vector<GeTensorInfo>& side = row.is_output ? file.outputs : file.inputs;
    if (row.index != side.size()) {
      file.problem = fmt::format("{} {} follows {} others", row.is_output ? "output" : "input",
                                 row.index, side.size());
      return;
    }
    side.push_back({row.type_text, row.shape, row.format == "ND" ? "" : row.format, {}, {}, {}});
  }
}

void describe_info(const FileBytes& bytes, GeFile& file) {
  const Result<InfoFile> info = read_info_file(bytes, file.name);
  if (!info) {
    file.problem = info.error().message;
    return;
  }
  file.inputs.resize(info->inputs.size());
  file.outputs.resize(info->outputs.size());
}

void describe(GeFile& file) {
  const Result<FileBytes> bytes = load_file(file.source.path);
  if (!bytes) {
    file.problem = bytes.error().message;
    file.is_unread = true;
    return;
  }
  switch (file.source.kind) {
    case ge::FileKind::kBinary:
      describe_dump(*bytes, file);
      break;
    case ge::FileKind::kStatistics:
      describe_statistics(*bytes, file);
      break;
    case ge::FileKind::kInfo:
      describe_info(*bytes, file);
      break;
  }
  if (!file.problem.empty()) {
    file.inputs.clear();
    file.outputs.clear();
  }
}

void note_manual_slice(GeFile& file) {
  const auto manual = ge::parse_slice_name(file.op_name);
  if (!manual) return;
  file.slice = manual->number;
  file.is_manual_slice = true;
  file.op_name = std::string(manual->op);
}

}  // namespace

std::vector<GeFile> list_ge_files(const fs::path& directory, int threads,
                                  std::vector<std::string>& unread) {
  const RealNames real_names(directory, unread);
  std::vector<GeFile> files;
  const auto entries = list_directory(directory);
  if (!entries) unread.push_back(entries.error().message);
  for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) continue;  // other non-files get a row with the reason
    GeFile file;
    file.source.path = entry.path();
    file.name = file.source.path.filename().string();
    const auto parsed = ge::parse_file_name(real_names.of(file.name));
    if (parsed) {
      file.op_type = parsed->op_type;
      file.op_name = parsed->op_name;
      file.name_is_escaped = true;
      file.time = parsed->time;
      file.source.kind = parsed->kind;
      file.slice = parsed->thread;
    } else if (!ge::is_hashed_name(file.name)) {
      continue;
    } else {
      // Not in mapping.csv: the header may still say what it is.
      file.op_name = file.name;
      if (file.name.ends_with(".npz")) file.source.kind = ge::FileKind::kInfo;
    }
    if (file.source.kind == ge::FileKind::kInfo && has_original(file.source.path)) continue;
    files.push_back(std::move(file));
  }
  measure::spread(files.size(), threads, [&](std::size_t i) {
    describe(files[i]);
    note_manual_slice(files[i]);
  });
  for (const GeFile& file : files) {
    if (file.is_unread) unread.push_back(file.problem);
  }
  std::ranges::sort(files, [](const GeFile& a, const GeFile& b) {
    return std::tie(a.time, a.slice, a.name) < std::tie(b.time, b.slice, b.name);
  });
  return join_slices(std::move(files));
}

}  // namespace msprobe::torchair
