// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/experts.h"

#include <gmock/gmock.h>

#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

at::Tensor integers(std::vector<std::int64_t> values, at::IntArrayRef shape) {
  return at::tensor(values).reshape(shape);
}

std::vector<std::int64_t> listed(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.to(at::kLong).contiguous();
  const auto* data = plain.data_ptr<std::int64_t>();
  return {data, data + plain.numel()};
}

TEST(Experts, TokensAreSortedByExpertAndKeepTheirOrderInside) {
  const at::Tensor tokens = integers({10, 11, 20, 21, 30, 31}, {3, 2}).to(at::kFloat);
  const at::Tensor indices = integers({1, 0, 1, 2, 0, 1}, {3, 2});
  const auto [permuted, went_to] = npu_moe_token_permute(tokens, indices, c10::nullopt);
  // Expert 0: entries 1 and 4; expert 1: entries 0, 2, 5; expert 2: entry 3.
  EXPECT_THAT(listed(went_to), ElementsAre(2, 0, 3, 5, 1, 4));
  EXPECT_THAT(listed(permuted.select(1, 0)), ElementsAre(10, 30, 10, 20, 30, 20));
  EXPECT_EQ(went_to.scalar_type(), at::kInt);
  EXPECT_EQ(std::get<0>(npu_moe_token_permute(tokens, indices, 4)).size(0), 4);
  EXPECT_EQ(std::get<0>(npu_moe_token_permute(tokens, indices, 9)).size(0), 6);
  EXPECT_EQ(std::get<0>(npu_moe_token_permute(tokens, indices, -1)).size(0), 5);
  EXPECT_EQ(std::get<1>(npu_moe_token_permute(tokens, indices, -1)).numel(), 6);
}

TEST(Experts, UnpermuteIsTheWeightedSumOfATokensRows) {
  const at::Tensor tokens = random({4, 3}, 1);
  const at::Tensor indices = integers({2, 0, 1, 1, 0, 2, 2, 1}, {4, 2});
  const at::Tensor probs = random({4, 2}, 2, 0, 1);
  const auto [permuted, places] = npu_moe_token_permute(tokens, indices, 7);
  const at::Tensor out = npu_moe_token_unpermute(permuted, places, probs);
  const Numbers in = numbers(permuted);
  const Numbers weights = numbers(probs);
  const std::vector<std::int64_t> went_to = listed(places);
  Numbers wanted(12);
  for (std::size_t entry = 0; entry < 8; ++entry) {
    const std::size_t row = size(went_to[entry]);
    for (std::size_t h = 0; h < 3 && row < 7; ++h) {  // the last row was not kept
      wanted[entry / 2 * 3 + h] += weights[entry] * in[row * 3 + h];
    }
  }
  expect_near(out, wanted, 1e-14);
  // Without probabilities it undoes the permutation.
  const at::Tensor one_each = integers({2, 0, 1, 0}, {4});
  const auto [sorted, back] = npu_moe_token_permute(tokens, one_each, c10::nullopt);
  EXPECT_TRUE(npu_moe_token_unpermute(sorted, back, {}).equal(tokens));
}

TEST(Experts, PermuteAndUnpermuteHaveTheirGradients) {
  const at::Tensor indices = integers({1, 0, 0, 1, 1, 0}, {3, 2});
  expect_autograd_follows_differences(
      [&](const std::vector<at::Tensor>& in) {
        return std::get<0>(npu_moe_token_permute(in[0], indices, 5));
      },
      {random({3, 2}, 3)});
  const auto [rows, places] = npu_moe_token_permute(random({3, 2}, 4), indices, c10::nullopt);
  const at::Tensor went_to = places;
  expect_autograd_follows_differences(
      [&](const std::vector<at::Tensor>& in) {
        return npu_moe_token_unpermute(in[0], went_to, in[1]);
      },
      {rows, random({3, 2}, 5)});
}

TEST(Experts, ExpertTokensAreCumulative) {
  const at::Tensor sorted = integers({0, 0, 2, 2, 2, 4}, {6}).to(at::kInt);
  const at::Tensor counts = npu_moe_compute_expert_tokens(sorted, 5);
  EXPECT_THAT(listed(counts), ElementsAre(2, 2, 5, 5, 6));
  EXPECT_EQ(counts.scalar_type(), at::kInt);
}

TEST(Experts, FinalizeAddsSkipsAndScaledRowsWithTheirBias) {
  const at::Tensor rows = random({4, 3}, 6);
  const at::Tensor bias = random({2, 3}, 7);
  const at::Tensor scales = random({2, 2}, 8);
  const at::Tensor skip = random({2, 3}, 9);
  const at::Tensor expert = integers({0, 1, 1, 0}, {2, 2});
  const std::vector<std::int64_t> by_row = {3, 0, -1, 2};
  const Numbers in = numbers(rows);
  Numbers wanted = numbers(skip);
  for (std::size_t token = 0; token < 2; ++token) {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::int64_t place = by_row[2 * token + k];
      const auto whose = size(listed(expert)[2 * token + k]);
      for (std::size_t h = 0; h < 3; ++h) {
        const double row = place < 0 ? 0 : in[size(place) * 3 + h];
        wanted[token * 3 + h] +=
            numbers(scales)[2 * token + k] * (row + numbers(bias)[whose * 3 + h]);
      }
    }
  }
  FinalizeRouting options{.skip1 = skip, .bias = bias, .scales = scales, .expert = expert};
  options.drop_pad_mode = 2;
  expect_near(npu_moe_finalize_routing(rows, integers(by_row, {4}), options), wanted, 1e-14);
  options.drop_pad_mode = 0;  // column by column
  expect_near(npu_moe_finalize_routing(rows, integers({3, -1, 0, 2}, {4}), options), wanted, 1e-14);
}

TEST(Experts, GroupsAreEndsCountsOrPairs) {
  EXPECT_THAT(group_ends(integers({2, 2, 5}, {3}), 0), ElementsAre(2, 2, 5));
  EXPECT_THAT(group_ends(integers({2, 0, 3}, {3}), 1), ElementsAre(2, 2, 5));
  EXPECT_THAT(group_ends(integers({0, 2, 2, 3, 0, 0}, {3, 2}), 2), ElementsAre(2, 2, 5));
}

Numbers product_of_loops(const at::Tensor& x, const at::Tensor& weight) {
  const Numbers a = numbers(x);
  const Numbers b = numbers(weight);
  const auto rows = size(x.size(0));
  const auto depth = size(x.size(1));
  const auto columns = size(weight.size(1));
  Numbers result(rows * columns);
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t n = 0; n < columns; ++n) {
        result[m * columns + n] += a[m * depth + k] * b[k * columns + n];
      }
    }
  }
  return result;
}

TEST(Experts, GroupedProductsOfRowsMayHaveEmptyGroupsAndLeaveRowsOver) {
  const at::Tensor x = random({7, 4}, 10);
  const at::Tensor weight = random({3, 4, 5}, 11);
  const at::Tensor bias = random({3, 5}, 12);
  GroupedMatmul operands{
      .x = {x}, .weight = {weight}, .bias = {bias}, .ends = {2, 2, 6}, .by = GroupedBy::kRows};
  operands.one_result = true;
  const at::Tensor y = npu_grouped_matmul(operands)[0];
  ASSERT_EQ(y.size(0), 7);
  for (const auto& [first, count, group] : {std::tuple{0, 2, 0}, std::tuple{2, 4, 2}}) {
    Numbers wanted = product_of_loops(x.narrow(0, first, count), weight[group]);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += numbers(bias[group])[i % 5];
    expect_near(y.narrow(0, first, count), wanted, 1e-14);
  }
  EXPECT_EQ(y[6].abs().sum().item<double>(), 0);
  operands.one_result = false;
  EXPECT_EQ(npu_grouped_matmul(operands).size(), 3U);
  // Weights as a list are the same.
  operands.weight = {weight[0], weight[1], weight[2]};
  operands.bias = {bias[0], bias[1], bias[2]};
  operands.one_result = true;
  EXPECT_TRUE(npu_grouped_matmul(operands)[0].equal(y));
}

TEST(Experts, GroupedProductsOfPartsOfTheSum) {
  const at::Tensor x = random({6, 4}, 13).t();
  const at::Tensor weight = random({6, 5}, 14);
  const GroupedMatmul operands{.x = {x},
                               .weight = {weight},
                               .bias = {},
                               .ends = {2, 2, 6},
                               .by = GroupedBy::kSummed,
                               .one_result = true};
  const at::Tensor y = npu_grouped_matmul(operands)[0];
  EXPECT_EQ(y.sizes(), at::IntArrayRef({3, 4, 5}));
  expect_near(y[0], product_of_loops(x.narrow(1, 0, 2), weight.narrow(0, 0, 2)), 1e-14);
  EXPECT_EQ(y[1].abs().sum().item<double>(), 0);
  expect_near(y[2], product_of_loops(x.narrow(1, 2, 4), weight.narrow(0, 2, 4)), 1e-14);
}

TEST(Experts, ProductsOfListsAndGroupsThatDoNotFit) {
  const at::Tensor a = random({2, 3}, 15);
  const at::Tensor b = random({3, 4}, 16);
  const GroupedMatmul lists{.x = {a, a}, .weight = {b, b * 2}, .bias = {}, .ends = {}};
  const auto results = npu_grouped_matmul(lists);
  ASSERT_EQ(results.size(), 2U);
  expect_near(results[1], numbers(results[0] * 2), 1e-14);
  GroupedMatmul wrong{.x = {a}, .weight = {b}, .bias = {}, .ends = {3}, .by = GroupedBy::kRows};
  EXPECT_THAT(message_of([&] { npu_grouped_matmul(wrong); }), HasSubstr("a group ends at 3"));
}

}  // namespace
}  // namespace msprobe::execute::npu
