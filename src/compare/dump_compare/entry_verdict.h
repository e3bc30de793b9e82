// SPDX-License-Identifier: Apache-2.0
// pass, warning or error of the rows of one entry, judged together.
#pragma once

#include <span>

#include "dump_compare/item_row.h"

namespace msprobe::dump_compare {

// Sets outcome and messages of rows that have a counterpart and can be compared; the others have
// theirs already. REQUIRES: all rows of one target entry.
void judge(std::span<ItemRow> rows, DataMode mode);

}  // namespace msprobe::dump_compare
