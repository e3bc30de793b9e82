// SPDX-License-Identifier: Apache-2.0
// The whole card of a device, from what it computes alone.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "card/card.h"
#include "core/operation.h"

namespace msprobe::identify {

// "products", "casts", ...: in the order of the card.
std::vector<std::string> section_names();

// `sections`: those to look at; empty: all. `say` gets what is looked at next: "products float32".
// The card names no device and no version yet.
card::Card probe_device(const Compute& compute, const std::vector<std::string>& sections,
                        const std::function<void(const std::string& step)>& say);

}  // namespace msprobe::identify
