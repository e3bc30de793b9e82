// SPDX-License-Identifier: Apache-2.0
// One call of a dump, by its name, with what an engine needs to run it.
#pragma once

#include <filesystem>
#include <string>

#include "check/dialect.h"
#include "core/replay_settings.h"
#include "dump/call_record.h"

namespace msprobe::shrink {

struct RecordedCall {
  dump::CallRecord call;
  std::string data_directory;  // empty: the dump holds ranges only
  const check::Dialect* dialect = nullptr;
  std::string device;  // as the engine opens it

  // The device's results belong to the inputs that were recorded.
  bool is_fixed() const { return device == "recorded"; }
};

// `name`: "Functional.conv2d.0".
Result<RecordedCall> read_call(const std::string& api_info, const std::string& name,
                               const std::string& device);

// `asked`: what the user says of the replay; the rest is what the call needs.
ReplaySettings replay_settings(const RecordedCall& recorded, const std::string& api_info,
                               ReplaySettings asked);

}  // namespace msprobe::shrink
