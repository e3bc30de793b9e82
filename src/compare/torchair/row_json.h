// SPDX-License-Identifier: Apache-2.0
// Rows for programs: one JSON object each, with the fields of the documented answer.
#pragma once

#include "core/json_writer.h"
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

void write_row(JsonWriter& json, const TensorRow& row);
// rank, graph, token, op, side, index
void write_place(JsonWriter& json, const TensorRow& row);

}  // namespace msprobe::torchair
