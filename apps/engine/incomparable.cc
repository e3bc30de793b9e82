#include "incomparable.h"

#include <algorithm>

namespace msprobe::engine {
namespace {

constexpr std::string_view kUninitialised = "uninitialised memory";
constexpr std::string_view kUninitialisedTail = "uninitialised memory behind the old elements";

// Python itself gives other digits from call to call.
constexpr std::string_view kPivots = "LAPACK's gelsy is given uninitialised pivots";

struct Row {
  std::string_view bare_name;
  std::string_view reason;
  std::string_view path = {};  // of the one output meant; empty: all
};
constexpr Row kRows[] = {
    {"_make_dep_token", kUninitialised},
    {"empty", kUninitialised},
    {"empty_like", kUninitialised},
    {"empty_permuted", kUninitialised},
    {"empty_strided", kUninitialised},
    {"linalg.lstsq", kPivots},
    {"linalg_lstsq", kPivots},
    {"mkldnn_rnn_layer", kUninitialised, "3"},  // the workspace, which has gaps
    {"new_empty", kUninitialised},
    {"new_empty_strided", kUninitialised},
    {"resize", kUninitialisedTail},
    {"resize_", kUninitialisedTail},
    {"resize_as", kUninitialisedTail},
    {"resize_as_", kUninitialisedTail},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::bare_name));

}  // namespace

std::optional<std::string_view> why_incomparable(std::string_view bare_name,
                                                 std::string_view path) {
  const auto* found = std::ranges::lower_bound(kRows, bare_name, {}, &Row::bare_name);
  if (found == std::end(kRows) || found->bare_name != bare_name) return std::nullopt;
  if (!found->path.empty() && found->path != path) return std::nullopt;
  return found->reason;
}

}  // namespace msprobe::engine
