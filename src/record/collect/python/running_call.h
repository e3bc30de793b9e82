// SPDX-License-Identifier: Apache-2.0
// An entry of dump.json whose call is running.
#pragma once

#include <optional>
#include <string>

#include "collect/json_text.h"
#include "collect/python/describe.h"
#include "collect/python/recorded_name.h"

namespace msprobe::collect {

class RunningCall {
 public:
  RunningCall(Collector& collector, const RecordedName& call);

  void begin(const Origin& origin);
  // `result` is null if the call raised, or is not known to have ended. `mutated`: a dictionary
  // of the arguments it has changed; null: none.
  void end(PyObject* result, PyObject* mutated = nullptr);

 private:
  void describe_inputs(const Origin& origin);
  std::string text(bool unfinished);
  void add_stack();

  Collector& collector_;
  const std::uint64_t step_;  // another one may begin, on another thread, while this call runs
  std::string name_, key_;
  bool legacy_;
  bool dirty_inputs_ = false;
  JsonText json_;
  Describer describer_;
  std::optional<std::uint64_t> number_;
  CallStack stack_;
};

}  // namespace msprobe::collect
