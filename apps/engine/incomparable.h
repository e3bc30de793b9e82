// APIs whose results are not the same twice, for a reason that is theirs and not ours. Dtype and
// shape are compared all the same.
#pragma once

#include <optional>
#include <string_view>

namespace msprobe::engine {

// `path`: which output, as a LeafPair has it.
std::optional<std::string_view> why_incomparable(std::string_view bare_name, std::string_view path);

}  // namespace msprobe::engine
