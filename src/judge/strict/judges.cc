// SPDX-License-Identifier: Apache-2.0
#include "strict/judges.h"

#include <string_view>

#include "strict/judge_codes.h"
#include "strict/judge_integers.h"

namespace msprobe::strict {
namespace {

// Gives a finding for the results it is for, and nothing for others.
struct Judge {
  std::string_view results;  // that it is for
  std::optional<StrictFinding> (*judge)(CallContext& context, const Pair& pair);
};

std::optional<StrictFinding> judge_empty(CallContext&, const Pair& pair) {
  if (pair.device.numel() > 0) return std::nullopt;
  return passed("nothing to compare");
}

std::optional<StrictFinding> judge_one_sided_complex(CallContext&, const Pair& pair) {
  if (!float_type(pair.device.scalar_type()) ||
      pair.bench.is_complex() == pair.device.is_complex()) {
    return std::nullopt;
  }
  return wrong("real against complex");
}

constexpr Judge kJudges[] = {
    {"without elements", &judge_empty},
    {"codes of 8 and 4 bits, casts from them, and their products with scales",
     &judge_low_precision},
    {"integers and bools", &judge_integers},
    {"complex on one side only", &judge_one_sided_complex},
};

}  // namespace

std::optional<StrictFinding> judge_alone(CallContext& context, const Pair& pair) {
  for (const Judge& row : kJudges) {
    if (auto finding = row.judge(context, pair)) return finding;
  }
  return std::nullopt;
}

}  // namespace msprobe::strict
