// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/norms.h"

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(const Numbers& values, std::size_t first, std::size_t count) {
  Moments result;
  for (std::size_t i = first; i < first + count; ++i) result.mean += values[i];
  result.mean /= static_cast<double>(count);
  for (std::size_t i = first; i < first + count; ++i) {
    result.variance += (values[i] - result.mean) * (values[i] - result.mean);
  }
  result.variance /= static_cast<double>(count);
  return result;
}

TEST(LayerNormEval, AppliesWeightBiasAndEps) {
  const at::Tensor x = random({4, 3, 5}, 1, -2, 2);
  const at::Tensor weight = random({3, 5}, 2);
  const at::Tensor bias = random({3, 5}, 3);
  const Numbers in = numbers(x);
  const Numbers w = numbers(weight);
  const Numbers b = numbers(bias);
  for (const double eps : {1e-5, 0.5}) {
    Numbers plain;
    Numbers full;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Moments m = moments(in, i / 15 * 15, 15);
      plain.push_back((in[i] - m.mean) / std::sqrt(m.variance + eps));
      full.push_back(plain.back() * w[i % 15] + b[i % 15]);
    }
    expect_near(npu_layer_norm_eval(x, {3, 5}, {}, {}, eps), plain, 1e-13);
    expect_near(npu_layer_norm_eval(x, {3, 5}, weight, bias, eps), full, 1e-13);
  }
}

TEST(LayerNormEval, AutogradFollowsDifferences) {
  expect_autograd_follows_differences(
      [](const auto& in) { return npu_layer_norm_eval(in[0], {4}, in[1], in[2], 1e-3); },
      {random({3, 4}, 4), random({4}, 5), random({4}, 6)});
}

struct RmsNumbers {
  Numbers y, rstd;
};

RmsNumbers rms_numbers(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  const Numbers in = numbers(x);
  const Numbers scale = numbers(gamma);
  RmsNumbers result;
  for (std::size_t row = 0; row < in.size(); row += scale.size()) {
    double square = 0;
    for (std::size_t i = 0; i < scale.size(); ++i) square += in[row + i] * in[row + i];
    const double r = 1 / std::sqrt(square / static_cast<double>(scale.size()) + epsilon);
    result.rstd.push_back(r);
    for (std::size_t i = 0; i < scale.size(); ++i) {
      result.y.push_back(in[row + i] * r * scale[i]);
    }
  }
  return result;
}

TEST(RmsNorm, ReducesOverTheDimensionsOfGamma) {
  const at::Tensor x = random({2, 3, 4, 5}, 7, -3, 3);
  for (const auto& shape : {std::vector<std::int64_t>{5}, std::vector<std::int64_t>{4, 5}}) {
    const at::Tensor gamma = random(shape, 8);
    const auto [y, rstd] = npu_rms_norm(x, gamma, 1e-2);
    const RmsNumbers wanted = rms_numbers(x, gamma, 1e-2);
    EXPECT_EQ(y.scalar_type(), at::kDouble);
    EXPECT_EQ(rstd.scalar_type(), at::kFloat);
    EXPECT_EQ(rstd.dim(), x.dim());
    expect_near(y, wanted.y, 1e-14);
    expect_near(rstd, wanted.rstd, 1e-7);
  }
}

TEST(RmsNorm, HalfTypesDoNotOverflowInTheSquare) {
  const at::Tensor x = at::full({1, 4}, 1000.0).to(at::kHalf);
  const auto [y, rstd] = npu_rms_norm(x, at::ones({4}).to(at::kHalf), 1e-6);
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  expect_near(y, Numbers(4, 1.0), 1e-3);
  expect_near(rstd, Numbers{1e-3}, 1e-7);
}

TEST(RmsNorm, GradientsAgreeAndThatOfGammaIsReduced) {
  const at::Tensor x = random({2, 3, 4}, 9, -2, 2);
  const at::Tensor gamma = random({4}, 10);
  const auto function = [](const std::vector<at::Tensor>& in) {
    return std::get<0>(npu_rms_norm(in[0], in[1], 1e-6));
  };
  expect_autograd_follows_differences(function, {x, gamma});

  const at::Tensor grad = random({2, 3, 4}, 11);
  const auto wanted = autograd_of(function, {x, gamma}, grad);
  const at::Tensor rstd = at::rsqrt(x.square().mean(-1, true) + 1e-6);
  const auto [dx, dgamma] = npu_rms_norm_backward(grad, x, gamma, rstd);
  EXPECT_EQ(dgamma.sizes(), gamma.sizes());
  expect_near(dx, wanted[0], 1e-13);
  expect_near(dgamma, wanted[1], 1e-13);
}

TEST(RmsNorm, RefusesAGammaThatDoesNotFit) {
  EXPECT_THAT(message_of([] { npu_rms_norm(random({4}, 1), random({3, 4}, 1), 1e-6); }),
              testing::HasSubstr("does not fit x of shape [4]"));
}

struct GroupNumbers {
  Numbers y, mean, rstd;
};

// gamma and beta may be undefined.
GroupNumbers group_numbers(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta,
                           std::int64_t group, double eps) {
  const Numbers in = numbers(x);
  const std::size_t channels = size(x.size(1));
  const std::size_t area = in.size() / size(x.size(0)) / channels;
  const std::size_t count = channels / size(group) * area;
  GroupNumbers result;
  for (std::size_t first = 0; first < in.size(); first += count) {
    const Moments m = moments(in, first, count);
    result.mean.push_back(m.mean);
    result.rstd.push_back(1 / std::sqrt(m.variance + eps));
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t channel = i / area % channels;
      double y = (in[i] - m.mean) * result.rstd.back();
      if (gamma.defined()) y *= numbers(gamma)[channel];
      if (beta.defined()) y += numbers(beta)[channel];
      result.y.push_back(y / (1 + std::exp(-y)));
    }
  }
  return result;
}

TEST(GroupNormSilu, TakesAnyNumberOfDimensions) {
  const at::Tensor gamma = random({6}, 12);
  const at::Tensor beta = random({6}, 13);
  for (const auto& shape :
       {std::vector<std::int64_t>{2, 6}, std::vector<std::int64_t>{2, 6, 5},
        std::vector<std::int64_t>{2, 6, 4, 5}, std::vector<std::int64_t>{3, 6, 2, 3, 2}}) {
    SCOPED_TRACE(testing::Message() << shape.size() << " dimensions");
    const at::Tensor x = random(shape, 14, -2, 2);
    const auto [y, mean, rstd] = npu_group_norm_silu(x, gamma, beta, 3, 1e-4);
    const GroupNumbers wanted = group_numbers(x, gamma, beta, 3, 1e-4);
    EXPECT_EQ(y.sizes(), x.sizes());
    EXPECT_EQ(mean.sizes(), (at::IntArrayRef{shape[0], 3}));
    expect_near(y, wanted.y, 1e-12);
    expect_near(mean, wanted.mean, 1e-14);
    expect_near(rstd, wanted.rstd, 1e-12);
  }
}

TEST(GroupNormSilu, WeightAndBiasMayBeAbsent) {
  const at::Tensor x = random({2, 4, 3}, 15);
  expect_near(std::get<0>(npu_group_norm_silu(x, {}, {}, 2, 1e-5)),
              group_numbers(x, {}, {}, 2, 1e-5).y, 1e-12);
}

TEST(GroupNormSilu, KeepsTheDtypeOfItsInput) {
  const at::Tensor x = random({2, 4, 3, 3}, 16).to(at::kBFloat16);
  const at::Tensor gamma = random({4}, 17).to(at::kBFloat16);
  const auto [y, mean, rstd] = npu_group_norm_silu(x, gamma, gamma, 2, 1e-5);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_EQ(mean.scalar_type(), at::kBFloat16);
  expect_near(y, group_numbers(x, gamma, gamma, 2, 1e-5).y, 1e-2);
}

TEST(GroupNormSilu, AutogradFollowsDifferencesThroughEveryOutput) {
  const std::vector<at::Tensor> inputs = {random({2, 4, 3}, 18), random({4}, 19), random({4}, 20)};
  expect_autograd_follows_differences(
      [](const auto& in) { return std::get<0>(npu_group_norm_silu(in[0], in[1], in[2], 2, 1e-3)); },
      inputs);
  expect_autograd_follows_differences(
      [](const auto& in) {
        const auto [y, mean, rstd] = npu_group_norm_silu(in[0], {}, {}, 2, 1e-3);
        return at::cat({y.flatten(), mean.flatten(), rstd.flatten()});
      },
      {inputs[0]});
}

TEST(GroupNormSilu, RefusesChannelsThatDoNotSplit) {
  EXPECT_THAT(message_of([] { npu_group_norm_silu(random({2, 5, 3}, 1), {}, {}, 2, 1e-5); }),
              testing::HasSubstr("5 channels cannot be split into 2 groups"));
}

TEST(Norms, AddRmsNormIsTheNormOfTheSum) {
  const at::Tensor x1 = random({3, 8}, 31);
  const at::Tensor x2 = random({3, 8}, 32);
  const at::Tensor gamma = random({8}, 33);
  const auto [y, rstd, x] = npu_add_rms_norm(x1, x2, gamma, 1e-6);
  const Numbers a = numbers(x1);
  const Numbers b = numbers(x2);
  Numbers wanted;
  for (std::size_t row = 0; row < 3; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 8; ++i) squares += std::pow(a[8 * row + i] + b[8 * row + i], 2);
    const double inverse = 1 / std::sqrt(squares / 8 + 1e-6);
    EXPECT_NEAR(rstd[static_cast<std::int64_t>(row)].item<double>(), inverse, 1e-12);
    for (std::size_t i = 0; i < 8; ++i) {
      wanted.push_back((a[8 * row + i] + b[8 * row + i]) * inverse * numbers(gamma)[i]);
    }
  }
  expect_near(y, wanted, 1e-13);
  EXPECT_TRUE(x.equal(x1 + x2));
  const auto half = npu_add_rms_norm(x1.to(at::kHalf), x2.to(at::kHalf), gamma.to(at::kHalf), 1e-6);
  EXPECT_EQ(std::get<0>(half).scalar_type(), at::kHalf);
  EXPECT_EQ(std::get<1>(half).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace msprobe::execute::npu
