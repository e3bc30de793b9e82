// The gradients a dump recorded, put beside the inputs they belong to.
#pragma once

#include <string>
#include <vector>

#include "execute/side.h"

namespace msprobe::execute {

struct RecordedGradients {
  std::vector<PyValue> values;  // one per input; None where it has none
  std::string note;             // where they are not in the order of the arguments
};

// A dump lists gradients in the order of the autograd node, which is not always that of the
// arguments, and sometimes transposed. The order of the arguments is tried first; where it does not
// fit in shape, or another one agrees better with the benchmark, that one counts.
OrSkip<RecordedGradients> match_gradients(const std::vector<Input>& inputs,
                                          const std::vector<at::Tensor>& bench,
                                          const PyList& recorded);

}  // namespace msprobe::execute
