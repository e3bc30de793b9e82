// SPDX-License-Identifier: Apache-2.0
// A card as a file (docs/probe_device.md has the schema). The reader trusts nothing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "card/card.h"
#include "core/result.h"

namespace msprobe::card {

inline constexpr std::string_view kSchema = "msprobe device card";
inline constexpr int kVersion = 1;

std::string to_json(const Card& card);

// `shown` opens messages. Unknown keys are passed over; a later version is an error.
Result<Card> parse_card(std::string_view json, const std::string& shown);
Result<Card> load_card(const std::filesystem::path& path);

}  // namespace msprobe::card
