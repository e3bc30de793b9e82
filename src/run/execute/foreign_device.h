// SPDX-License-Identifier: Apache-2.0
// A device that LibTorch does not have: another framework, usually in its own process, which
// runs recorded calls under their recorded names.
#pragma once

#include "arguments/py_value.h"
#include "core/skip.h"
#include "dump/call_record.h"

namespace msprobe::execute {

class ForeignDevice {
 public:
  ForeignDevice() = default;
  ForeignDevice(const ForeignDevice&) = delete;
  ForeignDevice& operator=(const ForeignDevice&) = delete;
  virtual ~ForeignDevice() = default;

  // What the call returns, tensors on the CPU. `call` holds the arguments as recorded and is not
  // changed.
  virtual OrSkip<arguments::PyValue> forward(const dump::CallRecord& record,
                                             const arguments::PyCall& call) = 0;
  // Follows forward() of the same call. One gradient per tensor among the arguments, in lists too:
  // positional ones depth first, then keywords; None if there is none. `arriving` as the dump
  // lists gradients under backward "input".
  virtual OrSkip<arguments::PyList> backward(const dump::CallRecord& record,
                                             const arguments::PyCall& call,
                                             const arguments::PyList& arriving) = 0;
};

}  // namespace msprobe::execute
