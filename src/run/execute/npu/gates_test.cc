// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/gates.h"

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

double erf_gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double tanh_gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(Gates, GeluIsTheDocumentedFormula) {
  const at::Tensor x = random({40}, 1, -6, 6);
  Numbers erf;
  Numbers tanh;
  for (const double v : numbers(x)) {
    erf.push_back(erf_gelu(v));
    tanh.push_back(tanh_gelu(v));
  }
  expect_near(npu_gelu(x, "none"), erf, 1e-13);
  expect_near(npu_gelu(x, "tanh"), tanh, 1e-13);
  EXPECT_EQ(npu_gelu(x.to(at::kBFloat16), "none").scalar_type(), at::kBFloat16);
}

TEST(Gates, GeluBackwardIsTheGradient) {
  const at::Tensor x = random({3, 5}, 2, -4, 4);
  for (const char* approximate : {"none", "tanh"}) {
    const Function function = [&](const std::vector<at::Tensor>& in) {
      return npu_gelu(in[0], approximate);
    };
    const at::Tensor grad = random({3, 5}, 3);
    expect_near(npu_gelu_backward(grad, x, approximate), autograd_of(function, {x}, grad)[0],
                1e-12);
    expect_autograd_follows_differences(function, {x});
  }
}

// Rows of 6: the halves are 3 apart.
TEST(Gates, GegluMultipliesOneHalfWithTheGeluOfTheOther) {
  const at::Tensor x = random({4, 6}, 4, -4, 4);
  const Numbers in = numbers(x);
  for (const bool left : {false, true}) {
    for (const bool tanh : {false, true}) {
      Numbers product;
      Numbers gelu;
      for (std::size_t row = 0; row < 4; ++row) {
        for (std::size_t i = 0; i < 3; ++i) {
          const double activated = in[6 * row + i + (left ? 0 : 3)];
          const double linear = in[6 * row + i + (left ? 3 : 0)];
          gelu.push_back(tanh ? tanh_gelu(activated) : erf_gelu(activated));
          product.push_back(linear * gelu.back());
        }
      }
      const auto [y, second] = npu_geglu(x, {.tanh = tanh, .activate_left = left});
      expect_near(y, product, 1e-13);
      expect_near(second, gelu, 1e-13);
    }
  }
}

TEST(Gates, GegluGradIsTheGradient) {
  const at::Tensor x = random({2, 4, 3}, 5, -3, 3);
  for (const bool left : {false, true}) {
    const GeluGate gate{.dim = 1, .tanh = true, .activate_left = left};
    const Function function = [&](const std::vector<at::Tensor>& in) {
      return std::get<0>(npu_geglu(in[0], gate));
    };
    const at::Tensor grad = random({2, 2, 3}, 6);
    const at::Tensor gelu = std::get<1>(npu_geglu(x, gate));
    expect_near(npu_geglu_grad(grad, x, gelu, gate), autograd_of(function, {x}, grad)[0], 1e-12);
    expect_autograd_follows_differences(function, {x});
  }
}

double clipped(double a, double b) {
  a = std::min(a, 2.0);
  b = std::clamp(b, -2.0, 2.0);
  return a / (1 + std::exp(-1.5 * a)) * (b + 0.5);
}

TEST(Gates, ClippedSwigluTakesNeighboursInMemoryOrHalves) {
  const at::Tensor x = random({3, 2, 4}, 7, -4, 4);
  const Numbers in = numbers(x);
  for (const std::int64_t dim : {1, 2}) {
    const std::size_t columns = dim == 1 ? 8 : 4;
    for (const bool interleaved : {true, false}) {
      Numbers wanted;
      for (std::size_t row = 0; row < in.size() / columns; ++row) {
        for (std::size_t i = 0; i < columns / 2; ++i) {
          const std::size_t first = row * columns;
          wanted.push_back(interleaved ? clipped(in[first + 2 * i], in[first + 2 * i + 1])
                                       : clipped(in[first + i], in[first + columns / 2 + i]));
        }
      }
      const ClippedSwiglu options{
          .dim = dim, .alpha = 1.5, .limit = 2, .bias = 0.5, .interleaved = interleaved};
      const at::Tensor y = npu_clipped_swiglu(x, options, c10::nullopt);
      EXPECT_EQ(y.size(dim), x.size(dim) / 2);
      expect_near(y, wanted, 1e-13);
    }
  }
}

TEST(Gates, RowsBehindTheGroupsOfClippedSwigluAreZero) {
  const at::Tensor x = random({5, 4}, 8);
  const at::Tensor all = npu_clipped_swiglu(x, {}, c10::nullopt);
  const at::Tensor some = npu_clipped_swiglu(x, {}, 3);
  EXPECT_TRUE(some.narrow(0, 0, 3).equal(all.narrow(0, 0, 3)));
  EXPECT_EQ(some.narrow(0, 3, 2).abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace msprobe::execute::npu
