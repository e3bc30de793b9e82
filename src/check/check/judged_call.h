// SPDX-License-Identifier: Apache-2.0
// From what an engine found out about a call to the rows of both CSVs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/dialect.h"
#include "core/call_command.h"
#include "documented/detail_row.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "protocol/measured_call.h"

namespace msprobe::check {

// By whose rules all calls of a run are judged.
struct JudgeRules {
  documented::Profile profile = documented::Profile::kDocumented;
  documented::Standards standards;
  std::string device_kind;  // "npu", "cuda", "cpu", "sim", "recorded"
  CallCommand rerun;        // of a row that does not pass; may be empty
  const Dialect* dialect = &pytorch_dialect();
};

struct JudgedCall {
  std::vector<documented::DetailRow> details;
  documented::ResultRow result;
};

JudgedCall judge_call(const protocol::MeasuredCall& call, const ops::NamedCall& named,
                      const JudgeRules& rules);

// A call without any verdict; the text of `why` is the message of its row.
JudgedCall skip_call(std::string_view full_name, const Skip& why, const JudgeRules& rules);

}  // namespace msprobe::check
