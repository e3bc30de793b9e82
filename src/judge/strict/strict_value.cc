// SPDX-License-Identifier: Apache-2.0
#include "strict/strict_value.h"

#include <cmath>

namespace msprobe::strict {

StrictFinding judge_value(const execute::LeafPair& leaf) {
  if (leaf.bench.data.index() != leaf.device.data.index()) {
    return {Verdict::kError, "values of different types", ""};
  }
  const auto differs = [&]<class T>(const T* bench) {
    return bench != nullptr && !(*bench == *leaf.device.as<T>());
  };
  const auto* real = leaf.bench.as<double>();
  const bool both_nan =
      real != nullptr && std::isnan(*real) && std::isnan(*leaf.device.as<double>());
  const bool same =
      both_nan ||
      !(differs(leaf.bench.as<bool>()) || differs(real) || differs(leaf.bench.as<std::int64_t>()) ||
        differs(leaf.bench.as<std::complex<double>>()) || differs(leaf.bench.as<std::string>()));
  return {same ? Verdict::kPass : Verdict::kError, same ? "equal values" : "another value", ""};
}

}  // namespace msprobe::strict
