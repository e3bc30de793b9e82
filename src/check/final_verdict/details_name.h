// SPDX-License-Identifier: Apache-2.0
// The name of a details row, taken apart.
#pragma once

#include <optional>
#include <string_view>

namespace msprobe::final_verdict {

// "Torch.linalg.norm.0.forward.output.1"
struct DetailsName {
  std::string_view call;  // "Torch.linalg.norm.0"
  std::string_view api;   // bare name: "linalg.norm"
  bool forward = true;
};

// Empty unless the name has 6 or 7 segments and says forward or backward. The views are into
// `name`.
std::optional<DetailsName> parse_details_name(std::string_view name);

}  // namespace msprobe::final_verdict
