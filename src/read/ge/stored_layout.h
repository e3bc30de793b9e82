// SPDX-License-Identifier: Apache-2.0
// From the device layout of a tensor to the order the network sees: where each logical element is
// stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "ge/dump_file.h"

namespace msprobe::ge {

// Element (i, j, ...) is stored at place offsets[0][i] + offsets[1][j] + ...: every layout in use
// treats its axes apart from each other, also the blocked ones.
struct StoredLayout {
  Shape shape;
  std::vector<std::vector<std::uint64_t>> offsets;  // empty: stored in order
  std::string note;                                 // why a device layout was left as it is
};

// For a tensor whose stored `shape` is known. A layout that is not understood, or shapes that do
// not belong together, keep the stored shape and say so.
StoredLayout layout_of(const Shape& stored, const Shape& logical, std::uint32_t format,
                       std::uint32_t sub_format);

// A permuted order of axes, as numpy's Fortran order is: stored axis k is logical axis order[k].
StoredLayout permuted(const Shape& logical, const std::vector<std::size_t>& order);

}  // namespace msprobe::ge
