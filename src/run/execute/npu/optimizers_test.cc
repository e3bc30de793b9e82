// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/optimizers.h"

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

struct Scalars {
  double var, m, v;
};

Scalars adam_w_number(const AdamWStep& s, double grad, double max_grad, const Scalars& old) {
  double p1 = s.beta1_power * s.beta1;
  double p2 = s.beta2_power * s.beta2;
  const double g = s.maximize ? -grad : grad;
  Scalars next = {};
  next.m = old.m * s.beta1 + g * (1 - s.beta1);
  next.v = old.v * s.beta2 + g * g * (1 - s.beta2);
  double denominator = 0;
  if (s.amsgrad) {
    if (1 - p2 == 0) p2 -= s.epsilon;
    denominator = std::sqrt(std::max(max_grad, next.v) / (1 - p2)) + s.epsilon;
  } else {
    denominator = std::sqrt(next.v / (1 - p2)) + s.epsilon;
  }
  if (1 - p1 == 0) p1 -= s.epsilon;
  next.var = old.var * (1 - s.lr * s.weight_decay) - s.lr * next.m / (1 - p1) / denominator;
  return next;
}

Scalars adam_number(const AdamStep& s, double grad, const Scalars& old) {
  Scalars next = {};
  next.m = old.m + (s.beta1 - 1) * (old.m - grad);
  next.v = old.v + (s.beta2 - 1) * (old.v - grad * grad);
  const double rate = s.lr * std::sqrt(1 - s.beta2_power) / (1 - s.beta1_power);
  const double direction = s.use_nesterov ? s.beta1 * next.m + (1 - s.beta1) * grad : next.m;
  next.var = old.var - rate * direction / (s.epsilon + std::sqrt(next.v));
  return next;
}

AdamState state_of(at::ScalarType dtype) {
  return {.var = random({3, 4}, 1).to(dtype),
          .m = random({3, 4}, 2).to(dtype),
          .v = random({3, 4}, 3, 0, 1).to(dtype)};
}

template <class Number>
void expect_state(const AdamState& found, const AdamState& old, const Number& number,
                  double tolerance) {
  const Numbers var = numbers(old.var);
  const Numbers m = numbers(old.m);
  const Numbers v = numbers(old.v);
  Numbers wanted[3];
  for (std::size_t i = 0; i < var.size(); ++i) {
    const Scalars next = number(i, Scalars{var[i], m[i], v[i]});
    wanted[0].push_back(next.var);
    wanted[1].push_back(next.m);
    wanted[2].push_back(next.v);
  }
  expect_near(found.var, wanted[0], tolerance);
  expect_near(found.m, wanted[1], tolerance);
  expect_near(found.v, wanted[2], tolerance);
  EXPECT_EQ(found.var.scalar_type(), old.var.scalar_type());
  EXPECT_EQ(found.m.scalar_type(), old.m.scalar_type());
  EXPECT_EQ(found.v.scalar_type(), old.v.scalar_type());
}

void expect_adam_w(const AdamWStep& step, at::ScalarType dtype, double tolerance) {
  const at::Tensor grad = random({3, 4}, 4).to(dtype);
  const at::Tensor max_grad = random({3, 4}, 5, 0, 1).to(dtype);
  const AdamState old = state_of(dtype);
  const Numbers g = numbers(grad);
  const Numbers largest = numbers(max_grad);
  expect_state(
      npu_apply_adam_w(step, grad, max_grad, old), old,
      [&](std::size_t i, const Scalars& s) { return adam_w_number(step, g[i], largest[i], s); },
      tolerance);
}

constexpr AdamWStep kAdamWStep = {.beta1_power = 0.81,
                                  .beta2_power = 0.998,
                                  .lr = 0.01,
                                  .weight_decay = 0.1,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .epsilon = 1e-8};

TEST(AdamW, EveryCombinationOfItsSwitches) {
  for (const bool amsgrad : {false, true}) {
    for (const bool maximize : {false, true}) {
      AdamWStep step = kAdamWStep;
      step.amsgrad = amsgrad;
      step.maximize = maximize;
      expect_adam_w(step, at::kDouble, 1e-13);
      expect_adam_w(step, at::kFloat, 1e-6);
      expect_adam_w(step, at::kBFloat16, 5e-3);
    }
  }
}

TEST(AdamW, PowersOfOneAreMovedByEpsilon) {
  AdamWStep step = kAdamWStep;
  step.epsilon = 1e-3;
  step.beta1 = step.beta1_power = 1;
  expect_adam_w(step, at::kDouble, 1e-12);
  step.beta2 = step.beta2_power = 1;
  step.amsgrad = true;
  expect_adam_w(step, at::kDouble, 1e-12);
}

TEST(AdamW, ASecondPowerOfOneStopsTheStepWithoutAmsgrad) {
  AdamWStep step = kAdamWStep;
  step.beta2 = step.beta2_power = 1;
  expect_adam_w(step, at::kDouble, 1e-13);  // v / 0 = inf: only the weight decay is left
}

TEST(AdamW, AmsgradReadsMaxGradNorm) {
  AdamWStep step = kAdamWStep;
  step.amsgrad = true;
  const AdamState old = state_of(at::kDouble);
  const at::Tensor grad = random({3, 4}, 4);
  const AdamState small = npu_apply_adam_w(step, grad, at::zeros({3, 4}, at::kDouble), old);
  const AdamState large = npu_apply_adam_w(step, grad, at::full({3, 4}, 100.0, at::kDouble), old);
  EXPECT_FALSE(small.var.equal(large.var));
  EXPECT_TRUE(
      small.var.equal(npu_apply_adam_w(step, grad, at::zeros({3, 4}, at::kDouble), old).var));
  EXPECT_THAT(message_of([&] { npu_apply_adam_w(step, grad, {}, old); }),
              testing::HasSubstr("amsgrad needs max_grad_norm"));
}

TEST(AdamW, MixedDtypesEndInThoseOfTheState) {
  const AdamState old = {.var = random({4}, 1).to(at::kHalf),
                         .m = random({4}, 2).to(at::kFloat),
                         .v = random({4}, 3, 0, 1).to(at::kFloat)};
  const AdamState next = npu_apply_adam_w(kAdamWStep, random({4}, 4).to(at::kHalf), {}, old);
  EXPECT_EQ(next.var.scalar_type(), at::kHalf);
  EXPECT_EQ(next.m.scalar_type(), at::kFloat);
}

TEST(AdamW, LeavesTheOldStateAlone) {
  const AdamState old = state_of(at::kDouble);
  npu_apply_adam_w(kAdamWStep, random({3, 4}, 4), {}, old);
  EXPECT_TRUE(old.var.equal(state_of(at::kDouble).var));
  EXPECT_TRUE(old.m.equal(state_of(at::kDouble).m));
}

TEST(Adam, WithAndWithoutNesterov) {
  for (const bool nesterov : {false, true}) {
    const AdamStep step = {.beta1_power = 0.81,
                           .beta2_power = 0.998,
                           .lr = 0.01,
                           .beta1 = 0.9,
                           .beta2 = 0.999,
                           .epsilon = 1e-8,
                           .use_nesterov = nesterov};
    for (const auto& [dtype, tolerance] :
         {std::pair{at::kDouble, 1e-13}, {at::kFloat, 1e-6}, {at::kHalf, 1e-3}}) {
      const at::Tensor grad = random({3, 4}, 4).to(dtype);
      const AdamState old = state_of(dtype);
      const Numbers g = numbers(grad);
      expect_state(
          npu_apply_adam(step, grad, old), old,
          [&](std::size_t i, const Scalars& s) { return adam_number(step, g[i], s); }, tolerance);
    }
  }
}

}  // namespace
}  // namespace msprobe::execute::npu
