// SPDX-License-Identifier: Apache-2.0
// A result that is beyond its bound, for the search of a likely cause (src/judge/cause). The search
// reads; it changes no verdict.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "execute/rerun.h"
#include "strict/conditioning.h"
#include "strict/float_type.h"
#include "strict/scan.h"

namespace msprobe::strict {

struct Failure {
  at::Tensor device;  // plain
  at::Tensor bench;   // plain
  Limits limits;      // that it is beyond
  FloatType type;
  Direction direction = Direction::kForward;
  std::string path;
  std::string_view bare_name;
  std::vector<at::Tensor> other_benches;  // of this direction, where another output has this shape
  execute::Variation how;                 // in which way the benchmark ran
  bool place_first = false;               // where the error is says more than what it looks like
};

// The name of the cause; empty if nothing fits. `rerun`: null if the numbers alone are to tell.
using NameCause = std::function<std::string(const Failure& failure, execute::Rerun* rerun)>;

}  // namespace msprobe::strict
