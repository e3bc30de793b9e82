// SPDX-License-Identifier: Apache-2.0
// A table for a person: columns aligned, verdicts coloured where the terminal allows it.
#pragma once

#include <string>
#include <vector>

namespace msprobe::tables {

struct TextTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

// Columns as wide as their widest cell; a cell that is a verdict word is coloured when `colour` is
// set.
std::string render(const TextTable& table, bool colour);

}  // namespace msprobe::tables
