// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "dump_compare/compare_dumps.h"

namespace msprobe::dump_compare {
namespace {

Failure refused(ErrorKind kind, const std::filesystem::path& path, std::string_view text) {
  return fail(kind, fmt::format("{}: {}", path.string(), text));
}

std::string framework_of(const dump::EntryIndex& index) {
  std::string name = index.framework.value_or("pytorch");
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// Whether a tensor has a checksum. A text that only looks like one is read closely.
bool has_checksums(const dump::EntryIndex& index) {
  constexpr std::string_view kKey = "md5\"";
  // One look at the whole file is quicker than one at each entry.
  if (index.file.text().find(kKey) == std::string_view::npos) return false;
  dump::EntryReader reader;
  dump::Entry entry;
  for (const dump::EntrySlice& slice : index.entries) {
    if (slice.json.find(kKey) == std::string_view::npos) continue;
    if (!reader.read(slice, {}, entry)) continue;
    const bool found = std::ranges::any_of(entry.items, [](const dump::Item& item) {
      return item.kind == dump::ItemKind::kTensor && !item.md5.text.empty() &&
             item.md5.kind != dump::ItemValue::Kind::kNull;
    });
    if (found) return true;
  }
  return false;
}

Result<void> check_side(const dump::EntryIndex& index, const std::filesystem::path& path) {
  if (index.entries.empty()) {
    return refused(ErrorKind::kUsage, path,
                   "no recorded calls: was anything between start() and stop()?");
  }
  const std::string framework = framework_of(index);
  if (framework != "pytorch") {
    return refused(ErrorKind::kUnsupported, path,
                   fmt::format("framework {}: only PyTorch dumps can be compared", framework));
  }
  if (index.task != "tensor" && index.task != "statistics") {
    return refused(
        ErrorKind::kUnsupported, path,
        index.task.empty()
            ? std::string("no \"task\": expected statistics or tensor")
            : fmt::format("task {} holds no values: expected statistics or tensor", index.task));
  }
  return {};
}

}  // namespace

Result<DataMode> mode_of(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                         const DumpCompareOptions& options) {
  if (const auto checked = check_side(target, options.target); !checked) return propagate(checked);
  if (const auto checked = check_side(golden, options.golden); !checked) return propagate(checked);
  if (target.task != golden.task) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("different tasks: {} in {}, {} in {}; record both with the same one",
                    target.task, options.target.string(), golden.task, options.golden.string()));
  }
  if (target.task == "tensor") return DataMode::kReal;
  const bool of_target = has_checksums(target);
  const bool of_golden = has_checksums(golden);
  if (of_target != of_golden) {
    return fail(ErrorKind::kUsage,
                fmt::format("only {} has checksums; record both with the same summary_mode",
                            (of_target ? options.target : options.golden).string()));
  }
  return of_target ? DataMode::kMd5 : DataMode::kStatistics;
}

}  // namespace msprobe::dump_compare
