// SPDX-License-Identifier: Apache-2.0
// Finds the source of NaN and infinities: the first calls, over all ranks of a step, whose inputs
// are finite and whose outputs are not. One dump is enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "core/result.h"
#include "divergence/meetings.h"

namespace msprobe::divergence {

enum class NonFiniteCause : std::uint8_t {
  kCall,           // a call made it from finite inputs
  kCommunication,  // a communication call did, and all that was sent to it is finite
  kOutside,        // no recorded call made it: a weight, a batch
};

struct NonFiniteCall {
  NonFiniteCause cause = NonFiniteCause::kCall;
  RankCall place;
  std::uint32_t tensor = 0;  // in Trace::tensors: the first that is not finite
  std::uint64_t time = 0;    // Meetings::times
};

struct NonFiniteWalk {
  std::vector<NonFiniteCall> origins;  // in order of time
  std::size_t calls = 0;
  std::size_t carrying = 0;  // calls that only pass on what their inputs brought
};

// Uninitialised memory (torch.empty), a NaN or infinity that was passed as an argument on purpose
// (masked_fill) and masks of -inf that come from outside are not origins.
NonFiniteWalk walk_nonfinite(std::span<const RankRun> ranks);

// One origin in words, read from the files beside the dump.
struct NonFiniteOrigin {
  NonFiniteCause cause = NonFiniteCause::kCall;
  int rank = 0;
  std::string entry;   // "Torch.matmul.3.forward"
  std::string item;    // "Torch.matmul.3.forward.output.0"
  std::string value;   // "nan", "inf", "-inf"
  std::string module;  // "Module.blocks.0.Block.forward.0"; empty: not recorded
  std::string source;  // "File train.py, line 31, in forward, y = x @ w"; empty: not recorded
  std::string rerun;   // the command that replays the call; empty: acc_check cannot
  std::uint64_t time = 0;
  std::vector<std::string> stack;
};

struct NonFiniteReport {
  std::filesystem::path directory;  // of the step
  std::vector<int> ranks;
  std::vector<NonFiniteOrigin> origins;  // in order of time, the first `kMostOrigins`
  std::size_t origin_count = 0;
  std::size_t calls = 0, carrying = 0;
  std::vector<std::string> notes;  // files and entries that could not be read

  static constexpr std::size_t kMostOrigins = 100;
};

// `path`: a dump.json, the directory of a rank, of a step (rank0, rank1, ...), or of several steps
// (step0, step1, ...), of which the first one with an origin is reported, else the last. An error:
// no dump there, or none that can be read.
Result<NonFiniteReport> find_nonfinite(const std::filesystem::path& path);

// "NaN appears first on rank 0 in Torch.matmul.3.forward (...): its inputs are finite." Several
// lines; the first one answers the question.
std::string describe(const NonFiniteReport& report);

// {"first_nonfinite": {...} or null, "origins": [...], ...}
void write_json(const NonFiniteReport& report, JsonWriter& json);

}  // namespace msprobe::divergence
