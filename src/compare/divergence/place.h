// SPDX-License-Identifier: Apache-2.0
// Describes the place of a recorded call for a person: module, source line, and the command that
// replays it.
#pragma once

#include <filesystem>
#include <memory>
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

// stack.json and construct.json of a dump, if they are open already.
struct Companions {
  std::shared_ptr<const dump::StackIndex> stacks;
  std::shared_ptr<const dump::ConstructIndex> modules;
};

// Looks into stack.json and construct.json beside a dump: those that are not open are opened at the
// first question, and may be missing.
class PlaceFinder {
 public:
  explicit PlaceFinder(std::filesystem::path dump, Companions open = {})
      : dump_(std::move(dump)), open_(std::move(open)) {}

  CallPlace find(std::string_view entry);

 private:
  void open();
  std::filesystem::path dump_;
  bool opened_ = false;
  Companions open_;
};

}  // namespace msprobe::divergence
