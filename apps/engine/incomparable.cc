#include "incomparable.h"

#include "ops/op.h"

namespace msprobe::engine {

std::optional<std::string_view> why_incomparable(std::string_view bare_name,
                                                 std::string_view path) {
  constexpr std::string_view kUninitialised = "uninitialised memory";
  constexpr std::string_view kWorkspacePath = "3";
  switch (ops::traits_of(bare_name).contents) {
    case ops::Contents::kDefined:
      break;
    case ops::Contents::kUninitialised:
      return kUninitialised;
    case ops::Contents::kUninitialisedTail:
      return "uninitialised memory behind the old elements";
    case ops::Contents::kUninitialisedWorkspace:
      if (path == kWorkspacePath) return kUninitialised;
      break;
    case ops::Contents::kUninitialisedPivots:
      return "LAPACK's gelsy is given uninitialised pivots";
  }
  return std::nullopt;
}

}  // namespace msprobe::engine
