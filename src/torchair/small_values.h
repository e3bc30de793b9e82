// SPDX-License-Identifier: Apache-2.0
// Whether an input of a dumped operator has the values of an FX array; asked where position and
// shape leave it open.
#pragma once

#include <optional>

#include "torchair/fx_files.h"
#include "torchair/ge_files.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

// Nothing for large tensors and where a side cannot be read. Equal up to the rounding from double
// to float.
std::optional<bool> same_small_values(const GeFile& file, DumpSide side, std::uint32_t index,
                                      const FxArray& array);

}  // namespace msprobe::torchair
