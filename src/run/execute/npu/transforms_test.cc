// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/transforms.h"

#include <array>

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

// A (2, 3, 4) block read in the order of the dimensions (2, 0, 1).
Numbers permuted_201(const Numbers& in) {
  Numbers out;
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 3; ++j) out.push_back(in[(i * 3 + j) * 4 + k]);
    }
  }
  return out;
}

TEST(ConfusionTranspose, PermutesThenViews) {
  const at::Tensor x = random({2, 3, 4}, 1);
  const at::Tensor y = npu_confusion_transpose(x, {2, 0, 1}, {8, 3}, true);
  EXPECT_EQ(y.sizes(), (at::IntArrayRef{8, 3}));
  EXPECT_EQ(numbers(y), permuted_201(numbers(x)));
}

TEST(ConfusionTranspose, ViewsThenPermutes) {
  const at::Tensor x = random({6, 4}, 2);
  const at::Tensor y = npu_confusion_transpose(x, {2, 0, 1}, {2, 3, 4}, false);
  EXPECT_EQ(y.sizes(), (at::IntArrayRef{4, 2, 3}));
  EXPECT_EQ(numbers(y), permuted_201(numbers(x)));
}

TEST(ConfusionTranspose, GradientsAgree) {
  struct Case {
    std::vector<std::int64_t> data, perm, shape;
    bool first;
  };
  for (const Case& c :
       {Case{{2, 3, 4}, {2, 0, 1}, {8, 3}, true}, Case{{6, 4}, {2, 0, 1}, {2, 3, 4}, false},
        Case{{2, 3, 4}, {-1, 0, 1}, {24}, true}, Case{{2, 3, 2, 2}, {0, 2, 1, 3}, {2, 2, 6}, true},
        Case{{2, 2, 6}, {0, 2, 1, 3}, {2, 2, 3, 2}, false}}) {
    const at::Tensor x = random(c.data, 3);
    const auto function = [&](const std::vector<at::Tensor>& in) {
      return npu_confusion_transpose(in[0], c.perm, c.shape, c.first);
    };
    expect_autograd_follows_differences(function, {x});
    const at::Tensor grad = random(function({x}).sizes(), 4);
    expect_near(npu_confusion_transpose_backward(grad, c.perm, c.data, c.first),
                autograd_of(function, {x}, grad)[0], 0);
  }
}

// rotary_mul of numbers that are already broadcast to x's shape.
Numbers rotary_numbers(const at::Tensor& x, const at::Tensor& r1, const at::Tensor& r2,
                       bool interleave) {
  const Numbers in = numbers(x);
  const Numbers c = numbers(r1.expand_as(x));
  const Numbers s = numbers(r2.expand_as(x));
  const std::size_t width = size(x.size(-1));
  Numbers out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t at_column = i % width;
    double partner = 0;
    if (interleave) {
      partner = at_column % 2 == 0 ? -in[i + 1] : in[i - 1];
    } else {
      partner = at_column < width / 2 ? -in[i + width / 2] : in[i - width / 2];
    }
    out.push_back(c[i] * in[i] + s[i] * partner);
  }
  return out;
}

constexpr std::array<std::array<std::int64_t, 4>, 5> kRotaryShapes = {
    {{1, 3, 1, 6}, {1, 1, 4, 6}, {2, 1, 1, 6}, {2, 3, 4, 6}, {1, 1, 1, 6}}};

TEST(RotaryMul, BroadcastsEveryShapeOfItsFactors) {
  const at::Tensor x = random({2, 3, 4, 6}, 5);
  for (const auto& shape : kRotaryShapes) {
    const at::Tensor r1 = random(shape, 6);
    const at::Tensor r2 = random(shape, 7);
    for (const bool interleave : {false, true}) {
      expect_near(npu_rotary_mul(x, r1, r2, {interleave ? "interleave" : "half"}),
                  rotary_numbers(x, r1, r2, interleave), 1e-14);
    }
  }
}

TEST(RotaryMul, HalfTypesAreRoundedOnce) {
  const at::Tensor x = random({2, 3, 4, 6}, 5).to(at::kBFloat16);
  const at::Tensor r1 = random({1, 3, 1, 6}, 6).to(at::kBFloat16);
  const at::Tensor r2 = random({1, 3, 1, 6}, 7).to(at::kBFloat16);
  const at::Tensor y = npu_rotary_mul(x, r1, r2, {"half"});
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  expect_near(y, rotary_numbers(x, r1, r2, false), 0x1p-8);
  EXPECT_EQ(std::get<1>(npu_rotary_mul_backward(y, x, r1, r2, {"half"})).scalar_type(),
            at::kBFloat16);
}

TEST(RotaryMul, GradientsAgreeForEveryShape) {
  const at::Tensor x = random({2, 3, 4, 6}, 8);
  const at::Tensor grad = random({2, 3, 4, 6}, 9);
  for (const auto& shape : kRotaryShapes) {
    const at::Tensor r1 = random(shape, 10);
    const at::Tensor r2 = random(shape, 11);
    for (const char* mode : {"half", "interleave"}) {
      const auto function = [&](const std::vector<at::Tensor>& in) {
        return npu_rotary_mul(in[0], in[1], in[2], {mode});
      };
      expect_autograd_follows_differences(function, {x, r1, r2});
      const auto wanted = autograd_of(function, {x, r1, r2}, grad);
      const auto [dx, dr1, dr2] = npu_rotary_mul_backward(grad, x, r1, r2, {mode});
      expect_near(dx, wanted[0], 1e-14);
      expect_near(dr1, wanted[1], 1e-14);
      expect_near(dr2, wanted[2], 1e-14);
    }
  }
}

TEST(RotaryMul, RefusesAnOddSizeAndAnUnknownMode) {
  const at::Tensor odd = random({2, 3}, 1);
  EXPECT_THAT(message_of([&] { npu_rotary_mul(odd, odd, odd, {"half"}); }),
              testing::HasSubstr("needs an even last dimension"));
  const at::Tensor even = random({2, 4}, 1);
  EXPECT_THAT(message_of([&] { npu_rotary_mul(even, even, even, {"quarter"}); }),
              testing::HasSubstr("rotary_mode 'quarter'"));
}

// The vendor's own example of `rotate`: the matrix of mode "half" gives what the mode gives.
TEST(RotaryMul, AMatrixRotatesToo) {
  const std::int64_t half = 3;
  const at::Tensor x = random({2, 4, 2 * half}, 1);
  const at::Tensor r1 = random({1, 4, 2 * half}, 2);
  const at::Tensor r2 = random({1, 4, 2 * half}, 3);
  at::Tensor matrix = at::zeros({2 * half, 2 * half}, at::kDouble);
  for (std::int64_t i = 0; i < half; ++i) {
    matrix[i][half + i] = 1;
    matrix[half + i][i] = -1;
  }
  const Rotation by_matrix{"half", matrix};
  expect_near(npu_rotary_mul(x, r1, r2, by_matrix), npu_rotary_mul(x, r1, r2, {"half"}), 1e-14);
  const at::Tensor grad = random(x.sizes(), 4);
  const auto [dx, dr1, dr2] = npu_rotary_mul_backward(grad, x, r1, r2, by_matrix);
  const auto [wanted_x, wanted_r1, wanted_r2] = npu_rotary_mul_backward(grad, x, r1, r2, {"half"});
  expect_near(dx, wanted_x, 1e-14);
  expect_near(dr1, wanted_r1, 1e-14);
  expect_near(dr2, wanted_r2, 1e-14);
  const Rotation any{"half", random({2 * half, 2 * half}, 5)};
  expect_autograd_follows_differences(
      [&](const std::vector<at::Tensor>& in) { return npu_rotary_mul(in[0], r1, r2, any); }, {x});
}

// The rows of x times the rows of weight.
Numbers linear_numbers(const at::Tensor& x, const at::Tensor& weight, const Numbers& bias) {
  const Numbers in = numbers(x);
  const Numbers w = numbers(weight);
  const std::size_t inner = size(x.size(-1));
  const std::size_t outer = w.size() / inner;
  Numbers out;
  for (std::size_t row = 0; row < in.size() / inner; ++row) {
    for (std::size_t o = 0; o < outer; ++o) {
      double sum = bias.empty() ? 0 : bias[o];
      for (std::size_t i = 0; i < inner; ++i) sum += in[row * inner + i] * w[o * inner + i];
      out.push_back(sum);
    }
  }
  return out;
}

TEST(Linear, WithAndWithoutBias) {
  const at::Tensor weight = random({3, 5}, 12);
  const at::Tensor bias = random({3}, 13);
  for (const auto& shape : {std::vector<std::int64_t>{4, 5}, std::vector<std::int64_t>{2, 3, 5},
                            std::vector<std::int64_t>{5}}) {
    const at::Tensor x = random(shape, 14);
    expect_near(npu_linear(x, weight, {}), linear_numbers(x, weight, {}), 1e-14);
    expect_near(npu_linear(x, weight, bias), linear_numbers(x, weight, numbers(bias)), 1e-14);
  }
}

TEST(Linear, GradientsAgree) {
  const at::Tensor weight = random({3, 5}, 15);
  for (const auto& shape : {std::vector<std::int64_t>{4, 5}, std::vector<std::int64_t>{2, 3, 5}}) {
    const at::Tensor x = random(shape, 16);
    expect_autograd_follows_differences(
        [](const auto& in) { return npu_linear(in[0], in[1], in[2]); },
        {x, weight, random({3}, 17)});
    const at::Tensor grad = random(npu_linear(x, weight, {}).sizes(), 18);
    const auto wanted =
        autograd_of([](const auto& in) { return npu_linear(in[0], in[1], {}); }, {x, weight}, grad);
    const auto [dx, dweight] = npu_linear_backward(grad, x, weight);
    expect_near(dx, wanted[0], 1e-14);
    expect_near(dweight, wanted[1], 1e-14);
  }
}

TEST(MatmulGradients, EveryCombinationOfRanks) {
  struct Case {
    std::vector<std::int64_t> self, other;
  };
  const auto function = [](const std::vector<at::Tensor>& in) { return at::matmul(in[0], in[1]); };
  for (const Case& c : {Case{{4}, {4}}, Case{{4}, {4, 3}}, Case{{2, 4}, {4}}, Case{{2, 4}, {4, 3}},
                        Case{{4}, {5, 4, 3}}, Case{{5, 2, 4}, {4}}, Case{{5, 2, 4}, {4, 3}},
                        Case{{2, 4}, {5, 4, 3}}, Case{{5, 2, 4}, {5, 4, 3}},
                        Case{{5, 1, 2, 4}, {3, 4, 2}}, Case{{1, 2, 4}, {5, 4, 3}}}) {
    SCOPED_TRACE(testing::Message()
                 << at::IntArrayRef(c.self) << " x " << at::IntArrayRef(c.other));
    const at::Tensor self = random(c.self, 19);
    const at::Tensor other = random(c.other, 20);
    const at::Tensor grad = random(function({self, other}).sizes(), 21);
    const auto wanted = differences_of(function, {self, other}, grad);
    const auto [dself, dother] = matmul_gradients(grad, self, other, {true, true});
    expect_near(dself, wanted[0], 1e-8);
    expect_near(dother, wanted[1], 1e-8);
  }
}

TEST(MatmulGradients, TheMaskSelects) {
  const at::Tensor a = random({2, 3}, 22);
  const at::Tensor b = random({3, 4}, 23);
  const at::Tensor grad = random({2, 4}, 24);
  const auto [dself, nothing] = matmul_gradients(grad, a, b, {true, false});
  EXPECT_TRUE(dself.defined());
  EXPECT_FALSE(nothing.defined());
  EXPECT_EQ(message_of([&] { matmul_gradients(grad, a, b, {true}); }), "Mask size at least 2");
}

TEST(Transforms, InterleaveRopeSortsThePairsAndStaysSorted) {
  const at::Tensor x = random({2, 1, 3, 6}, 41);
  const at::Tensor cos = random({2, 1, 3, 6}, 42);
  const at::Tensor sin = random({2, 1, 1, 6}, 43);
  const Numbers in = numbers(x);
  const Numbers c = numbers(cos);
  const Numbers s = numbers(sin.expand_as(x));
  Numbers wanted;
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t at = 6 * row;
      const bool first = i < 3;
      const double value = in[at + (first ? 2 * i : 2 * (i - 3) + 1)];
      const double other = first ? -in[at + 2 * i + 1] : in[at + 2 * (i - 3)];
      wanted.push_back(value * c[at + i] + other * s[at + i]);
    }
  }
  expect_near(npu_interleave_rope(x, cos, sin), wanted, 1e-14);
}

TEST(Transforms, BmmV2KeepsDimensionsOfOneAndSumsToAShape) {
  const at::Tensor a = random({3}, 44);
  const at::Tensor b = random({3, 2}, 45);
  EXPECT_EQ(npu_bmm_v2(a, b, {}).sizes(), at::IntArrayRef({1, 2}));
  EXPECT_EQ(npu_bmm_v2(b.t(), a, {}).sizes(), at::IntArrayRef({2, 1}));
  const at::Tensor batched = random({4, 2, 3}, 46);
  const at::Tensor summed = npu_bmm_v2(batched, b, {2, 2});
  expect_near(summed, numbers(at::matmul(batched, b).sum(0)), 1e-14);
}

TEST(Transforms, TransposeBatchMatmulExchangesTheBatch) {
  const at::Tensor input = random({5, 3, 4}, 47);   // (M, B, K)
  const at::Tensor weight = random({3, 4, 2}, 48);  // (B, K, N)
  const TransposeBatchMatmul options{.perm_x1 = {1, 0, 2}};
  const at::Tensor y = npu_transpose_batchmatmul(input, weight, options);
  ASSERT_EQ(y.sizes(), at::IntArrayRef({5, 3, 2}));
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    expect_near(y.select(1, batch), numbers(at::matmul(input.select(1, batch), weight[batch])),
                1e-14);
  }
  TransposeBatchMatmul split = options;
  split.batch_split_factor = 3;
  const at::Tensor parts = npu_transpose_batchmatmul(input, weight, split);
  ASSERT_EQ(parts.sizes(), at::IntArrayRef({3, 5, 2}));
  EXPECT_TRUE(parts[1].equal(y.reshape({5, 6}).narrow(1, 2, 2)));
}

TEST(Transforms, ScatterNdUpdateWritesRowsAtIndices) {
  const at::Tensor input = at::zeros({3, 2, 2}, at::kInt);
  const at::Tensor indices = at::tensor(std::vector<std::int64_t>{2, 1, 0, 0}).reshape({2, 2});
  const at::Tensor updates =
      at::tensor(std::vector<std::int64_t>{1, 2, 3, 4}).reshape({2, 2}).to(at::kInt);
  const at::Tensor y = npu_scatter_nd_update(input, indices, updates);
  EXPECT_TRUE(y[2][1].equal(updates[0]));
  EXPECT_TRUE(y[0][0].equal(updates[1]));
  EXPECT_EQ(y.sum().item<std::int64_t>(), 10);
  EXPECT_EQ(input.sum().item<std::int64_t>(), 0);
  EXPECT_TRUE(
      npu_scatter_nd_update(input, indices.narrow(1, 0, 1), at::ones({2, 2, 2}, at::kInt))[2].equal(
          at::ones({2, 2}, at::kInt)));
}

}  // namespace
}  // namespace msprobe::execute::npu
