// SPDX-License-Identifier: Apache-2.0
// Text that a spreadsheet would run.
#pragma once

#include <string_view>

namespace msprobe {

// It starts with one of + - = % @ or their full-width forms.
bool starts_formula(std::string_view text);

// The public tool's test of API names: the name, or what follows a semicolon in it, starts a
// formula.
bool unsafe_name(std::string_view name);

}  // namespace msprobe
