// SPDX-License-Identifier: Apache-2.0
// The overflow check: every recorded call on the CPU and on a device, in the recorded precision,
// and for each whether its overflow is one of the data.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "engines/dispatch.h"
#include "engines/engine_options.h"
#include "overflow/overflow_row.h"

namespace msprobe::overflow {

struct OverflowOptions {
  std::filesystem::path input;                    // dump.json or forward_info_{pid}.json
  std::optional<std::filesystem::path> backward;  // backward_info_{pid}.json
  // Older files name tensor files by the path they were recorded at. They are read only below this
  // directory; empty: that of `input`.
  std::filesystem::path data_directory;
  std::vector<std::string> only;  // words of --only; empty: every call
  engines::EngineOptions engine;
  std::string device;  // as the user named it; empty: npu, else cuda, else what was recorded
  std::size_t workers = 1;
  engines::DispatchOptions dispatch;

  std::optional<std::filesystem::path> csv;  // not there yet; empty: none is written
  std::function<void(log::Severity, const std::string&)> say;
  std::function<void(const OverflowRow&)> on_row;  // in dump order
  std::function<void(std::size_t done, std::size_t total)> show_progress;
};

struct OverflowOutcome {
  std::size_t normal = 0;
  std::size_t abnormal = 0;
  std::size_t not_reproduced = 0;
  std::size_t cpu_only = 0;
  std::size_t skipped = 0;
  std::size_t lost = 0;                     // of these: should have been checked
  std::vector<std::string> abnormal_names;  // the first of them, with the output that overflows
  std::string device;                       // "sim:0", "recorded"
  bool interrupted = false;

  std::size_t checked() const { return normal + abnormal + not_reproduced + cpu_only; }
  void add(const OverflowRow& row);
};

Result<OverflowOutcome> run(const OverflowOptions& options);

}  // namespace msprobe::overflow
