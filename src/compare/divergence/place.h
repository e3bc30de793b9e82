// SPDX-License-Identifier: Apache-2.0
// What a person needs to find a recorded call: module, source line, and the command that replays
// it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/construct_json.h"
#include "dump/stack_json.h"

namespace msprobe::divergence {

struct CallPlace {
  std::string module;              // the innermost module call it ran in; empty: not recorded
  std::string source;              // the innermost frame outside of libraries, in one line
  std::vector<std::string> stack;  // all frames, innermost first
  std::string rerun;               // empty: acc_check does not run such a call
};

// Looks into stack.json and construct.json beside a dump, which are opened when they are asked for
// and may be missing.
class PlaceFinder {
 public:
  explicit PlaceFinder(std::filesystem::path dump) : dump_(std::move(dump)) {}

  CallPlace find(std::string_view entry);

 private:
  void open();
  std::filesystem::path dump_;
  bool opened_ = false;
  std::optional<dump::StackIndex> stacks_;
  std::optional<dump::ConstructIndex> construct_;
};

}  // namespace msprobe::divergence
