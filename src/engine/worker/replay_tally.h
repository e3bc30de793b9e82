// SPDX-License-Identifier: Apache-2.0
// What a replay found, call by call, and the summary of it.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "worker/agreement.h"

namespace msprobe::worker {

// One direction of one call.
struct Replayed {
  enum class State : std::uint8_t { kNothing, kRan, kCompared, kNotRun };
  State state = State::kNothing;
  std::array<std::size_t, 4> leaves = {};  // how many of each likeness
  Likeness worst = Likeness::kEqual;
  std::string text;  // why it did not run, or what the worst leaf is like

  void add(std::string_view path, const Agreement& agreement);
};

// "", "ran", "equal", "2 ulp", "not comparable", "differs" or "skip".
std::string_view name(const Replayed& replayed);

class ReplayTally {
 public:
  explicit ReplayTally(std::string_view of) : of_(of) {}  // "outputs", "gradients"

  void add(const std::string& call, const Replayed& replayed);
  std::string text() const;
  bool is_good() const { return not_run_.empty() && beyond_.empty(); }
  std::size_t calls() const { return calls_; }

 private:
  std::string of_;
  std::size_t calls_ = 0;
  std::size_t ran_ = 0;  // without anything to compare with
  std::array<std::size_t, 4> leaves_ = {};
  std::vector<std::string> beyond_;
  std::map<std::string, std::vector<std::string>> not_run_, not_comparable_;  // reason to calls
};

}  // namespace msprobe::worker
