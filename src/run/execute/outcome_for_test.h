// SPDX-License-Identifier: Apache-2.0
// What the tests of whole calls share: a record in, both sides out.
#pragma once

#include <stdexcept>

#include "execute/execute_call.h"

namespace msprobe::execute {

inline CallOutcome run(const dump::CallRecord& record) {
  OrSkip<CallOutcome> outcome = execute_call(record, {});
  if (!outcome) throw std::runtime_error(outcome.error().text);
  return *std::move(outcome);
}

inline const at::Tensor& bench(const LeafPair& pair) { return *pair.bench.as<at::Tensor>(); }
inline const at::Tensor& device(const LeafPair& pair) { return *pair.device.as<at::Tensor>(); }

}  // namespace msprobe::execute
