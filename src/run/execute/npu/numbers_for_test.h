// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: inputs, tensors as plain numbers, and gradients by central
// differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

using Numbers = std::vector<double>;

inline std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// Uniform in [low, high), float64, the same for the same seed.
inline at::Tensor random(at::IntArrayRef shape, std::uint64_t seed, double low = -1,
                         double high = 1) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  at::Tensor tensor = at::empty(shape, at::kDouble);
  std::generate_n(tensor.data_ptr<double>(), tensor.numel(),
                  [&] { return distribution(generator); });
  return tensor;
}

inline Numbers numbers(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kDouble).contiguous();
  const double* data = plain.data_ptr<double>();
  return {data, data + plain.numel()};
}

inline void expect_near(const at::Tensor& found, const Numbers& wanted, double tolerance) {
  const Numbers values = numbers(found);
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double limit = tolerance * std::max(1.0, std::abs(wanted[i]));
    EXPECT_NEAR(values[i], wanted[i], limit) << "at element " << i;
  }
}

inline void expect_near(const at::Tensor& found, const at::Tensor& wanted, double tolerance) {
  ASSERT_EQ(found.sizes(), wanted.sizes());
  expect_near(found, numbers(wanted), tolerance);
}

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

// The gradients of sum(function(inputs) * weights) by autograd, one for each input.
inline std::vector<at::Tensor> autograd_of(const Function& function,
                                           const std::vector<at::Tensor>& inputs,
                                           const at::Tensor& weights) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().clone().requires_grad_());
  const at::Tensor output = function(leaves);
  output.backward(weights.to(output.scalar_type()));
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

// The same by central differences; float64 inputs.
inline std::vector<at::Tensor> differences_of(const Function& function,
                                              const std::vector<at::Tensor>& inputs,
                                              const at::Tensor& weights) {
  constexpr double kStep = 1e-5;
  const auto loss = [&](const std::vector<at::Tensor>& at_inputs) {
    return (function(at_inputs) * weights).sum().item<double>();
  };
  std::vector<at::Tensor> gradients;
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    std::vector<at::Tensor> moved = inputs;
    moved[which] = inputs[which].contiguous().clone();
    at::Tensor flat = moved[which].view({-1});
    at::Tensor gradient = at::empty_like(moved[which]);
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const double centre = flat[i].item<double>();
      flat[i] = centre + kStep;
      const double above = loss(moved);
      flat[i] = centre - kStep;
      const double below = loss(moved);
      flat[i] = centre;
      gradient.view({-1})[i] = (above - below) / (2 * kStep);
    }
    gradients.push_back(gradient);
  }
  return gradients;
}

inline void expect_autograd_follows_differences(const Function& function,
                                                const std::vector<at::Tensor>& inputs) {
  const at::Tensor weights = random(function(inputs).sizes(), 99);
  const auto found = autograd_of(function, inputs, weights);
  const auto wanted = differences_of(function, inputs, weights);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "gradient of input " << i);
    expect_near(found[i], wanted[i], 1e-8);
  }
}

// The message of the c10::Error that `action` throws, empty if it throws none.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

}  // namespace msprobe::execute::npu
