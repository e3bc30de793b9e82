// SPDX-License-Identifier: Apache-2.0
// What a call that draws random numbers gives with other seeds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "execute/rerun.h"
#include "strict/conditioning.h"

namespace msprobe::strict {

// The results of a call for other seeds, each drawn once for all of its leaves.
class Draws {
 public:
  // `base`: what the benchmark gave, which is a draw too. REQUIRES: all outlive this.
  Draws(execute::Rerun& rerun, const LeafTensors& base, std::string_view bare_name)
      : rerun_(rerun), base_(base), bare_name_(bare_name) {}

  // One row per draw, float64, flat (complex: both parts); undefined if a run failed or gave
  // another shape. `raise` off: in the recorded precision.
  at::Tensor rows(Direction direction, const std::string& path, at::IntArrayRef shape, bool raise,
                  std::size_t count);
  // The same by one run on `count` copies of the arguments; undefined also for operators that do
  // not draw for each element or image by itself.
  at::Tensor rows_of_copies(Direction direction, const std::string& path, at::IntArrayRef shape,
                            bool raise, std::size_t count);
  execute::Rerun& rerun() { return rerun_; }

 private:
  execute::Rerun& rerun_;
  const LeafTensors& base_;
  std::vector<LeafTensors> raised_;
  std::vector<LeafTensors> native_;
  std::string_view bare_name_;
  std::map<std::pair<bool, std::size_t>, LeafTensors> of_copies_;
};

}  // namespace msprobe::strict
