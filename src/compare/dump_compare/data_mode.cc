// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "dump/printable.h"
#include "dump_compare/compare_dumps.h"

namespace msprobe::dump_compare {
namespace {

using dump::Framework;

Failure refused(ErrorKind kind, const std::filesystem::path& path, std::string_view text) {
  return fail(kind, fmt::format("{}: {}", path.string(), text));
}

// A dump without the key is PyTorch's.
Result<Framework> framework_of(const dump::EntryIndex& index, const std::filesystem::path& path) {
  if (!index.framework) return Framework::kPyTorch;
  const auto framework = dump::parse_framework(*index.framework);
  if (framework) return *framework;
  return refused(ErrorKind::kUnsupported, path,
                 fmt::format("framework {}: expected pytorch, mindspore or mindtorch",
                             dump::printable(*index.framework)));
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

Result<Frameworks> frameworks_of(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                                 const DumpCompareOptions& options) {
  const Result<Framework> of_target = framework_of(target, options.target);
  if (!of_target) return propagate(of_target);
  const Result<Framework> of_golden = framework_of(golden, options.golden);
  if (!of_golden) return propagate(of_golden);
  const Frameworks found{*of_target, *of_golden};
  if (found.golden == Framework::kMindSpore && found.differ()) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("{} is of {}, {} of {}: pass the MindSpore dump as the target (-tp) and "
                    "the other as the golden one (-gp)",
                    options.target.string(), dump::name(found.target), options.golden.string(),
                    dump::name(found.golden)));
  }
  if (options.api_mapping && !found.names_differ()) {
    return fail(ErrorKind::kUsage,
                "--api_mapping is for a target of MindSpore and a golden dump of PyTorch");
  }
  return found;
}

Result<DataMode> mode_of(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                         const DumpCompareOptions& options) {
  if (const auto checked = check_side(target, options.target); !checked) return propagate(checked);
  if (const auto checked = check_side(golden, options.golden); !checked) return propagate(checked);
  if ((target.level == kDebugLevel) != (golden.level == kDebugLevel)) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("only {} is of level debug; compare dump.json with dump.json, or "
                    "debug.json with debug.json",
                    (target.level == kDebugLevel ? options.target : options.golden).string()));
  }
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
