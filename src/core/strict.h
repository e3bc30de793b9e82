// StrictFinding: the second opinion on one output or gradient, beside the documented verdict.
#pragma once

#include <cstdint>
#include <string>

namespace msprobe {

enum class StrictStatus : std::uint8_t { kPass, kWarning, kError, kSkip };

struct StrictFinding {
  StrictStatus status = StrictStatus::kSkip;
  std::string reason;  // what was compared with what, and by how much it failed; never empty
  std::string cause;   // what fits the pattern of the error; empty where nothing does
};

}  // namespace msprobe
