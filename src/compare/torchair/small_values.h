// SPDX-License-Identifier: Apache-2.0
// Whether an input of a dumped operator has the values of an FX array; asked if position and shape
// leave it open.
#pragma once

#include <cstdint>
#include <optional>

#include "torchair/fx_files.h"
#include "torchair/tensor_data.h"

namespace msprobe::torchair {

// The inputs of one operator, its files opened at the first question.
class SmallValues {
 public:
  // `files` is told what cannot be read.
  SmallValues(const GeSource& source, FxFiles& files) : source_(source), files_(files) {}

  // Nothing for large tensors and if a side cannot be read. Equal up to the rounding from double
  // to float.
  std::optional<bool> same(std::uint32_t input, const FxArray& array);

 private:
  const GeSource& source_;
  FxFiles& files_;
  std::optional<Result<GeData>> data_;
};

}  // namespace msprobe::torchair
