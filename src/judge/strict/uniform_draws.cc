// SPDX-License-Identifier: Apache-2.0
#include "strict/uniform_draws.h"

namespace msprobe::strict {

void UniformDraws::move(std::span<double> values, const Move& how) {
  const double width = how.high - how.low;
  for (double& x : values) {
    // The first word of a pair has the upper bits; 53 of the 64 count.
    const std::uint64_t upper = words_() & 0x1f'ffff;
    const std::uint64_t bits = upper << 32 | words_();
    const double r = static_cast<double>(bits) * 0x1p-53 * width + how.low;
    const double moved = x * (r * how.size + 1);
    const double away = x < 0 ? -(r * how.more) : r * how.more;
    x = how.more == 0 ? moved : moved + away;  // a zero keeps its sign
  }
}

}  // namespace msprobe::strict
