// SPDX-License-Identifier: Apache-2.0
// Results that are not unique: singular vectors have a free sign, ties any order. What is unique is
// compared instead: the matrix that the factors give, the values that the indices point at, the
// set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/py_value.h"
#include "core/strict.h"
#include "libtorch/aten.h"

namespace msprobe::strict {

// The outputs of one call; undefined if not a tensor.
struct Outputs {
  std::vector<at::Tensor> bench;
  std::vector<at::Tensor> device;
};

// Judges output `place`, which is not the benchmark's element by element, by what is unique of all
// outputs. Nothing if the API's results are unique.
std::optional<StrictFinding> judge_unique(std::string_view bare_name, const arguments::PyCall& call,
                                          const Outputs& outputs, std::size_t place);

}  // namespace msprobe::strict
