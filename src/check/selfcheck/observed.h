// SPDX-License-Identifier: Apache-2.0
// Results of one run of the check: the device's values, and the verdicts on them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/verdict.h"

namespace msprobe::selfcheck {

// One direction of one call.
struct Pass {
  std::string call;
  bool backward = false;
  auto operator<=>(const Pass&) const = default;
};

// What the device wrote down.
struct DeviceLog {
  std::map<Pass, std::map<std::string, std::string>> results;  // by leaf: a digest of its bytes
  std::map<Pass, std::string> faults;                          // what was put in
};

// Lines of tabs: "result CALL DIRECTION LEAF DIGEST", "fault CALL DIRECTION NAME RULE". A file that
// is not there is an empty log: the device did nothing.
Result<DeviceLog> read_log(const std::filesystem::path& path);

// What the check said of one output or gradient.
struct Said {
  std::string leaf;
  Verdict documented = Verdict::kSkip;
  std::optional<Verdict> strict;
  std::string strict_reason;
  std::string cause;
  std::int64_t elements = 0;
  std::string dtype;
  std::optional<double> units;  // of its dtype by which it is off, at most
};

using Details = std::map<Pass, std::vector<Said>>;
Result<Details> read_details(const std::filesystem::path& csv);

}  // namespace msprobe::selfcheck
