// SPDX-License-Identifier: Apache-2.0
// What a recorded call is called.
#pragma once

#include <string>

#include "collect/python/collector.h"

namespace msprobe::collect {

// The call `number` of an API. Its entries are Torch.add.0.forward and Torch.add.0.backward.
struct RecordedName {
  std::string prefix, api;
  std::int64_t number = 0;

  std::string base() const { return prefix + "." + api + "." + std::to_string(number); }
  std::string forward() const { return base() + ".forward"; }
  std::string backward() const { return base() + ".backward"; }
};

// The next call of `api`.
inline RecordedName next_call(RecordedApi& api) { return {api.prefix, api.name, api.calls++}; }

// The key of the forward entry in its file. The older entry has Torch*add*0 for both directions.
inline std::string entry_key(RecordStyle style, const RecordedName& call) {
  if (style == RecordStyle::kDump) return call.forward();
  return call.prefix + "*" + call.api + "*" + std::to_string(call.number);
}

}  // namespace msprobe::collect
