// SPDX-License-Identifier: Apache-2.0
#include "check/dialect.h"

#include <algorithm>

#include <fmt/format.h>

#include "dump/framework.h"

namespace msprobe::check {
namespace {

constexpr std::size_t kLookedAtCalls = 100;

using AnyDialect = const Dialect& (*)();
constexpr AnyDialect kDialects[] = {&pytorch_dialect, &older_dialect, &mindspore_dialect,
                                    &mindtorch_dialect};

bool has_torch_tensors(const dump::DumpIndex& dump) {
  const std::size_t count = std::min(dump.calls.size(), kLookedAtCalls);
  return std::any_of(dump.calls.begin(), dump.calls.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const dump::CallSlice& call) {
                       return call.forward_json.find("\"torch.") != std::string_view::npos;
                     });
}

}  // namespace

const Dialect* find_dialect(std::string_view name) {
  const auto found =
      std::ranges::find(kDialects, name, [](auto dialect) { return dialect().name; });
  return found == std::end(kDialects) ? nullptr : &(*found)();
}

Result<const Dialect*> dialect_of(const dump::DumpIndex& dump, const std::filesystem::path& path) {
  if (!dump.framework || dump.framework->empty()) {
    if (has_torch_tensors(dump)) return &pytorch_dialect();
    return fail(ErrorKind::kFormat,
                fmt::format("Key \"framework\" not found in {}", path.string()));
  }
  const auto framework = dump::parse_framework(*dump.framework);
  const Dialect* dialect = framework ? find_dialect(name(*framework)) : nullptr;
  if (dialect != nullptr) return dialect;
  return fail(ErrorKind::kUnsupported,
              fmt::format("Unsupported framework in api_info: {}", *dump.framework));
}

journal::CsvHeaders headers_of(const Dialect& dialect, documented::Profile profile,
                               tables::Titles titles) {
  return {tables::csv_header(dialect.result_columns(), titles),
          tables::csv_header(dialect.detail_columns(profile), titles)};
}

std::vector<std::string> warnings_about(const dump::DumpIndex& dump) {
  std::vector<std::string> warnings = dump.notes;
  if (!dump.level.empty() && dump.level != "L1" && dump.level != "mix") {
    warnings.push_back(fmt::format(
        "the dump is of level {}; a pre-check needs level L1 or mix, which record API calls",
        dump.level));
  }
  if (dump.odd_key_count > 0) {
    warnings.push_back(
        fmt::format("{} keys are neither forward nor backward entries and are left out; the first "
                    "is {}",
                    dump.odd_key_count, dump.odd_keys.front()));
  }
  if (!dump.repeated_keys.empty()) {
    warnings.push_back(fmt::format("duplicate entry {} in the dump; the last one is used",
                                   dump.repeated_keys.front()));
  }
  if (dump.unmatched_backward > 0) {
    warnings.push_back(fmt::format("{} backward entries have no forward entry and are left out",
                                   dump.unmatched_backward));
  }
  return warnings;
}

}  // namespace msprobe::check
