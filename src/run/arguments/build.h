// SPDX-License-Identifier: Apache-2.0
// From a recorded call to its arguments: tensors loaded or drawn, values as Python held them.
#pragma once

#include "arguments/py_value.h"
#include "core/file.h"
#include "core/replay_settings.h"
#include "core/skip.h"
#include "dump/call_record.h"

namespace msprobe::arguments {

struct BuildOptions {
  ReplaySettings replay = {};
  const Directory* data = nullptr;  // of the tensor files; null: random mode
  const PyCall* given = nullptr;    // arguments that are there already: copied, not built
  bool adjust = true;               // what some APIs do to their inputs first (HF32, targets)
};

// Tensors are on the CPU, in their recorded dtype, and require grad where the record says so.
struct Arguments {
  PyCall call;
  bool float8_input = false;
};

// `bare_name` chooses the adjustments some APIs need.
OrSkip<Arguments> build_arguments(const dump::CallRecord& record, std::string_view bare_name,
                                  const BuildOptions& options);

// The gradients that arrive at the outputs. Apart, since a call without them still has a forward.
// REQUIRES: record.backward.
OrSkip<PyList> build_gradients(const dump::CallRecord& record, const BuildOptions& options);

// Recorded outputs or gradients with the tensors that are stored; never drawn. For device
// `recorded`.
OrSkip<PyList> stored_values(const dump::List& values, const BuildOptions& options);

}  // namespace msprobe::arguments
