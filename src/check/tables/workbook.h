// SPDX-License-Identifier: Apache-2.0
// The CSV tables of a run as one spreadsheet: a sheet each, verdicts coloured.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/result.h"

namespace msprobe::tables {

struct Sheet {
  std::string name;  // "result step1-rank0"; what a sheet's name cannot hold is replaced
  std::filesystem::path csv;
};

// Cells stay as the CSV has them; numbers become numbers, so that a spreadsheet can sort by them.
// The file appears under its name when it is complete.
Result<void> write_workbook(const std::filesystem::path& path, std::span<const Sheet> sheets);

}  // namespace msprobe::tables
