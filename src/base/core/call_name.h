// SPDX-License-Identifier: Apache-2.0
// Names of recorded calls, and of the entries and rows that belong to them.
#pragma once

#include <optional>
#include <string_view>

namespace msprobe {

// "Functional.conv2d.0", "Torch.linalg.norm.12"
struct CallName {
  std::string_view type;       // "Functional"
  std::string_view bare_name;  // "conv2d", "linalg.norm"
  std::string_view index;      // "0"
};

// Empty unless there are three or four segments. The parts point into `full_name`.
std::optional<CallName> parse_call_name(std::string_view full_name);

// The name without its index: "Torch.linalg.norm".
std::string_view api_of(std::string_view full_name);

// "Torch.add.0.forward", "Torch.add.0.backward.output.1"
struct RowName {
  std::string_view call;  // "Torch.add.0"
  bool forward = true;
  std::string_view part;  // "output.1"
};

// Empty if no segment says forward or backward. The parts point into `name`.
std::optional<RowName> parse_row_name(std::string_view name);

// A call as users paste it: the full name, or an entry or row of it reduced to the full name.
std::string_view call_of(std::string_view name);

}  // namespace msprobe
