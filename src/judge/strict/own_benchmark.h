// SPDX-License-Identifier: Apache-2.0
// The benchmark that the strict status compares with: the documented one, but for a few APIs.
#pragma once

#include <vector>

#include "core/call_name.h"
#include "execute/execute_call.h"
#include "strict/conditioning.h"

namespace msprobe::strict {

// In which way the benchmark ran, and what it gave.
struct Benchmark {
  execute::Variation how;
  LeafTensors tensors;
};

// The documented one, where it serves. With ReplaySettings::hf32 the check rounds float32 inputs
// of convolutions to HF32 and keeps the benchmark in float32: a strict one needs a wider benchmark,
// and a recorded output comes from inputs as they were.
Benchmark benchmark_of(const CallName& name, const execute::CallOutcome& outcome,
                       const execute::ExecuteOptions& options, execute::Rerun& rerun);

// What a device with HF32 may have computed besides: it may round the gradients that arrive at a
// convolution, and what was recorded comes from inputs that it rounded. Empty for other calls.
std::vector<LeafTensors> benchmarks_in_hf32(const CallName& name,
                                            const execute::CallOutcome& outcome,
                                            const execute::ExecuteOptions& options,
                                            execute::Rerun& rerun);

enum class Side : std::uint8_t { kBench, kDevice };
LeafTensors tensors_of(const execute::CallOutcome& outcome, Side side);

}  // namespace msprobe::strict
