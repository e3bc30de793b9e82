// SPDX-License-Identifier: Apache-2.0
// The whole self check: every scenario on the simulated device, and the score of each.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "selfcheck/score.h"

namespace msprobe::selfcheck {

struct SelfCheckOptions {
  std::filesystem::path dump;
  std::filesystem::path engine;
  std::filesystem::path directory;  // for what the checks write; there is one below for each
  std::vector<std::string> only;    // scenarios by name; empty: all. The exact device always runs.
  std::size_t jobs = 1;
  int interrupt = -1;
  std::function<std::string()> timestamp;
  std::function<void(const std::string& scenario, std::size_t done, std::size_t total)> show;
};

struct SelfCheckOutcome {
  std::vector<Score> scores;
  std::size_t calls = 0;  // of the dump
  bool interrupted = false;
};

Result<SelfCheckOutcome> run(const SelfCheckOptions& options);

}  // namespace msprobe::selfcheck
