// SPDX-License-Identifier: Apache-2.0
// Which call is part of which module's call: what construct.json holds.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/recorder.h"

namespace msprobe::collect {

// Module.fc.Linear.forward.0 and Functional.linear.0.forward as the names of their backward
// entries.
std::string backward_name(std::string_view forward);

class ModuleTree {
 public:
  bool is_on = false;

  // A module's call begins on this thread; returns the call it is part of, empty if none, to be
  // given to `leave`. Where no module runs, it may be the backward entry that computes it again.
  std::string enter(Recorder& recorder, const std::string& name);
  static void leave(std::string outer);
  // What runs on this thread: the name of a module's call, or "optimizer".
  static const std::string& running();

  // An API was called.
  void add_call(Recorder& recorder, const std::string& name);

  // The backward entry of a module's call will come, begins, and ends.
  void expect_backward(const std::string& forward);
  void begin_backward(Recorder& recorder, const std::string& forward);
  void end_backward(const std::string& forward);

  // The backward entry of something that was called by `outer`.
  void add_backward(Recorder& recorder, const std::string& name, const std::string& outer);

  // A new step.
  void clear();

 private:
  struct Call {
    std::string outer;
    int depth = 0;
    bool expects_backward = false;  // and has not had it
  };
  // The call around something; empty: none.
  std::string outer_call() const;
  static void add(Recorder& recorder, const std::string& name, const std::string& outer);

  std::unordered_map<std::string, Call> calls_;
  std::vector<std::string> open_backward_;  // by their forward names
};

}  // namespace msprobe::collect
