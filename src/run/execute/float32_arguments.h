// SPDX-License-Identifier: Apache-2.0
// Arguments that an operator takes in float32 and nothing else, whatever the tensors beside them
// are: the scale and the flag of a gradient scaler, the step counts of a fused optimizer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::execute {

// The benchmark's arguments are raised to float64. On a stack that an operator is about to take,
// these become float32 again.
class Float32Arguments {
 public:
  Float32Arguments(const c10::FunctionSchema& schema, torch::jit::Stack& stack);

  // After the call: the raised tensors get what the operator wrote.
  void write_back() const;

 private:
  struct Copied {
    at::Tensor raised, lowered;
  };
  at::Tensor lowered(const at::Tensor& tensor);

  std::vector<Copied> copied_;
};

}  // namespace msprobe::execute
