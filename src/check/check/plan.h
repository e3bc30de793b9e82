// SPDX-License-Identifier: Apache-2.0
// Decides before any engine starts which calls of a dump run, and why the others do not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "check/dialect.h"
#include "core/result.h"
#include "documented/skip_message.h"
#include "dump/dump_json.h"
#include "journal/shard.h"

namespace msprobe::check {

struct PlanOptions {
  std::vector<std::string> white_list = {};  // bare names; empty: every name
  std::vector<std::string> black_list = {};
  std::vector<std::string> only = {};  // words of --only; empty: every call
  bool drop_repeats = false;           // -f
  journal::Shard shard = {};
  const Dialect* dialect = &pytorch_dialect();
};

struct PlannedCall {
  std::uint32_t index = 0;  // into DumpIndex::calls
  SkipReason skip = SkipReason::kNone;
};

// The calls that get a row, in dump order.
struct Plan {
  std::vector<PlannedCall> calls;
  std::size_t recorded = 0;                          // calls in the dump
  std::size_t not_selected = 0;                      // left out by --only
  std::size_t repeats = 0;                           // left out by -f
  std::size_t other_shards = 0;                      // left to them by --shard
  std::map<std::string, std::size_t> left_out = {};  // calls without a row, by group
};

// An error is a word in `only` that selects no call.
Result<Plan> plan_calls(const dump::DumpIndex& dump, const PlanOptions& options);

}  // namespace msprobe::check
