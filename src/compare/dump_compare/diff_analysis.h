// SPDX-License-Identifier: Apache-2.0
// The file of -da: the calls where two runs diverge, laid out as the public tool does.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "divergence/first_divergence.h"

namespace msprobe::dump_compare {

// The CSV files of a rank's table.
using TablesOf = std::function<std::vector<std::filesystem::path>(int rank)>;

// {"rank_0": [{"op_name": .., "data_info": {"input": [..], "output": [..]}, "stack_info": [..]}]}:
// the calls that introduce a difference, in execution order, with their rows of the table as
// objects. An empty object if the runs agree.
Result<std::string> analysis_json(const divergence::DivergenceReport& report,
                                  const TablesOf& tables_of);

}  // namespace msprobe::dump_compare
