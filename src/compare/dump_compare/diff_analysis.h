// SPDX-License-Identifier: Apache-2.0
// The file of -da: the calls where two runs diverge, laid out as the public tool does.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/result.h"
#include "divergence/first_divergence.h"

namespace msprobe::dump_compare {

// The rows of a table that belong to each call, as CSV with a header, by rank and call.
using CallTables = std::map<std::pair<int, std::string>, std::string>;

// {"rank_0": [{"op_name": .., "data_info": {"input": [..], "output": [..]}, "stack_info": [..]}]}:
// the calls that introduce a difference, in execution order, with their rows of the table as
// objects. An empty object if the runs agree.
Result<std::string> analysis_json(const divergence::DivergenceReport& report,
                                  const CallTables& tables);

}  // namespace msprobe::dump_compare
