// SPDX-License-Identifier: Apache-2.0
// Where in an output the error is: a small summary of a tensor of any size, for a person to look
// at. Made only of outputs that are beyond their bound.
#pragma once

#include <string>

#include "libtorch/aten.h"

namespace msprobe::strict {

// A JSON object on one line, at most about 6 KB:
//
//   shape    of the output
//   plane    true: the map spans the last two dimensions, each cell the worst over all others;
//            false: it spans the flat index, row by row
//   rows, columns  of the map, at most 64 each. Element i of an extent n falls into cell
//            i * cells / n, rounded down
//   cells    one character per cell, row by row: the largest error over bound in it
//            '0'          equal to the rounded benchmark
//            '1'..'K'     within the bound: code 1..20, up to 10^((code - 20) / 4) bounds
//            'L'..'y'     beyond it: code 21..60, up to 10^((code - 20) / 4) bounds
//            'z'          not finite on one side only
//   counts   elements by error over bound: equal, then up to 10^-3, 10^-2, ..., 10^9, beyond that,
//            not finite; zeros at the end are left out
//   worst    up to 8 elements, the farthest off first: [flat index, device, bench, error over
//   bound]
//
// `over` is what over_bound() gives. REQUIRES: all plain and of one shape.
std::string error_map(const at::Tensor& device, const at::Tensor& bench, const at::Tensor& over);

}  // namespace msprobe::strict
