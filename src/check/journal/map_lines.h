// SPDX-License-Identifier: Apache-2.0
// The lines of accuracy_checking_maps_{timestamp}.jsonl beside a CSV pair: one per output that is
// beyond its strict bound, with a map of where its error is (strict/error_map.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe::journal {

// A file this large gets no further line. The rule depends on the file's size alone, so shards that
// are merged, and runs that are resumed, keep the same lines as one run that nobody disturbed.
inline constexpr std::uint64_t kMostMapBytes = std::uint64_t{8} << 20;

// {"row":"Torch.mm.0.forward.output.0","shape":[...],...} and a line end; `map` is a JSON object.
std::string map_line(std::string_view row, std::string_view map);

// Prefix of all lines of a call.
std::string map_line_start(std::string_view call);

// The first line of `text`, with its line end; empty: there is no whole one.
std::string_view first_line(std::string_view text);

}  // namespace msprobe::journal
