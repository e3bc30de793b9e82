// SPDX-License-Identifier: Apache-2.0
// A whole check: a dump in, the CSV pair and the coverage out.
#pragma once

#include <cstddef>
#include <string>

#include "check/check_options.h"
#include "check/coverage.h"
#include "core/result.h"
#include "journal/csv_pair.h"

namespace msprobe::check {

struct CheckOutcome {
  Coverage coverage;
  journal::CsvPaths paths;
  std::string device;    // of the first engine
  std::size_t done = 0;  // rows there are now
  std::size_t total = 0;
  bool interrupted = false;
};

// An error means the job could not be done; rows that were committed stay, and can be continued.
Result<CheckOutcome> run_check(const CheckOptions& options);

}  // namespace msprobe::check
