// SPDX-License-Identifier: Apache-2.0
// A matrix unit as people and files write it: "block=8,bits=24,cut=zero,sum=nearest,inputs=tf32".
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "units/unit.h"

namespace msprobe::units {

// Keys, in any order: block (1..64), bits (1..40), cut and sum (zero, down, nearest), running
// (joined, apart), aligned (factors, product), inputs (as_they_are, tf32, hf32, bfloat16, float16),
// order (in_order, reversed, strided, halves), accumulator (float32, bfloat16, float16), promote
// (1..2^20; not written if it is 0). A key that is left out keeps its value in Unit{}.
Result<Unit> parse_unit(std::string_view spec);

// Every key, so that parse_unit(spec(unit)) == unit.
std::string spec(const Unit& unit);

// The values as spec() writes them.
std::string_view name(Cut cut);
std::string_view name(Inputs inputs);
std::string_view name(Order order);
std::string_view name(Accumulator kept);

}  // namespace msprobe::units
