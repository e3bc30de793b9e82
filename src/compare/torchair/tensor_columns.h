// SPDX-License-Identifier: Apache-2.0
// The columns of the comparison's tables: those of the documents first, ours behind them.
#pragma once

#include <span>

#include "comparison/row_table.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

using TensorColumn = comparison::Column<TensorRow>;

std::span<const TensorColumn> columns_of(GraphMode mode);

}  // namespace msprobe::torchair
