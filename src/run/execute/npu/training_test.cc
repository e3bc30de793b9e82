// SPDX-License-Identifier: Apache-2.0
// The loss, the choice of experts and the scores of keys against loops, and their gradients against
// differences.
#include "execute/npu/gating.h"
#include "execute/npu/infer_attention.h"
#include "execute/npu/losses.h"
#include "execute/npu/numbers_for_test.h"
#include "execute/npu/sparse_attention.h"

namespace msprobe::execute::npu {
namespace {

const at::Tensor& targets() {
  static const at::Tensor kTargets = at::tensor({3, 0, 2, 3, 1}, at::kLong);
  return kTargets;
}

CrossEntropy smoothed(const std::string& reduction) {
  return {.weight = random({4}, 5, 0.5, 2),
          .reduction = reduction,
          .ignore_index = 2,
          .label_smoothing = 0.1};
}

TEST(CrossEntropyLoss, IsThatOfALoop) {
  const at::Tensor input = random({5, 4}, 1, -3, 3);
  const CrossEntropy options = smoothed("mean");
  const Numbers x = numbers(input);
  const Numbers w = numbers(options.weight);
  double loss = 0;
  double weights = 0;
  for (std::size_t row = 0; row < 5; ++row) {
    const auto target = size(targets()[static_cast<std::int64_t>(row)].item<std::int64_t>());
    if (target == 2) continue;
    double sum = 0;
    for (std::size_t c = 0; c < 4; ++c) sum += std::exp(x[row * 4 + c]);
    double smooth = 0;
    for (std::size_t c = 0; c < 4; ++c) smooth -= w[c] * (x[row * 4 + c] - std::log(sum));
    loss += 0.9 * w[target] * (std::log(sum) - x[row * 4 + target]) + 0.1 / 4 * smooth;
    weights += w[target];
  }
  expect_near(std::get<0>(npu_cross_entropy_loss(input, targets(), options)),
              Numbers{loss / weights}, 1e-12);
}

TEST(CrossEntropyLoss, GradientFollowsDifferences) {
  for (const char* reduction : {"mean", "sum", "none"}) {
    expect_autograd_follows_differences(
        [&](const std::vector<at::Tensor>& in) {
          return std::get<0>(npu_cross_entropy_loss(in[0], targets(), smoothed(reduction)));
        },
        {random({5, 4}, 2, -3, 3)});
  }
}

TEST(CrossEntropyLoss, ANegativeIndexIgnoresNothing) {
  const at::Tensor input = random({2, 4}, 3);
  const at::Tensor target = at::tensor({1, 3}, at::kLong);
  const auto loss = [&](std::int64_t ignored) {
    return std::get<0>(npu_cross_entropy_loss(input, target, {.ignore_index = ignored}))
        .item<double>();
  };
  EXPECT_EQ(loss(-100), loss(-1));
  EXPECT_NE(loss(-100), loss(3));
}

Gating grouped_gating(bool sigmoid) {
  return {.k = 3,
          .bias = random({12}, 7, -0.2, 0.2),
          .kept_groups = 2,
          .groups = 4,
          .by_two_best = true,
          .sigmoid = sigmoid,
          .factor = 2.5};
}

TEST(GatingTopK, ChoosesInTheBestGroupsOnly) {
  const at::Tensor x = random({33, 12}, 6, -2, 2);
  const GatingScores scores = gating_scores(x, grouped_gating(true));
  const at::Tensor experts = chosen_experts(scores.choice, 3);
  const at::Tensor biased = at::sigmoid(x) + grouped_gating(true).bias;
  for (std::int64_t row = 0; row < 33; ++row) {
    std::vector<std::pair<double, std::int64_t>> groups;
    for (std::int64_t g = 0; g < 4; ++g) {
      const at::Tensor best = std::get<0>(biased[row].narrow(0, 3 * g, 3).sort(-1, true));
      groups.emplace_back(-(best[0] + best[1]).item<double>(), g);
    }
    std::sort(groups.begin(), groups.end());
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t group = experts[row][i].item<std::int64_t>() / 3;
      EXPECT_TRUE(group == groups[0].second || group == groups[1].second) << row;
    }
  }
}

TEST(GatingTopK, GradientFollowsDifferencesAndTheExplicitOne) {
  for (const bool sigmoid : {false, true}) {
    const Gating options = grouped_gating(sigmoid);
    const at::Tensor x = random({5, 12}, 8, -2, 2);
    const GatingScores scores = gating_scores(x, options);
    const at::Tensor experts = chosen_experts(scores.choice, 3);
    const Function weights = [&](const std::vector<at::Tensor>& in) {
      return gating_weights(gating_scores(in[0], options).weights, experts, options);
    };
    expect_autograd_follows_differences(weights, {x});
    const at::Tensor dy = random({5, 3}, 9);
    expect_near(gating_backward(scores.weights, dy, experts, options),
                autograd_of(weights, {x}, dy)[0], 1e-12);
  }
}

TEST(IndexerScores, GradientFollowsDifferences) {
  expect_autograd_follows_differences(
      [](const std::vector<at::Tensor>& in) { return indexer_scores(in[0], in[1], in[2]); },
      {random({1, 3, 2, 8}, 10), random({1, 1, 5, 8}, 11), random({2, 3}, 12)});
}

TEST(MaskedButChosen, BlocksEndAtTheLastKeyAndRowsAreCausal) {
  const at::Tensor masked =
      masked_but_chosen(at::tensor({0, 2, 1, -1}, at::kInt).view({2, 2}), 2, 5, true);
  // Row 0 sees keys 0 to 3, of which blocks 0 and 2 have 0 and 1; row 1 sees all of block 1.
  expect_near(masked,
              at::tensor({0., 0., 1., 1., 1., 1., 1., 0., 0., 1.}, at::kDouble).view({2, 5}), 0);
}

TEST(Paged, KeysOfPagesAreThoseOfTheSequence) {
  const at::Tensor keys = random({1, 2, 11, 4}, 13);  // (1, heads, positions, D)
  const at::Tensor table = at::tensor({3, 0, 2}, at::kLong);
  at::Tensor cache = at::zeros({5, 2, 4, 4}, at::kDouble);
  for (std::int64_t p = 0; p < 11; ++p)
    cache[table[p / 4].item<std::int64_t>()].select(1, p % 4).copy_(keys[0].select(1, p));
  expect_near(paged(cache, table, 11, 2), keys, 0);
  expect_near(paged(cache.permute({0, 2, 1, 3}).flatten(2), table, 11, 2), keys, 0);
  const at::Tensor nz = cache.unflatten(3, {2, 2}).permute({0, 1, 3, 2, 4});
  expect_near(paged(nz, table, 11, 2), keys, 0);
}

}  // namespace
}  // namespace msprobe::execute::npu
