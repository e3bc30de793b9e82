// SPDX-License-Identifier: Apache-2.0
// The key "framework" of dump.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe::dump {

enum class Framework : std::uint8_t {
  kPyTorch,
  kMindSpore,
  kMindTorch,  // MSAdapter: PyTorch's names, MindSpore's tensors
};
std::string_view name(Framework framework);  // "pytorch"

// In any case; "pt" and "ms" are short for the first two.
std::optional<Framework> parse_framework(std::string_view text);

}  // namespace msprobe::dump
