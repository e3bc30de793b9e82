// SPDX-License-Identifier: Apache-2.0
// Runs -> an SQLite database, to which many checks can be added and which is queried with SQL.
// docs/database.md describes the tables.
#pragma once

#include <filesystem>
#include <span>

#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// Adds the runs in one transaction; a run whose details CSV is in the database already replaces it.
// Other processes may add theirs at the same time. A file that is not a database of ours is an
// error, and stays as it is.
Result<void> add_to_database(const std::filesystem::path& path, std::span<const ReportRun> runs);

}  // namespace msprobe::report
