// SPDX-License-Identifier: Apache-2.0
// "Where do the two runs diverge?", over all ranks of a step.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "divergence/classify.h"
#include "divergence/place.h"
#include "divergence/recorded_run.h"

namespace msprobe::divergence {

// One rank of both runs. The traces must be finished (finish()) and outlive the search.
struct RankPair {
  int rank = 0;
  const Trace* target = nullptr;
  const Trace* golden = nullptr;
  std::filesystem::path target_dump;  // dump.json as the user named it: for replay commands; the
                                      // stack and the module are looked up beside it
  MeasureFiles measure = {};          // of tensor files; empty: recorded values decide
  Companions open = {};               // of the target's dump
};

// A cause in words.
struct Divergence {
  Cause cause = Cause::kCall;
  int rank = 0;
  std::string target;  // "Torch.matmul.3.forward"
  std::string golden;  // its counterpart; empty: none
  std::string item;    // the value that differs: "Torch.matmul.3.forward.output.0"
  std::string seen;    // the call where it shows, if not `target` itself
  double input_difference = 0;
  double output_difference = 0;
  std::string arguments;  // "input.1 is 0.0, golden 0.1"; empty: they are equal
  std::string module;     // empty: not recorded
  std::string source;     // empty: not recorded
  std::string rerun;      // empty: acc_check does not run such a call
  std::vector<std::string> stack;
};

struct RankResult {
  Alignment alignment;
  Classified classified;
};

// A call that does not agree.
struct DifferingCall {
  int rank = 0;
  std::string target;
  std::string golden;
  Role role = Role::kInherits;
};

struct DivergenceReport {
  std::optional<Divergence> first;  // nothing: the runs agree
  std::vector<Divergence> origins;  // in execution order, the first `kMostOrigins`
  std::size_t origin_count = 0;
  std::size_t calls = 0, agreeing = 0, introducing = 0, inheriting = 0;
  std::size_t target_only = 0, golden_only = 0, renamed = 0, again = 0;
  std::size_t rank_count = 0;
  bool exact = false;                 // by checksums
  std::vector<RankResult> per_rank;   // as the pairs were given
  std::vector<DifferingCall> judged;  // calls that introduce or inherit, in the order of the ranks

  static constexpr std::size_t kMostOrigins = 100;
};

DivergenceReport find_divergence(std::span<const RankPair> pairs);

// The answer in one line, and what helps to look at it below: module, source line, the command that
// replays the call.
std::string describe(const DivergenceReport& report);

// The members "first_divergence" and "divergence" of an object that the caller has begun.
void write_json(const DivergenceReport& report, JsonWriter& json);

}  // namespace msprobe::divergence
