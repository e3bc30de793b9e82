// Whether two results are the same, element by element. For the replay of dumps that hold what
// Python computed in the same precision.
#pragma once

#include <string>

#include "execute/execute_call.h"

namespace msprobe::engine {

struct Agreement {
  bool comparable = true;  // same kind, dtype and shape
  double max_ulp = 0;      // 0: bit for bit (NaN equals NaN, -0 equals 0)
  std::string text;        // what is not the same
};

Agreement compare(const execute::LeafPair& pair);

}  // namespace msprobe::engine
