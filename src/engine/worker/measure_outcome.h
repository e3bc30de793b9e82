// SPDX-License-Identifier: Apache-2.0
// From the outcome of a call to the numbers that are judged.
#pragma once

#include "execute/execute_call.h"
#include "protocol/frames.h"
#include "protocol/measured_call.h"
#include "strict/judge_call.h"

namespace msprobe::worker {

// `like_mindspore`: see execute::ReplayDialect.
protocol::MeasuredCall measure_outcome(const protocol::CallRequest& request,
                                       const execute::CallOutcome& outcome,
                                       measure::Arithmetic arithmetic, bool like_mindspore = false);

// Marks the leaves that are identical on both sides, so that nobody compares them again.
void mark_identical(const protocol::MeasuredCall& call, execute::CallOutcome& outcome);

// Puts the strict status of every output and gradient beside its numbers.
void add_findings(strict::Findings findings, protocol::MeasuredCall& call);

protocol::MeasuredCall skipped_call(const std::string& full_name, Skip why);

}  // namespace msprobe::worker
