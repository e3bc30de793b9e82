// The columns of the comparison's tables: those of the documents first, ours behind them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "torchair/row.h"

namespace msprobe::torchair {

struct Column {
  std::string_view title;
  std::string (*text)(const Row& row);
  bool is_text = false;  // never a number, whatever it looks like: the CRC 234161e3
};

std::span<const Column> columns_of(Mode mode);

}  // namespace msprobe::torchair
