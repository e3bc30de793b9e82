// SPDX-License-Identifier: Apache-2.0
// Results of operators that draw random numbers: other draws are as right as these, so what is
// compared is what every draw has in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/strict.h"
#include "strict/draws.h"
#include "strict/strict_options.h"

namespace msprobe::strict {

// Nothing if this leaf is the same in all draws: it is not random after all. `forward`: the
// device's first output, to which the mask of a dropout's gradient must fit; undefined if there is
// none. `spread`: as Conditioning gives it.
std::optional<StrictFinding> judge_random(Draws& all_draws, std::string_view bare_name,
                                          Direction direction, const std::string& path,
                                          const at::Tensor& device, const at::Tensor& forward,
                                          const at::Tensor& spread, const StrictOptions& allowed);

}  // namespace msprobe::strict
