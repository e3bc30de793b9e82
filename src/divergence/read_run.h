// SPDX-License-Identifier: Apache-2.0
// Makes a Trace of the entries of dump.json.
#pragma once

#include <cstddef>
#include <string>

#include "core/result.h"
#include "divergence/recorded_run.h"
#include "dump/entry_index.h"
#include "dump/entry_reader.h"

namespace msprobe::divergence {

// Appends one entry, in any order; finish() ends the run.
void add_entry(const dump::Entry& entry, Trace& run);

struct RecordedRun {
  Trace run;
  std::size_t broken = 0;   // entries that could not be read and are left out
  std::string first_fault;  // of the first of them
};

// Reads all entries; `place` (file name) opens messages. For a caller that has no other use for
// them.
RecordedRun read_run(const dump::EntryIndex& index, std::string_view place);

}  // namespace msprobe::divergence
