// SPDX-License-Identifier: Apache-2.0
#include "strict/judges.h"

#include <string_view>

#include "strict/judge_integers.h"

namespace msprobe::strict {
namespace {

struct JudgeRow {
  std::string_view results;  // that it is for
  Judge judge;
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

std::optional<StrictFinding> judge_codes(CallContext& context, const Pair& pair) {
  return context.allowed.judge_codes ? context.allowed.judge_codes(context, pair) : std::nullopt;
}

constexpr JudgeRow kJudges[] = {
    {"without elements", &judge_empty},
    {"codes of 8 and 4 bits, casts from them, and their products with scales", &judge_codes},
    {"integers and bools", &judge_integers},
    {"complex on one side only", &judge_one_sided_complex},
};

}  // namespace

std::optional<StrictFinding> judge_alone(CallContext& context, const Pair& pair) {
  for (const JudgeRow& row : kJudges) {
    if (auto finding = row.judge(context, pair)) return finding;
  }
  return std::nullopt;
}

}  // namespace msprobe::strict
