// SPDX-License-Identifier: Apache-2.0
// Small arrays as numpy writes them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/npy_header.h"

namespace msprobe::torchair {

// An npz with stored members, name (without ".npy") and content each.
std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays);

}  // namespace msprobe::torchair
