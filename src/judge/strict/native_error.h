// SPDX-License-Identifier: Apache-2.0
// How much the CPU errs when it computes a call in the recorded dtype: over several inputs next to
// the recorded ones, so that an error that happens to be small says nothing.
#pragma once

#include <string>

#include "strict/conditioning.h"
#include "strict/float_type.h"

namespace msprobe::strict {

// The error of `native`, what the CPU gave in the recorded dtype, element by element. Infinite or
// NaN where it is not finite and the result is near the end of the number range.
at::Tensor native_errors(const at::Tensor& native, const at::Tensor& bench, const FloatType& type);

// Whether both are NaN, and infinite with the same sign, at the same places.
bool same_specials(const at::Tensor& one, const at::Tensor& other);

class NativeError {
 public:
  // `how`: in which way the benchmark runs. REQUIRES: `rerun` and `full_name` outlive this.
  NativeError(execute::Rerun& rerun, const std::string& full_name, execute::Variation how)
      : rerun_(rerun), full_name_(full_name), how_(std::move(how)) {}

  // The largest error of every element over the samples, in float64 (complex: of both parts);
  // undefined if the CPU cannot run the call so. Deterministic.
  at::Tensor of(Direction direction, const std::string& path);

 private:
  void sample(int number);

  execute::Rerun& rerun_;
  const std::string& full_name_;
  execute::Variation how_;
  bool sampled_ = false;
  LeafTensors errors_;
};

}  // namespace msprobe::strict
