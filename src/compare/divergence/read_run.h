// SPDX-License-Identifier: Apache-2.0
// Makes a Trace of the entries of dump.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "divergence/recorded_run.h"
#include "dump/entry_index.h"
#include "dump/entry_reader.h"

namespace msprobe::divergence {

struct EntryOptions {
  std::string_view known_as;  // its name in the other run, where that differs; empty: its own
  std::span<const std::uint32_t> without;  // items that are left out, in rising order
  bool float_checksums = true;  // of types that numpy lacks; MindSpore takes them as float32
};

// Appends one entry, in any order; finish() ends the run.
void add_entry(const dump::Entry& entry, Trace& run, const EntryOptions& options = {});

struct RecordedRun {
  Trace run;
  std::size_t broken = 0;   // entries that could not be read and are left out
  std::string first_fault;  // of the first of them
};

// Reads all entries; `place` (file name) opens messages. For a caller that has no other use for
// them.
// `names`: what each entry is called in the other run; empty: the same.
RecordedRun read_run(const dump::EntryIndex& index, std::string_view place,
                     std::span<const std::string> names = {});

}  // namespace msprobe::divergence
