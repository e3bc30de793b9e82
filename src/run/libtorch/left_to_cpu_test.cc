// SPDX-License-Identifier: Apache-2.0
// The device is "meta": PyTorch has it everywhere, and operators of ours may lack a kernel there.
#include "libtorch/left_to_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

namespace msprobe::libtorch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

at::Tensor call(const char* name, const at::Tensor& tensor) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  torch::jit::Stack stack{tensor};
  op.callBoxed(&stack);
  return stack.at(0).toTensor();
}

at::Tensor itself(const at::Tensor& tensor) { return tensor; }

// Kernels of a device that computes, and of one that asks the CPU.
at::Tensor computes(const at::Tensor& tensor) { return tensor + tensor; }
at::Tensor asks_the_cpu(const at::Tensor& tensor) {
  call("msprobe_left::asks", at::ones({2}));
  return tensor;
}
// As at::native::cpu_fallback fetches its arguments. What "meta" holds cannot be fetched.
at::Tensor fetches(const at::Tensor& tensor) {
  const at::Tensor list[] = {tensor};
  at::_to_cpu(list);
  return tensor;
}

TORCH_LIBRARY(msprobe_left, library) {
  for (const char* name : {"lacks", "asks", "computes", "fetches"}) {
    library.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
    library.impl(name, c10::DispatchKey::CPU, TORCH_FN(itself));
  }
  library.impl("asks", c10::DispatchKey::Meta, TORCH_FN(asks_the_cpu));
  library.impl("computes", c10::DispatchKey::Meta, TORCH_FN(computes));
  library.impl("fetches", c10::DispatchKey::Meta, TORCH_FN(fetches));
}

std::vector<std::string> left_by(const char* name) {
  const at::Tensor there = at::empty({2}, at::kMeta);
  const LeftToCpu watch(at::kMeta);
  try {
    call(name, there);
  } catch (const std::exception&) {  // the device "meta" has no fallback
  }
  call(name, at::ones({2}));  // of the CPU; asked for by no operator of the device
  return watch.operators();
}

TEST(LeftToCpu, AnOperatorWithoutAKernelAndOnesThatAskTheCpu) {
  EXPECT_THAT(left_by("msprobe_left::lacks"), ElementsAre("msprobe_left::lacks"));
  EXPECT_THAT(left_by("msprobe_left::asks"), ElementsAre("msprobe_left::asks"));
  EXPECT_THAT(left_by("msprobe_left::fetches"), ElementsAre("msprobe_left::fetches"));
  EXPECT_THAT(left_by("msprobe_left::computes"), IsEmpty());
}

TEST(LeftToCpu, OperatorsOfPyTorchItself) {
  const LeftToCpu watch(at::kMeta);
  const at::Tensor there = at::empty({4, 4}, at::kMeta);
  at::matmul(there, there).softmax(-1).add_(1).t().contiguous();
  at::ones({3}, at::kMeta);
  EXPECT_THAT(watch.operators(), IsEmpty());
}

}  // namespace
}  // namespace msprobe::libtorch
