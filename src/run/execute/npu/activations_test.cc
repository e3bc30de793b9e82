// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/activations.h"

#include <limits>

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// As the operator's documentation writes it.
double fast_gelu_number(double x) {
  return x * std::exp(0.851 * (x - std::abs(x))) / (1 + std::exp(-1.702 * std::abs(x)));
}

Numbers map(const at::Tensor& x, double (*function)(double)) {
  Numbers result = numbers(x);
  for (double& value : result) value = function(value);
  return result;
}

// Half types are rounded once.
double rounding(at::ScalarType dtype) {
  if (dtype == at::kHalf) return 0x1p-11;
  if (dtype == at::kBFloat16) return 0x1p-8;
  return dtype == at::kFloat ? 1e-6 : 1e-14;
}

constexpr at::ScalarType kDtypes[] = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16};

TEST(Activations, FastGeluIsTheDocumentedFormula) {
  for (const at::ScalarType dtype : kDtypes) {
    const at::Tensor x = random({5, 7}, 1, -12, 12).to(dtype);
    const at::Tensor y = npu_fast_gelu(x);
    EXPECT_EQ(y.scalar_type(), dtype);
    expect_near(y, map(x, fast_gelu_number), rounding(dtype));
  }
}

TEST(Activations, MishIsXTimesTanhOfSoftplus) {
  for (const at::ScalarType dtype : kDtypes) {
    const at::Tensor x = random({3, 4, 5}, 2, -25, 25).to(dtype);
    const at::Tensor y = npu_mish(x);
    EXPECT_EQ(y.scalar_type(), dtype);
    expect_near(y, map(x, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }),
                rounding(dtype));
  }
}

// swiglu of a (before, 2 * half, after) block of numbers.
Numbers swiglu_numbers(const at::Tensor& x, std::int64_t dim) {
  const Numbers in = numbers(x);
  const std::int64_t half = x.size(dim) / 2;
  std::int64_t after = 1;
  for (std::int64_t d = dim + 1; d < x.dim(); ++d) after *= x.size(d);
  const std::int64_t before = x.numel() / (2 * half * after);
  Numbers out;
  for (std::int64_t i = 0; i < before; ++i) {
    for (std::int64_t j = 0; j < half * after; ++j) {
      const double a = in[static_cast<std::size_t>(2 * i * half * after + j)];
      const double b = in[static_cast<std::size_t>((2 * i + 1) * half * after + j)];
      out.push_back(a * sigmoid(a) * b);
    }
  }
  return out;
}

TEST(Activations, SwigluSplitsAlongAnyDimension) {
  for (const at::ScalarType dtype : kDtypes) {
    const at::Tensor x = random({4, 6, 8}, 3, -6, 6).to(dtype);
    for (std::int64_t dim = 0; dim < 3; ++dim) {
      SCOPED_TRACE(testing::Message() << "dim " << dim);
      const at::Tensor y = npu_swiglu(x, dim);
      EXPECT_EQ(y.scalar_type(), dtype);
      EXPECT_EQ(y.size(dim), x.size(dim) / 2);
      expect_near(y, swiglu_numbers(x, dim), rounding(dtype));
      EXPECT_TRUE(y.equal(npu_swiglu(x, dim - 3)));
    }
  }
}

TEST(Activations, SwigluRefusesAnOddDimension) {
  EXPECT_THAT(message_of([] { npu_swiglu(random({2, 5}, 1), -1); }),
              testing::HasSubstr("has 5 elements, an even number is needed"));
}

TEST(Activations, FastGeluHasItsLimitsAtInfinity) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const at::Tensor y = npu_fast_gelu(at::tensor({kInf, 0.0, 800.0, -800.0}, at::kDouble));
  EXPECT_EQ(numbers(y), (Numbers{kInf, 0, 800, 0}));
}

TEST(Activations, AutogradFollowsDifferences) {
  const at::Tensor x = random({3, 4}, 4, -4, 4);
  expect_autograd_follows_differences([](const auto& in) { return npu_fast_gelu(in[0]); }, {x});
  expect_autograd_follows_differences([](const auto& in) { return npu_mish(in[0]); }, {x});
  expect_autograd_follows_differences([](const auto& in) { return npu_swiglu(in[0], -1); }, {x});
  expect_autograd_follows_differences([](const auto& in) { return npu_swiglu(in[0].t(), 0); }, {x});
}

TEST(Activations, ExplicitBackwardEqualsAutograd) {
  const at::Tensor x = random({6, 8}, 5, -5, 5);
  const at::Tensor grad = random({6, 8}, 6);
  const auto gelu = autograd_of([](const auto& in) { return npu_fast_gelu(in[0]); }, {x}, grad);
  expect_near(npu_fast_gelu_backward(grad, x), gelu[0], 1e-14);
  for (const std::int64_t dim : {0, 1, -1}) {
    const at::Tensor half = grad.narrow(dim, 0, grad.size(dim) / 2);
    const auto glu = autograd_of([&](const auto& in) { return npu_swiglu(in[0], dim); }, {x}, half);
    expect_near(npu_swiglu_backward(half, x, dim), glu[0], 1e-14);
  }
}

// The formula of the operator's documentation, with E = exp(-1.702 |x|).
TEST(Activations, FastGeluBackwardIsTheDocumentedFormula) {
  const at::Tensor x = random({40}, 7, -9, 9);
  const at::Tensor found = npu_fast_gelu_backward(at::full({40}, 2.0, at::kDouble), x);
  expect_near(found,
              map(x,
                  [](double v) {
                    const double e = std::exp(-1.702 * std::abs(v));
                    return 2 * (e + 1.702 * v * e + std::exp(1.702 * (v - std::abs(v)))) /
                           ((1 + e) * (1 + e));
                  }),
              1e-13);
}

// Softmax row by row; mask and x have the same shape.
Numbers masked_softmax_numbers(const at::Tensor& x, const at::Tensor& mask, double scale) {
  Numbers values = numbers(x);
  const Numbers masked = numbers(mask);
  const auto width = static_cast<std::size_t>(x.size(-1));
  for (std::size_t row = 0; row < values.size(); row += width) {
    double max = -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (std::size_t i = row; i < row + width; ++i) {
      values[i] = masked[i] != 0 ? -10000 : values[i] * scale;
      max = std::max(max, values[i]);
    }
    for (std::size_t i = row; i < row + width; ++i) sum += values[i] = std::exp(values[i] - max);
    for (std::size_t i = row; i < row + width; ++i) values[i] /= sum;
  }
  return values;
}

TEST(ScaledMaskedSoftmax, BroadcastsItsMask) {
  for (const at::ScalarType dtype : kDtypes) {
    const at::Tensor x = random({2, 3, 4, 5}, 8, -3, 3).to(dtype);
    const at::Tensor mask = random({2, 1, 4, 5}, 9) > 0.3;
    const at::Tensor y = npu_scaled_masked_softmax(x, mask, 0.7, false);
    EXPECT_EQ(y.scalar_type(), dtype);
    expect_near(y, masked_softmax_numbers(x, mask.expand({2, 3, 4, 5}), 0.7), rounding(dtype));
  }
}

TEST(ScaledMaskedSoftmax, FixedMaskIsTheStrictUpperTriangle) {
  const at::Tensor x = random({1, 2, 4, 4}, 10, -3, 3);
  const at::Tensor triangle = at::ones({1, 2, 4, 4}, at::kBool).triu(1);
  const Numbers wanted = masked_softmax_numbers(x, triangle, 1);
  const at::Tensor other = at::zeros({1, 1, 4, 4}, at::kBool);
  expect_near(npu_scaled_masked_softmax(x, other, 1, true), wanted, 1e-14);
  expect_near(npu_scaled_masked_softmax(x, {}, 1, true), wanted, 1e-14);
}

TEST(ScaledMaskedSoftmax, AFullyMaskedRowIsUniform) {
  const at::Tensor y =
      npu_scaled_masked_softmax(random({2, 4}, 11), at::ones({2, 4}, at::kBool), 3, false);
  expect_near(y, Numbers(8, 0.25), 1e-15);
}

TEST(ScaledMaskedSoftmax, KeepsFloat64) {
  const at::Tensor x = at::tensor({0.0, 1e-12}, at::kDouble);
  const Numbers y = numbers(npu_scaled_masked_softmax(x, {}, 1, false));
  EXPECT_NEAR(y[1] - y[0], 5e-13, 1e-15);  // lost in float32
}

TEST(ScaledMaskedSoftmax, GradientsAgree) {
  const at::Tensor x = random({2, 3, 4}, 12, -2, 2);
  const at::Tensor mask = random({3, 4}, 13) > 0.4;
  const auto function = [&](const std::vector<at::Tensor>& in) {
    return npu_scaled_masked_softmax(in[0], mask, 0.3, false);
  };
  expect_autograd_follows_differences(function, {x});
  const at::Tensor grad = random({2, 3, 4}, 14);
  const auto wanted = autograd_of(function, {x}, grad);
  const at::Tensor y = function({x});
  expect_near(npu_scaled_masked_softmax_backward(grad, y, mask, 0.3, false), wanted[0], 1e-14);
}

}  // namespace
}  // namespace msprobe::execute::npu
