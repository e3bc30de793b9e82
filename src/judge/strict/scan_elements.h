// SPDX-License-Identifier: Apache-2.0
// The comparison of scan.h in vectors: the one place where the limit of an element is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strict/scan.h"

namespace msprobe::strict {

// Elements one after another. REQUIRES: of `floats` and `doubles` one is null.
struct Elements {
  const float* floats;  // the device's
  const double* doubles;
  const float* rounded;  // the benchmark in the device's dtype; null: in that of the pointer
  const double* bench;
  const double* sizes;    // of the benchmark; null: its magnitudes
  const double* spreads;  // null: none, here and below
  const double* natives;
  const double* drifts;
  std::size_t count;
};

// What a scan finds, and if it is asked to, the error of every element that differs, and the places
// of those that are beyond.
struct Notes {
  Scan found;
  double* over = nullptr;  // in limits
  std::vector<std::int64_t>* beyond = nullptr;
};

// `first`: the place of the first of the elements.
void scan_elements(const Elements& elements, std::int64_t first, const Limits& limits,
                   const FloatType& type, bool with_shares, Notes& notes);

}  // namespace msprobe::strict
