// SPDX-License-Identifier: Apache-2.0
#include "ops/autocast.h"

namespace msprobe::ops {

std::optional<DType> autocast_of(const std::set<DType>& inputs, std::optional<DType> output) {
  if (inputs.empty()) return std::nullopt;
  const bool mixed = inputs.size() > 1;
  if (!mixed && (!output || *output == *inputs.begin())) return std::nullopt;
  if (output && (*output == DType::kFloat16 || *output == DType::kBFloat16)) return output;
  for (const DType half : {DType::kBFloat16, DType::kFloat16}) {
    if (inputs.contains(half)) return half;
  }
  return std::nullopt;
}

}  // namespace msprobe::ops
