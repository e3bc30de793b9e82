// SPDX-License-Identifier: Apache-2.0
// Values of a dump as Python writes them. Names and texts come from a file: nothing in them may end
// a literal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dump/call_record.h"

namespace msprobe::shrink {

std::string python_number(double value);  // "1.0", "nan": a literal where nan and inf are names
std::string python_text(std::string_view text);     // quoted
std::string python_comment(std::string_view text);  // safe inside a docstring
bool is_python_name(std::string_view text);

// None, numbers, texts, slices; nothing for a tensor, a list and what only PyTorch has.
std::optional<std::string> python_literal(const dump::Value& value);

}  // namespace msprobe::shrink
