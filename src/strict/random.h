// SPDX-License-Identifier: Apache-2.0
// Results of operators that draw random numbers: other draws are as right as these, so what is
// compared is what every draw has in common.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/strict.h"
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

// Nothing if this leaf is the same in all draws: it is not random after all. `forward`: the
// device's first output, to which the mask of a dropout's gradient must fit; undefined if there is
// none. `spread`: as Conditioning gives it.
std::optional<StrictFinding> judge_random(Draws& all_draws, std::string_view bare_name,
                                          Direction direction, const std::string& path,
                                          const at::Tensor& device, const at::Tensor& forward,
                                          const at::Tensor& spread);

}  // namespace msprobe::strict
