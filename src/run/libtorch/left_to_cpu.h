// SPDX-License-Identifier: Apache-2.0
// What ran where. Back ends hand operators that they lack to the CPU, and the result looks like the
// device's: it is the very CPU the device is compared with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

// While it lives, in every thread: notes the operators that were asked of `device` and that its
// back end leaves to the CPU. There can be one at a time.
class LeftToCpu {
 public:
  explicit LeftToCpu(at::Device device);
  ~LeftToCpu();
  LeftToCpu(const LeftToCpu&) = delete;
  LeftToCpu& operator=(const LeftToCpu&) = delete;

  // "aten::lgamma.out", in the order of their first call.
  std::vector<std::string> operators() const;

 private:
  std::uint64_t callback_;
};

// Whether an error says that the back end was told not to leave its operator to the CPU.
bool refused_the_cpu(std::string_view message);

}  // namespace msprobe::libtorch
