// SPDX-License-Identifier: Apache-2.0
// The file of error maps beside a CSV pair, as it was left.
#pragma once

#include "core/file.h"
#include "core/result.h"
#include "journal/csv_pair.h"

namespace msprobe::journal {

// Nothing if there is no such file: maps are an extra, a run goes on and later calls get a new one.
// One that cannot be read is an error: what goes on would cut it off.
Result<FileBytes> load_maps(const CsvPaths& paths);

}  // namespace msprobe::journal
