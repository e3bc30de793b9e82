// An entry of dump.json whose call is running.
#pragma once

#include <optional>
#include <string>

#include "collect/json_text.h"
#include "collect/python/call_name.h"
#include "collect/python/describe.h"

namespace msprobe::collect {

class RunningCall {
 public:
  RunningCall(Collector& collector, const CallName& call);

  void begin(const Origin& origin);
  // `result` is null where the call raised, or is not known to have ended.
  void end(PyObject* result);

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
  const std::string* stack_ = nullptr;
};

}  // namespace msprobe::collect
