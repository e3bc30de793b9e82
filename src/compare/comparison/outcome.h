// SPDX-License-Identifier: Apache-2.0
// The outcome of one row of a comparison, and counts of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/verdict.h"

namespace msprobe::comparison {

enum class Outcome : std::uint8_t {
  kPass,
  kWarning,
  kError,
  kUnmatched,  // no counterpart: nothing was compared
  kSkipped,    // a counterpart, but data that cannot be read
  kUndecided,  // a counterpart: not judged yet, or there is nothing to judge
};
inline constexpr std::size_t kOutcomes = 6;

// Whether the row has a counterpart, and the data of both could be read.
constexpr bool is_paired(Outcome outcome) {
  return outcome != Outcome::kUnmatched && outcome != Outcome::kSkipped;
}

// As the report shows it.
constexpr Verdict verdict_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return Verdict::kPass;
    case Outcome::kWarning:
      return Verdict::kWarning;
    case Outcome::kError:
      return Verdict::kError;
    case Outcome::kUnmatched:
    case Outcome::kSkipped:
    case Outcome::kUndecided:
      break;
  }
  return Verdict::kSkip;
}

// Counts of rows.
struct Totals {
  std::uint64_t rows = 0;
  std::uint64_t golden_only = 0;  // rows that only the golden dump has; unmatched, too
  std::array<std::uint64_t, kOutcomes> outcomes{};

  std::uint64_t operator[](Outcome outcome) const {
    return outcomes[static_cast<std::size_t>(outcome)];
  }
  std::uint64_t compared() const {
    return (*this)[Outcome::kPass] + (*this)[Outcome::kWarning] + (*this)[Outcome::kError];
  }
  std::uint64_t paired() const { return compared() + (*this)[Outcome::kUndecided]; }

  void add(Outcome outcome) {
    ++rows;
    ++outcomes[static_cast<std::size_t>(outcome)];
  }
  void add(const Totals& part) {
    rows += part.rows;
    golden_only += part.golden_only;
    for (std::size_t i = 0; i < kOutcomes; ++i) outcomes[i] += part.outcomes[i];
  }
};

}  // namespace msprobe::comparison
