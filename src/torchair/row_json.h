// Rows for programs: one JSON object each, with the fields of the documented answer.
#pragma once

#include "core/json_writer.h"
#include "torchair/row.h"

namespace msprobe::torchair {

void write_row(JsonWriter& json, const Row& row);
// rank, graph, token, op, side, index
void write_place(JsonWriter& json, const Row& row);

}  // namespace msprobe::torchair
