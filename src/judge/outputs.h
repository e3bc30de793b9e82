// SPDX-License-Identifier: Apache-2.0
// A call's result as a tree, and how its two sides are laid beside each other: one pair, one row.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "judge/judge.h"
#include "judge/profile.h"

namespace msprobe::judge {

struct Output;
struct OutputItem;
using OutputList = std::vector<Output>;  // a list or a tuple
using OutputDict = std::vector<OutputItem>;

struct Output {
  std::variant<PythonValue, Tensor, OutputList, OutputDict> data;
};

struct OutputItem {
  std::string key;
  Output value;
};

// Two leaves that stand at the same place, or why there are none.
struct PairedOutput {
  const Output* bench =
      nullptr;  // a Tensor or a PythonValue, as `device`; null where `problem` is set
  const Output* device = nullptr;
  std::string_view problem = {};
};

// The pairs in the order of their rows, depth first. Outputs the device has beyond the bench's are
// ignored. Documented: lists and dictionaries are taken apart; an output the device lacks is a
// problem. Public tool: only the outermost list is taken apart; a missing output is an error, which
// makes the call SKIP.
Result<std::vector<PairedOutput>> pair_outputs(const Output& bench, const Output& device,
                                               Profile profile);

OutputPair tensor_pair(const Tensor& bench, const Tensor& device);

}  // namespace msprobe::judge
