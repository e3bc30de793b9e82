// SPDX-License-Identifier: Apache-2.0
// Products of codes on the simulated device: every recipe is computed, and every fault changes what
// its row says. The operators are asked for by their schemas, as the dispatcher hands them over.
#include "sim/scaled_product.h"

#include <gtest/gtest.h>

#include "low_precision/block_scales.h"
#include "low_precision/codes.h"

namespace msprobe::sim {
namespace {

using torch::jit::Stack;

at::Tensor codes(std::vector<std::int64_t> shape) {
  return (at::randn(shape) * 40).to(at::kFloat8_e4m3fn);
}

at::Tensor wide(const at::Tensor& codes) { return low_precision::numbers_of(codes); }

// mat2 is column-major; blocks of 32 with swizzled scales of e8m0.
class ScaledOnSim : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = c10::Dispatcher::singleton().findSchema({"aten::_scaled_mm_v2", ""});
    if (!found) GTEST_SKIP() << "this PyTorch has no _scaled_mm_v2";
    op_ = *found;
    at::manual_seed(3);
    left_ = codes({40, 256});
    right_ = codes({24, 256});
    left_grid_ = at::randint(124, 130, {40, 8}).to(at::kByte);
    right_grid_ = at::randint(124, 130, {24, 8}).to(at::kByte);
  }

  Stack stack() const {
    const auto scales = [](const at::Tensor& grid) {
      return c10::List<at::Tensor>({low_precision::swizzled(grid).view(at::kFloat8_e8m0fnu)});
    };
    const auto numbers = [](std::int64_t number) { return c10::List<std::int64_t>({number}); };
    return {left_,
            right_.t(),
            scales(left_grid_),
            numbers(3),
            numbers(1),
            scales(right_grid_),
            numbers(3),
            numbers(1),
            c10::IValue(),
            at::kFloat,
            c10::List<std::int64_t>(),
            false};
  }

  at::Tensor result(const std::vector<Fault>& faults, std::string_view profile = "exact") const {
    Stack arguments = stack();
    EXPECT_TRUE(compute_scaled(*find_profile(profile), *op_, arguments, faults));
    EXPECT_EQ(arguments.size(), 1U);
    return arguments.back().toTensor().to(at::kDouble);
  }

  at::Tensor right_result() const {
    const auto scaled = [](const at::Tensor& factor, const at::Tensor& grid) {
      const at::Tensor powers = at::exp2(grid.to(at::kDouble) - 127);
      return wide(factor) * powers.repeat_interleave(32, 1);
    };
    return scaled(left_, left_grid_).matmul(scaled(right_, right_grid_).t());
  }

  std::optional<c10::OperatorHandle> op_;
  at::Tensor left_, right_, left_grid_, right_grid_;
};

TEST_F(ScaledOnSim, ComputesWhatTheCpuHasNoKernelFor) {
  EXPECT_TRUE(at::allclose(result({}), right_result(), 1e-6, 1e-3));
  const at::Tensor cut = result({}, "unit16-25-cut");
  EXPECT_TRUE(at::allclose(cut, right_result(), 1e-4, 1));
  EXPECT_FALSE(at::equal(cut, right_result()));
}

TEST_F(ScaledOnSim, EveryFaultOfScalesChangesTheResult) {
  for (const Fault fault : {Fault::kOtherBlockScale, Fault::kScaleExponent, Fault::kOtherAxisScales,
                            Fault::kWrongSwizzle, Fault::kLostBlock, Fault::kStaleAmax}) {
    Stack arguments = stack();
    EXPECT_TRUE(strikes_scaled(fault, *op_, arguments)) << row_of(fault).name;
    EXPECT_FALSE(at::allclose(result({fault}), right_result(), 1e-2, 1)) << row_of(fault).name;
  }
  EXPECT_TRUE(at::allclose(result({Fault::kStaleAmax}), right_result() * 0.75, 1e-6, 1e-3));
  const at::Tensor few = result({Fault::kFewBits}) - right_result();
  EXPECT_GT((few / right_result()).abs().median().item<double>(), 1e-6);
  Stack arguments = stack();
  EXPECT_FALSE(strikes_scaled(Fault::kSwappedHalves, *op_, arguments)) << "nothing is packed";
  EXPECT_FALSE(strikes_scaled(Fault::kTimesTwo, *op_, arguments));
}

TEST_F(ScaledOnSim, OneScaleForAllIsLeftToTheCpu) {
  const auto first = c10::Dispatcher::singleton().findSchema({"aten::_scaled_mm", ""});
  const at::Tensor one = at::ones({});
  Stack arguments{left_, right_.t(), one, one, c10::IValue(), c10::IValue(), at::kBFloat16, false};
  EXPECT_FALSE(compute_scaled(*find_profile("exact"), *first, arguments, {}));
  EXPECT_TRUE(compute_scaled(*find_profile("exact"), *first, arguments, {Fault::kLostBlock}));
  EXPECT_EQ(arguments.back().toTensor().scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace msprobe::sim
