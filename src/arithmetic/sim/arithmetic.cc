// SPDX-License-Identifier: Apache-2.0
#include "sim/arithmetic.h"

#include <algorithm>
#include <functional>
#include <random>

#include <ATen/CPUGeneratorImpl.h>

namespace msprobe::sim {
namespace {

// Which arguments are the two factors of a product, and what is added to it.
struct ProductRow {
  std::string_view name;
  std::size_t left;
  bool blocked;  // summed by compute_product; the added term, beta and alpha are placed as in addmm
};
constexpr ProductRow kProducts[] = {
    {"aten::mm", 0, true},      {"aten::bmm", 0, true},     {"aten::addmm", 1, true},
    {"aten::baddbmm", 1, true}, {"aten::mv", 0, false},     {"aten::addmv", 1, false},
    {"aten::dot", 0, false},    {"aten::addbmm", 1, false},
};

const ProductRow* find_product(const c10::OperatorHandle& op) {
  const auto* found = std::ranges::find(kProducts, op.schema().name(), &ProductRow::name);
  return found == std::end(kProducts) ? nullptr : found;
}

// Arguments are the last entries of a stack.
c10::IValue& argument(const c10::OperatorHandle& op, torch::jit::Stack& stack, std::size_t place) {
  return stack[stack.size() - op.schema().arguments().size() + place];
}

at::Tensor without_last_block(const at::Tensor& left) {
  const std::int64_t terms = left.size(-1);
  const std::int64_t lost = std::clamp<std::int64_t>(terms / 4, 1, kBlock);
  at::Tensor cut = left.clone();
  if (terms > 0) cut.narrow(-1, terms - std::min(lost, terms), std::min(lost, terms)).zero_();
  return cut;
}

at::Tensor without_some_terms(const at::Tensor& left) {
  const std::int64_t terms = left.size(-1);
  at::Tensor cut = left.clone();
  if (terms > 1) cut.slice(-1, terms / 2 % kBlock, terms, kBlock).zero_();
  return cut;
}

void change_factors(SimProfile profile, const ProductRow& row, const c10::OperatorHandle& op,
                    torch::jit::Stack& stack, const ProductFaults& faults) {
  c10::IValue& left = argument(op, stack, row.left);
  c10::IValue& right = argument(op, stack, row.left + 1);
  if (faults.lost_block) left = without_last_block(left.toTensor());
  if (faults.lost_terms) left = without_some_terms(left.toTensor());
  if (const int bits = factor_bits(profile); bits > 0) {
    left = kept_bits(left.toTensor(), bits);
    right = kept_bits(right.toTensor(), bits);
  }
  if (profile == SimProfile::kAtomics) {
    const at::Tensor order = any_order(left.toTensor().size(-1));
    const std::int64_t terms = right.toTensor().dim() < 2 ? -1 : -2;
    left = left.toTensor().index_select(-1, order);
    right = right.toTensor().index_select(terms, order);
  }
}

// Sums and scattered sums, their terms in another order.
void shuffle_terms(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::string& name = op.schema().name();
  if (name == "aten::sum" || name == "aten::mean") {
    at::Tensor terms = argument(op, stack, 0).toTensor();
    const auto dims = op.schema().arguments().size() > 1 && argument(op, stack, 1).isIntList()
                          ? argument(op, stack, 1).toIntVector()
                          : std::vector<std::int64_t>();
    if (dims.empty()) {
      if (op.schema().overload_name().find("dim") == std::string::npos) {
        const at::Tensor flat = terms.flatten();
        argument(op, stack, 0) = flat.index_select(0, any_order(flat.numel())).view(terms.sizes());
      }
      return;
    }
    for (const std::int64_t dim : dims) {
      if (terms.dim() > 0) terms = terms.index_select(dim, any_order(terms.size(dim)));
    }
    argument(op, stack, 0) = terms;
  } else if (name == "aten::embedding_dense_backward") {
    const at::Tensor indices = argument(op, stack, 1).toTensor().flatten();
    const at::Tensor gradient = argument(op, stack, 0).toTensor();
    const at::Tensor order = any_order(indices.numel());
    argument(op, stack, 0) =
        gradient.reshape({indices.numel(), gradient.size(-1)}).index_select(0, order);
    argument(op, stack, 1) = indices.index_select(0, order);
  } else if (name == "aten::index_add" || name == "aten::index_add_") {
    const at::Tensor index = argument(op, stack, 2).toTensor();
    const at::Tensor source = argument(op, stack, 3).toTensor();
    if (index.dim() != 1 || source.dim() == 0) return;
    const at::Tensor order = any_order(index.numel());
    argument(op, stack, 2) = index.index_select(0, order);
    argument(op, stack, 3) = source.index_select(argument(op, stack, 1).toInt(), order);
  }
}

// Below it numbers have fewer digits.
double least_normal(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return 6.103515625e-05;
    case at::kDouble:
      return std::numeric_limits<double>::min();
    default:
      return std::numeric_limits<float>::min();
  }
}

at::Tensor flushed(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.element_size() == 1) return tensor;
  const at::Tensor small = tensor.abs().lt(least_normal(tensor.scalar_type()));
  return small.any().item<bool>() ? tensor.masked_fill(small, 0) : tensor;
}

void flush_arguments(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool written =
        arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite();
    c10::IValue& value = argument(op, stack, i);
    if (!written && value.isTensor() && value.toTensor().defined())
      value = flushed(value.toTensor());
  }
}

at::Tensor saturated(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.element_size() == 1) return tensor;
  const at::Tensor infinite = tensor.isinf();
  if (!infinite.any().item<bool>()) return tensor;
  const double most = tensor.scalar_type() == at::kHalf     ? 65504
                      : tensor.scalar_type() == at::kFloat  ? std::numeric_limits<float>::max()
                      : tensor.scalar_type() == at::kDouble ? std::numeric_limits<double>::max()
                                                            : 3.3895313892515355e38;
  return at::where(infinite, tensor.sign() * most, tensor);
}

}  // namespace

at::Tensor kept_bits(const at::Tensor& tensor, int bits) {
  if (tensor.scalar_type() != at::kFloat) return tensor;
  const int dropped = 23 - bits;
  const at::Tensor pattern = tensor.contiguous().view(at::kInt);
  const at::Tensor odd = pattern.bitwise_right_shift(dropped).bitwise_and(1);
  const at::Tensor rounded =
      (pattern + odd + ((1 << (dropped - 1)) - 1)).bitwise_and(-(1 << dropped)).view(at::kFloat);
  return at::where(tensor.isfinite(), rounded, tensor);
}

at::Tensor summed_in_blocks(std::int64_t count, std::int64_t block, at::ScalarType kept,
                            const std::function<at::Tensor(std::int64_t, std::int64_t)>& partial) {
  at::Tensor sum;
  for (std::int64_t start = 0; start < count; start += block) {
    const at::Tensor part = partial(start, std::min(block, count - start));
    sum = (sum.defined() ? sum + part : part).to(kept).to(part.scalar_type());
  }
  return sum;
}

std::optional<at::ScalarType> sum_type(SimProfile profile) {
  if (profile == SimProfile::kBFloat16Accumulate) return at::kBFloat16;
  if (profile == SimProfile::kFloat16Accumulate) return at::kHalf;
  return std::nullopt;
}

int factor_bits(SimProfile profile) {
  if (profile == SimProfile::kTf32) return 10;
  return profile == SimProfile::kHf32 ? 11 : 0;
}

bool keeps_products(const ProfileRow& arithmetic) {
  const SimProfile profile = arithmetic.profile;
  return profile == SimProfile::kExact || profile == SimProfile::kFlushToZero ||
         profile == SimProfile::kSaturate;
}

at::Tensor any_order(std::int64_t count) {
  static std::random_device entropy;
  at::Generator generator = at::detail::createCPUGenerator(entropy());
  return at::randperm(count, generator);
}

bool strikes_product(Fault fault, const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const ProductRow* row = find_product(op);
  if (row == nullptr) return false;
  const std::int64_t terms = argument(op, stack, row->left).toTensor().size(-1);
  if (fault == Fault::kLostBlock) return terms > 0;
  if (fault == Fault::kLostTerms) return terms > 1;
  return fault == Fault::kCoarseSums && row->blocked && terms >= kManyTerms;
}

void change_arguments(const ProfileRow& arithmetic, const c10::OperatorHandle& op,
                      torch::jit::Stack& stack, const ProductFaults& faults) {
  const SimProfile profile = arithmetic.profile;
  if (const ProductRow* row = find_product(op)) {
    change_factors(profile, *row, op, stack, faults);
  } else if (profile == SimProfile::kAtomics) {
    shuffle_terms(op, stack);
  }
  if (arithmetic.flushes) flush_arguments(op, stack);
}

bool compute_product(SimProfile profile, const c10::OperatorHandle& op, torch::jit::Stack& stack,
                     const ProductFaults& faults) {
  const ProductRow* row = find_product(op);
  auto kept = sum_type(profile);
  if (row == nullptr || !row->blocked || (!kept && !faults.coarse_sums)) return false;
  const at::Tensor given = argument(op, stack, row->left).toTensor();
  if (faults.coarse_sums && given.size(-1) >= kManyTerms) kept = at::kBFloat16;
  if (!kept) return false;
  if (!given.is_floating_point() || given.scalar_type() == at::kDouble || given.size(-1) == 0) {
    return false;
  }
  const at::Tensor left = given.to(at::kFloat);
  const at::Tensor right = argument(op, stack, row->left + 1).toTensor().to(at::kFloat);
  at::Tensor sum = summed_in_blocks(left.size(-1), kBlock, *kept, [&](auto start, auto length) {
    return at::matmul(left.narrow(-1, start, length), right.narrow(-2, start, length));
  });
  if (row->left == 1) {
    const at::Tensor added = argument(op, stack, 0).toTensor().to(at::kFloat);
    sum = added * argument(op, stack, 3).toScalar() + sum * argument(op, stack, 4).toScalar();
  }
  sum = sum.to(given.scalar_type());
  const std::size_t arguments = op.schema().arguments().size();
  const bool has_out = op.schema().arguments().back().is_out();
  if (has_out) {
    const at::Tensor out = argument(op, stack, arguments - 1).toTensor();
    out.resize_(sum.sizes()).copy_(sum);
    sum = out;
  }
  torch::jit::drop(stack, arguments);
  torch::jit::push(stack, sum);
  return true;
}

at::Tensor changed_result(const ProfileRow& arithmetic, const at::Tensor& result) {
  const at::Tensor flat = arithmetic.flushes ? flushed(result) : result;
  return arithmetic.saturates ? saturated(flat) : flat;
}

}  // namespace msprobe::sim
