// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/routing.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

struct Routes {
  Numbers weight, expert, row;
};

Routes routes(const at::Tensor& x, const std::vector<bool>& finished, std::size_t k) {
  const Numbers in = numbers(x);
  const auto experts = static_cast<std::size_t>(x.size(-1));
  const std::size_t rows = in.size() / experts;
  Routes result;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t e = 0; e < experts; ++e) sum += std::exp(in[i * experts + e]);
    std::vector<std::size_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return in[i * experts + a] > in[i * experts + b];
    });
    for (std::size_t j = 0; j < k; ++j) {
      result.weight.push_back(std::exp(in[i * experts + order[j]]) / sum);
      result.expert.push_back(static_cast<double>(finished[i] ? experts : order[j]));
      result.row.push_back(static_cast<double>(j * rows + i));
    }
  }
  return result;
}

void expect_routes(const at::Tensor& x, const at::Tensor& finished, std::int64_t k,
                   double tolerance) {
  const auto [weight, expert, row] = npu_moe_gating_top_k_softmax(x, finished, k);
  const std::int64_t rows = x.numel() / x.size(-1);
  std::vector<bool> flags(static_cast<std::size_t>(rows), false);
  if (finished.defined()) {
    const Numbers given = numbers(finished);
    std::transform(given.begin(), given.end(), flags.begin(),
                   [](double flag) { return flag != 0; });
  }
  const Routes wanted = routes(x, flags, static_cast<std::size_t>(k));
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = k;
  EXPECT_EQ(weight.sizes(), shape);
  EXPECT_EQ(weight.scalar_type(), x.scalar_type());
  EXPECT_EQ(expert.sizes(), shape);
  EXPECT_EQ(expert.scalar_type(), at::kLong);
  EXPECT_EQ(row.sizes(), shape);
  expect_near(weight, wanted.weight, tolerance);
  EXPECT_EQ(numbers(expert), wanted.expert);
  EXPECT_EQ(numbers(row), wanted.row);
}

TEST(MoeGating, RoutesEachRowToItsLargestExperts) {
  for (const std::int64_t k : {1, 3, 8}) expect_routes(random({5, 8}, 1, -4, 4), {}, k, 1e-14);
}

TEST(MoeGating, TakesAnyNumberOfDimensions) {
  expect_routes(random({8}, 2), {}, 2, 1e-14);
  expect_routes(random({2, 3, 8}, 3, -4, 4), {}, 4, 1e-14);
  expect_routes(random({2, 3, 2, 5}, 4, -4, 4), random({2, 3, 2}, 5) > 0, 2, 1e-14);
}

TEST(MoeGating, FinishedRowsGoToNoExpert) {
  expect_routes(random({6, 4}, 6), random({6}, 7) > 0, 2, 1e-14);
  expect_routes(random({6, 4}, 6), at::ones({6}, at::kBool), 4, 1e-14);
}

TEST(MoeGating, TiesKeepTheOrderOfTheExperts) {
  const at::Tensor x = at::tensor({1.0, 2.0, 1.0, 2.0}, at::kDouble).reshape({1, 4});
  EXPECT_EQ(numbers(std::get<1>(npu_moe_gating_top_k_softmax(x, {}, 4))), (Numbers{1, 3, 0, 2}));
}

TEST(MoeGating, RoutesHalfTypesLikeTheirRaisedValues) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    expect_routes(random({16, 32}, 8, -4, 4).to(dtype), {}, 8, 4e-3);
  }
}

TEST(MoeGating, AutogradFollowsDifferences) {
  expect_autograd_follows_differences(
      [](const auto& in) { return std::get<0>(npu_moe_gating_top_k_softmax(in[0], {}, 2)); },
      {random({3, 5}, 9, -2, 2)});
}

TEST(MoeGating, RefusesMoreThanAllExperts) {
  EXPECT_THAT(message_of([] { npu_moe_gating_top_k_softmax(random({2, 4}, 1), {}, 5); }),
              testing::HasSubstr("k is 5 of 4 experts"));
}

TEST(SortV2, SortsAlongAnyDimension) {
  const at::Tensor x = random({3, 4}, 10);
  const Numbers in = numbers(x);
  Numbers rows = in;
  for (auto row = rows.begin(); row != rows.end(); row += 4) std::sort(row, row + 4);
  EXPECT_EQ(numbers(npu_sort_v2(x, -1, false)), rows);
  for (auto row = rows.begin(); row != rows.end(); row += 4) std::reverse(row, row + 4);
  EXPECT_EQ(numbers(npu_sort_v2(x, 1, true)), rows);

  Numbers column = {in[0], in[4], in[8]};
  std::ranges::sort(column);
  EXPECT_EQ(numbers(npu_sort_v2(x, 0, false).select(1, 0)), column);
}

TEST(SortV2, AutogradFollowsDifferences) {
  expect_autograd_follows_differences([](const auto& in) { return npu_sort_v2(in[0], 0, true); },
                                      {random({4, 3}, 11)});
}

}  // namespace
}  // namespace msprobe::execute::npu
