// SPDX-License-Identifier: Apache-2.0
// The columns of the comparison's tables: those of the documents first, ours behind them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "torchair/tensor_row.h"

namespace msprobe::torchair {

struct TensorColumn {
  std::string_view title;
  std::string (*text)(const TensorRow& row);
  bool is_text = false;  // never a number, whatever it looks like: the CRC 234161e3
};

std::span<const TensorColumn> columns_of(GraphMode mode);

}  // namespace msprobe::torchair
