// SPDX-License-Identifier: Apache-2.0
// The device `mindspore`: a process in the user's Python that executes calls with the real
// MindSpore.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/skip.h"
#include "mindspore/messages.h"
#include "mindspore/runner_process.h"

namespace msprobe::mindspore {

inline constexpr const char* kPythonVariable = "MSPROBE_MINDSPORE_PYTHON";

struct RunnerOptions {
  std::string python;  // empty: $MSPROBE_MINDSPORE_PYTHON, else python3
  std::string device_id = "0";
};

// Where the time went, over all calls and gradients.
struct Times {
  std::uint64_t messages = 0;
  std::uint64_t own_nanos = 0;    // that MindSpore itself took
  std::uint64_t total_nanos = 0;  // from request to answer
  std::uint64_t cpu_nanos = 0;    // of processor time beside MindSpore's own, of both processes
};

class Runner {
 public:
  // An error says which Python was tried, why it did not do, and how to name another.
  static Result<std::unique_ptr<Runner>> start(const RunnerOptions& options);

  // Runs an API ("Mint.special.erfc"). A call that ends the process is lost; the next one gets a
  // new process.
  OrSkip<PyValue> forward(std::string_view api, const PyCall& call);
  // The gradients of the last call: one per tensor among its arguments, keywords last; None where
  // no gradient arrives.
  OrSkip<PyList> backward(const PyList& arriving);

  const Greeting& greeting() const { return greeting_; }
  const Times& times() const { return times_; }

 private:
  explicit Runner(RunnerOptions options) : options_(std::move(options)) {}
  Result<void> start_process();
  template <class MakeMessage>
  OrSkip<PyValue> exchange(std::size_t bytes, const MakeMessage& make_message);
  std::unexpected<Skip> lost(const Error& error);

  RunnerOptions options_;
  std::optional<RunnerProcess> process_;  // none after it ended
  Greeting greeting_;
  Times times_;
};

// "1013 calls and gradients: 0.35 ms each beside MindSpore's own 1.20 ms (0.31 ms of processor
// time)"
std::string text(const Times& times);

// Whether the Python that would be used has a MindSpore; it is looked for, not loaded.
bool is_installed(const RunnerOptions& options = {});

}  // namespace msprobe::mindspore
