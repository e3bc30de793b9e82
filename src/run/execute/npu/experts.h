// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the fused NPU operators of mixtures of experts: tokens sorted by expert,
// products of groups of rows, and the way back.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// Tokens in the order of their experts (a stable sort of `indices`, flattened), and for each entry
// of `indices` the place it went to. `kept`: entries that are kept; a negative number is counted
// from the end.
std::tuple<at::Tensor, at::Tensor> npu_moe_token_permute(const at::Tensor& tokens,
                                                         const at::Tensor& indices,
                                                         c10::optional<std::int64_t> kept);

// The sum, for each token, of its rows times `probs` (may be undefined: one row each, factor 1).
// A row that was not kept counts as 0.
at::Tensor npu_moe_token_unpermute(const at::Tensor& permuted, const at::Tensor& sorted_indices,
                                   const at::Tensor& probs);

// For each expert, how many entries of the sorted list are its own or an earlier one's.
at::Tensor npu_moe_compute_expert_tokens(const at::Tensor& sorted_experts, std::int64_t experts);

// What is added for a token: tensors may be undefined.
struct FinalizeRouting {
  at::Tensor skip1 = {};
  at::Tensor skip2 = {};
  at::Tensor bias = {};    // (experts, H)
  at::Tensor scales = {};  // (tokens, K)
  at::Tensor expert = {};  // (tokens, K): whose bias
  std::int64_t drop_pad_mode = 0;
};

// `places`: of each row in `rows`, -1 for a row that was dropped. Modes 0 and 1 list them column by
// column, 2 and 3 row by row.
at::Tensor npu_moe_finalize_routing(const at::Tensor& rows, const at::Tensor& places,
                                    const FinalizeRouting& options);

// Where the groups of rows (or of the summed dimension) end.
std::vector<std::int64_t> group_ends(const at::Tensor& list, std::int64_t list_type);

// How npu_grouped_matmul cuts its operands.
enum class GroupedBy : std::int8_t {
  kList = -1,  // one product for each pair of the lists
  kRows = 0,   // y[rows of g] = x[rows of g] @ weight[g]
  kSummed = 2  // y[g] = x[:, columns of g] @ weight[rows of g]
};

struct GroupedMatmul {
  std::vector<at::Tensor> x;
  std::vector<at::Tensor> weight;
  std::vector<at::Tensor> bias;  // empty: none
  std::vector<std::int64_t> ends;
  GroupedBy by = GroupedBy::kList;
  bool one_result = false;  // the rows of all groups in one tensor
};

// Rows behind the last group are not defined and are zero here.
std::vector<at::Tensor> npu_grouped_matmul(const GroupedMatmul& operands);

}  // namespace msprobe::execute::npu
