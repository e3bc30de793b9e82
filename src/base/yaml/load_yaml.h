// SPDX-License-Identifier: Apache-2.0
// The one way this program reads YAML.
#pragma once

#include <cstdint>
#include <string_view>

#include <yaml-cpp/yaml.h>

namespace msprobe::yaml {

// What a document may hold, beyond what its text has, when every alias (*name) is replaced by what
// it stands for: a few lines can ask for more memory than any machine has.
inline constexpr std::uint64_t kMostNodes = 1'000'000;
inline constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

// The first document of `text`. Throws YAML::Exception, as yaml-cpp does.
YAML::Node load(std::string_view text);

}  // namespace msprobe::yaml
