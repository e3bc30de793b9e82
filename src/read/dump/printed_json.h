// SPDX-License-Identifier: Apache-2.0
// A JSON value as Python prints it once it is read: [1, None, 'a'].
#pragma once

#include <string>

#include "dump/json_reader.h"

namespace msprobe::dump {

// Takes the next value and appends its text. False: it cannot be read.
bool print_as_python(JsonReader& json, std::string& out);

}  // namespace msprobe::dump
