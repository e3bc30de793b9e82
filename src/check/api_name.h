// Names of recorded calls: "Type.name.index" or "Type.namespace.name.index".
#pragma once

#include <optional>
#include <string_view>

namespace msprobe::check {

struct ApiName {
  std::string_view type;       // "Functional"
  std::string_view bare_name;  // "conv2d", "linalg.norm"
  std::string_view index;      // "0"
};

// Empty unless there are three or four segments. The parts point into `full_name`.
std::optional<ApiName> parse_api_name(std::string_view full_name);

// A call as users paste it: the full name, or an entry or details row of it
// ("Torch.add.0.forward", "Torch.add.0.backward.output.1") reduced to the full name.
std::string_view call_of(std::string_view name);

}  // namespace msprobe::check
