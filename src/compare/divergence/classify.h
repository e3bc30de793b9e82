// SPDX-License-Identifier: Apache-2.0
// Classifies the calls of the target run by their effect on the difference between two runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "divergence/align.h"
#include "divergence/difference.h"
#include "divergence/recorded_run.h"

namespace msprobe::divergence {

enum class Role : std::uint8_t {
  kAgrees,      // its outputs agree with the golden run's
  kIntroduces,  // its inputs agree, its outputs do not
  kInherits,    // its inputs differ already
  kTargetOnly,  // the golden run has no such call
};

// Why the runs differ at a place.
enum class Cause : std::uint8_t {
  kCall,           // a call introduces it
  kOutside,        // a value that no recorded call made differs: a weight, a batch
  kUnmatched,      // it comes out of calls that only the target has
  kUninitialised,  // it is uninitialised memory that a later call uses
  kGrowth,         // it grew little by little past the tolerance
};

struct Event {
  Cause cause = Cause::kCall;
  std::uint32_t call = 0;  // target call that is to blame
  std::uint32_t seen = 0;  // target call where it shows: the same, or a later one
  std::uint32_t golden = kNoCall;
  double input_difference = 0;
  double output_difference = 0;
  std::uint32_t tensor = 0;  // in Trace::tensors of the target: the worst one
  std::uint32_t golden_tensor = 0;
  bool doubtful = false;         // rounding of large inputs could explain it
  bool other_arguments = false;  // arguments that are not tensors differ too
};

struct CallRole {
  Role role = Role::kAgrees;
  bool doubtful = false;
};

struct Classified {
  std::vector<CallRole> roles;  // one per target call
  std::vector<Event> events;    // causes only, in execution order of Event::seen
  std::size_t agreeing = 0, introducing = 0, inheriting = 0;
  std::size_t target_only = 0, golden_only = 0, renamed = 0, again = 0;
};

// Measures the files of two tensors (calls are numbers of the runs), where there are any: a
// relative difference. Nothing: the recorded values decide.
using MeasureFiles =
    std::function<std::optional<double>(std::uint32_t target_call, const RunTensor& target,
                                        std::uint32_t golden_call, const RunTensor& golden)>;

Classified classify(const Trace& target, const Trace& golden, const Alignment& alignment,
                    bool exact, const MeasureFiles& measure = {});

// The event that answers "where do the two runs diverge"; null: they agree.
const Event* first_event(const Classified& classified);

}  // namespace msprobe::divergence
