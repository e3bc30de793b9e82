// SPDX-License-Identifier: Apache-2.0
// The changes between two checks, for a person and for a program: `msprobe diff`.
#pragma once

#include <string>

#include "core/json_writer.h"
#include "report/changes.h"
#include "report/report_data.h"

namespace msprobe::report {

// A fixed call is shown with the error and the cause that it had.
std::string changes_text(const ReportRun& older, const ReportRun& newer, const Changes& changes);
std::string changes_json(const ReportRun& older, const ReportRun& newer, const Changes& changes);

// The parts of these: tables of the calls, empty if there are none; the last line; the keys of an
// object.
std::string changed_calls_text(const ReportRun& older, const ReportRun& newer,
                               const Changes& changes);
std::string changes_counts(const Changes& changes);
void write_changes(JsonWriter& json, const ReportRun& older, const ReportRun& newer,
                   const Changes& changes);

}  // namespace msprobe::report
