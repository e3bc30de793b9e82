// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/experts.h"

#include <algorithm>

#include "execute/npu/compute_dtype.h"

namespace msprobe::execute::npu {
namespace {

std::int64_t kept_entries(c10::optional<std::int64_t> kept, std::int64_t entries) {
  if (!kept || *kept == 0) return entries;
  return *kept > 0 ? std::min(*kept, entries) : std::max<std::int64_t>(entries + *kept, 0);
}

// Rows of `rows` at `places`; a place outside of them gives zeros.
at::Tensor rows_at(const at::Tensor& rows, const at::Tensor& places) {
  const at::Tensor is_there = (places >= 0).logical_and(places < rows.size(0));
  if (rows.size(0) == 0) {
    return at::zeros({places.numel(), rows.size(1)}, rows.options());
  }
  const at::Tensor found = rows.index_select(0, places.clamp(0, rows.size(0) - 1));
  return at::where(is_there.unsqueeze(-1), found, at::zeros({}, rows.options()));
}

at::Tensor with_bias(const at::Tensor& product, const GroupedMatmul& operands, std::size_t group) {
  if (operands.bias.empty()) return product;
  const bool stacked = operands.bias.size() == 1 && operands.bias[0].dim() == 2;
  const at::Tensor& bias =
      stacked ? operands.bias[0] : operands.bias[std::min(group, operands.bias.size() - 1)];
  return product +
         (stacked ? bias[static_cast<std::int64_t>(group)] : bias).to(product.scalar_type());
}

// Of a list with one tensor for each group, or of one tensor that holds all of them.
at::Tensor weight_of(const GroupedMatmul& operands, std::size_t group) {
  const bool stacked = operands.weight.size() == 1 && operands.weight[0].dim() == 3;
  if (!stacked) {
    TORCH_CHECK(group < operands.weight.size(), "npu_grouped_matmul: group ", group, " of ",
                operands.weight.size(), " weights");
    return operands.weight[group];
  }
  TORCH_CHECK(static_cast<std::int64_t>(group) < operands.weight[0].size(0),
              "npu_grouped_matmul: group ", group, " of ", operands.weight[0].size(0), " weights");
  return operands.weight[0][static_cast<std::int64_t>(group)];
}

void check_ends(const std::vector<std::int64_t>& ends, std::int64_t size) {
  std::int64_t previous = 0;
  for (const std::int64_t end : ends) {
    TORCH_CHECK(end >= previous && end <= size, "npu_grouped_matmul: a group ends at ", end,
                ", between ", previous, " and ", size, " was expected");
    previous = end;
  }
}

std::vector<at::Tensor> products_of_rows(const GroupedMatmul& operands) {
  TORCH_CHECK(operands.x.size() == 1, "npu_grouped_matmul: ", operands.x.size(),
              " inputs, one is needed where its rows are grouped");
  const at::Tensor& x = operands.x[0];
  check_ends(operands.ends, x.size(0));
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (std::size_t group = 0; group < operands.ends.size(); ++group) {
    const at::Tensor rows = x.narrow(0, first, operands.ends[group] - first);
    parts.push_back(with_bias(at::matmul(rows, weight_of(operands, group)), operands, group));
    first = operands.ends[group];
  }
  if (!operands.one_result) return parts;
  if (first < x.size(0) || parts.empty()) {
    const std::int64_t columns = weight_of(operands, 0).size(-1);
    parts.push_back(at::zeros({x.size(0) - first, columns}, x.options()));
  }
  return {at::cat(parts)};
}

std::vector<at::Tensor> products_of_parts(const GroupedMatmul& operands) {
  TORCH_CHECK(operands.x.size() == 1 && operands.weight.size() == 1,
              "npu_grouped_matmul: one input and one weight are needed where the sum is grouped");
  const at::Tensor& x = operands.x[0];
  const at::Tensor& weight = operands.weight[0];
  check_ends(operands.ends, x.size(1));
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (const std::int64_t end : operands.ends) {
    parts.push_back(
        at::matmul(x.narrow(1, first, end - first), weight.narrow(0, first, end - first)));
    first = end;
  }
  return operands.one_result ? std::vector<at::Tensor>{at::stack(parts)} : parts;
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> npu_moe_token_permute(const at::Tensor& tokens,
                                                         const at::Tensor& indices,
                                                         c10::optional<std::int64_t> kept) {
  TORCH_CHECK(tokens.dim() == 2 && indices.numel() % std::max<std::int64_t>(tokens.size(0), 1) == 0,
              "npu_moe_token_permute: indices of shape ", indices.sizes(),
              " do not fit tokens of shape ", tokens.sizes());
  const at::Tensor flat = indices.reshape(-1);
  const std::int64_t each = tokens.size(0) == 0 ? 1 : flat.numel() / tokens.size(0);
  const at::Tensor order = std::get<1>(at::sort(flat, /*stable=*/true, 0, /*descending=*/false));
  const at::Tensor went_to =
      at::empty_like(order).scatter(0, order, at::arange(flat.numel(), order.options()));
  const at::Tensor first = order.narrow(0, 0, kept_entries(kept, flat.numel()));
  return {tokens.index_select(0, first.div(each, "floor")), went_to.to(at::kInt)};
}

at::Tensor npu_moe_token_unpermute(const at::Tensor& permuted, const at::Tensor& sorted_indices,
                                   const at::Tensor& probs) {
  const std::int64_t each = probs.defined() ? probs.size(-1) : 1;
  const at::Tensor places = sorted_indices.reshape(-1).to(at::kLong);
  TORCH_CHECK(each > 0 && places.numel() % each == 0, "npu_moe_token_unpermute: ", places.numel(),
              " indices cannot be shared by tokens of ", each, " rows");
  const at::Tensor rows =
      rows_at(widened(permuted), places).reshape({places.numel() / each, each, permuted.size(1)});
  if (!probs.defined()) return rows.squeeze(1).to(permuted.scalar_type());
  const at::Tensor weights = probs.to(rows.scalar_type()).reshape({-1, each, 1});
  return (rows * weights).sum(1).to(permuted.scalar_type());
}

at::Tensor npu_moe_compute_expert_tokens(const at::Tensor& sorted_experts, std::int64_t experts) {
  const at::Tensor numbers = at::arange(experts, sorted_experts.options());
  return (sorted_experts.reshape({1, -1}) <= numbers.unsqueeze(1))
      .sum(1)
      .to(sorted_experts.scalar_type());
}

at::Tensor npu_moe_finalize_routing(const at::Tensor& rows, const at::Tensor& places,
                                    const FinalizeRouting& options) {
  const std::int64_t width = rows.size(-1);
  const at::Tensor flat = widened(rows).reshape({-1, width});
  const std::int64_t each = options.scales.defined() ? options.scales.size(1) : 1;
  const std::int64_t tokens = places.numel() / std::max<std::int64_t>(each, 1);
  const bool by_column = options.drop_pad_mode < 2;
  const at::Tensor where = places.reshape(-1).to(at::kLong);
  const at::Tensor at_token =
      (by_column ? where.reshape({each, tokens}).t() : where.reshape({tokens, each})).reshape(-1);
  at::Tensor parts = rows_at(flat, at_token).reshape({tokens, each, width});
  if (options.bias.defined() && options.expert.defined()) {
    const at::Tensor whose = options.expert.reshape(-1).to(at::kLong);
    parts =
        parts +
        options.bias.to(flat.scalar_type()).index_select(0, whose).reshape({tokens, each, width});
  }
  if (options.scales.defined()) {
    parts = parts * options.scales.to(flat.scalar_type()).reshape({tokens, each, 1});
  }
  at::Tensor out = parts.sum(1);
  if (options.skip1.defined()) out = out + options.skip1.to(flat.scalar_type());
  if (options.skip2.defined()) out = out + options.skip2.to(flat.scalar_type());
  return out.to(rows.scalar_type());
}

std::vector<std::int64_t> group_ends(const at::Tensor& list, std::int64_t list_type) {
  const at::Tensor plain = list.to(at::kCPU, at::kLong).contiguous();
  const auto* data = plain.data_ptr<std::int64_t>();
  std::vector<std::int64_t> ends;
  if (list_type == 0) return {data, data + plain.numel()};
  if (list_type == 1) {
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < plain.numel(); ++i) ends.push_back(end += data[i]);
    return ends;
  }
  TORCH_CHECK(list_type == 2 && plain.dim() == 2 && plain.size(1) == 2,
              "npu_grouped_matmul: a group list of type ", list_type, " and shape ", list.sizes());
  // Pairs of a group and its size; groups that are not named have no rows.
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(plain.size(0)));
  for (std::int64_t i = 0; i < plain.size(0); ++i) {
    const std::int64_t group = data[2 * i];
    TORCH_CHECK(group >= 0 && group < plain.size(0), "npu_grouped_matmul: group ", group, " of ",
                plain.size(0));
    sizes[static_cast<std::size_t>(group)] += data[2 * i + 1];
  }
  std::int64_t end = 0;
  for (const std::int64_t size : sizes) ends.push_back(end += size);
  return ends;
}

std::vector<at::Tensor> npu_grouped_matmul(const GroupedMatmul& operands) {
  TORCH_CHECK(!operands.x.empty() && !operands.weight.empty(),
              "npu_grouped_matmul: x and weight must have a tensor");
  switch (operands.by) {
    case GroupedBy::kRows:
      return products_of_rows(operands);
    case GroupedBy::kSummed:
      return products_of_parts(operands);
    case GroupedBy::kList:
      break;
  }
  TORCH_CHECK(operands.x.size() == operands.weight.size(),
              "npu_grouped_matmul: ", operands.x.size(), " inputs and ", operands.weight.size(),
              " weights");
  std::vector<at::Tensor> results;
  for (std::size_t i = 0; i < operands.x.size(); ++i) {
    results.push_back(with_bias(at::matmul(operands.x[i], operands.weight[i]), operands, i));
  }
  return operands.one_result ? std::vector<at::Tensor>{at::cat(results)} : results;
}

}  // namespace msprobe::execute::npu
