// SPDX-License-Identifier: Apache-2.0
// A recorded call as a Python expression over its tensors t[0], t[1], ...
#pragma once

#include <string>
#include <vector>

#include "dump/call_record.h"

namespace msprobe::shrink {

struct CallText {
  std::string expression;  // "torch.nn.functional.linear(t[0], t[1])"
  // The tensors in their order, each with its place among all leaves of the arguments.
  std::vector<std::pair<const dump::TensorRecord*, std::size_t>> tensors;
};

// `tensors`: how the list of the tensors is named. The result points into `call`.
CallText call_text(const dump::CallRecord& call, const std::string& tensors);

// Whether the call changes an argument, which must be a copy then.
bool changes_arguments(const dump::CallRecord& call);

// The argument at a place such as "0", "1.3" or "kwargs.out", over the same tensors; empty if no
// tensor is there.
std::string tensor_at(const dump::CallRecord& call, const std::string& place,
                      const std::string& tensors);

// "Functional.linear.0" -> "torch.nn.functional.linear".
std::string python_name(const std::string& full_name);

}  // namespace msprobe::shrink
