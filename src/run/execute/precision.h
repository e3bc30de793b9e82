// SPDX-License-Identifier: Apache-2.0
// The precision of each side: the benchmark computes one step higher, the device as recorded, under
// autocast where the record shows that autocast was on.
#pragma once

#include "arguments/py_value.h"
#include "core/call_name.h"
#include "dump/call_record.h"
#include "libtorch/aten.h"

namespace msprobe::execute {

struct Precision {
  // What each dtype becomes on the benchmark; itself where it is not raised.
  at::ScalarType raised(at::ScalarType type) const;

  bool raise = true;
  at::ScalarType target = at::kDouble;     // of float16, bfloat16 and float32 tensors
  c10::optional<at::ScalarType> autocast;  // of the device side
  bool round_inputs = false;  // the operator rounds its inputs to the autocast dtype: so does the
                              // benchmark, before it raises them
  c10::optional<at::ScalarType> half;  // of the outputs, where the record or the inputs tell
};

// `name`: PyTorch's name of the call. `hf32`: convolutions of float32 inputs round these to HF32
// and are benched in float32.
Precision precision_of(const arguments::PyCall& call, const dump::CallRecord& record,
                       const CallName& name, bool hf32 = false);

}  // namespace msprobe::execute
