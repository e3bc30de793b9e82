// SPDX-License-Identifier: Apache-2.0
#include "strict/reduction_length.h"

#include <algorithm>
#include <vector>

#include "execute/value_tree.h"
#include "ops/op.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyValue;
using ops::Sums;

std::vector<at::Tensor> float_tensors(const PyCall& call) {
  std::vector<at::Tensor> tensors;
  const auto take = [&](const at::Tensor& tensor) {
    if (tensor.is_floating_point() || tensor.is_complex()) tensors.push_back(tensor);
  };
  for (const PyValue& value : call.args) execute::for_each_tensor(value, take);
  for (const auto& [name, value] : call.kwargs) execute::for_each_tensor(value, take);
  return tensors;
}

double last_extent(const at::Tensor& factor) {
  return factor.dim() == 0 ? 1.0 : static_cast<double>(factor.size(-1));
}

// The shape that layer_norm and rms_norm are given as their second argument.
double named_extent(const PyCall& call, double otherwise) {
  double extent = 1;
  const PyValue* shape = call.args.size() > 1 ? &call.args[1] : nullptr;
  for (const auto& [key, value] : call.kwargs) {
    if (key == "normalized_shape") shape = &value;
  }
  if (shape == nullptr) return otherwise;
  execute::for_each_leaf(*shape, [&](const PyValue& leaf) {
    if (const auto* size = leaf.as<std::int64_t>()) extent *= static_cast<double>(*size);
    if (const auto* sizes = leaf.as<dump::SizeValue>()) {
      for (const std::int64_t size : sizes->extents) extent *= static_cast<double>(size);
    }
  });
  return extent;
}

double normalized_extent(Sums sums, const PyCall& call, const at::Tensor& input) {
  const auto numel = static_cast<double>(input.numel());
  if (input.dim() < 2) return numel;
  const auto divided = [&](std::int64_t rows) {
    return numel / static_cast<double>(std::max<std::int64_t>(1, rows));
  };
  if (sums == Sums::kPerChannel) return divided(input.size(1));
  if (sums == Sums::kPerInstance) return divided(input.size(0) * input.size(1));
  if (sums == Sums::kPerGroup && call.args.size() > 1) {
    const auto* groups = call.args[1].as<std::int64_t>();
    return divided(input.size(0) * (groups == nullptr ? 1 : *groups));
  }
  if (sums == Sums::kNormalizedShape) return named_extent(call, numel);
  return static_cast<double>(input.size(-1));
}

double longest_extent(const at::Tensor& tensor) {
  std::int64_t longest = 1;
  for (const std::int64_t size : tensor.sizes()) longest = std::max(longest, size);
  return static_cast<double>(longest);
}

// Terms per element of the first output.
double forward_length(Sums sums, const PyCall& call, const std::vector<at::Tensor>& tensors,
                      double largest) {
  const at::Tensor& second = tensors[std::min<std::size_t>(1, tensors.size() - 1)];
  switch (sums) {
    case Sums::kContraction:
      return last_extent(tensors.front());
    case Sums::kAddedContraction:
      return last_extent(second);
    case Sums::kConvolution: {
      const std::int64_t channels = second.dim() == 0 ? 1 : second.size(0);
      return static_cast<double>(second.numel()) /
             static_cast<double>(std::max<std::int64_t>(1, channels));
    }
    case Sums::kAlongDim:
      return longest_extent(tensors.front());
    case Sums::kLastExtent:
    case Sums::kPerChannel:
    case Sums::kPerInstance:
    case Sums::kPerGroup:
    case Sums::kNormalizedShape:
      return normalized_extent(sums, call, tensors.front());
    case Sums::kAll:
      return largest;
    case Sums::kByShape:
      break;
  }
  return 1;
}

}  // namespace

double reduction_length(std::string_view bare_name, const PyCall& call, std::int64_t forward_numel,
                        std::int64_t result_numel, bool gradient) {
  const std::vector<at::Tensor> tensors = float_tensors(call);
  if (tensors.empty()) return 1;
  auto largest = static_cast<double>(std::max<std::int64_t>(1, forward_numel));
  for (const at::Tensor& tensor : tensors) {
    largest = std::max(largest, static_cast<double>(tensor.numel()));
  }
  const auto results = static_cast<double>(std::max<std::int64_t>(1, result_numel));
  const Sums sums = ops::traits_of(bare_name).sums;
  const double terms = std::max(1.0, forward_length(sums, call, tensors, largest));
  const bool products =
      sums == Sums::kContraction || sums == Sums::kAddedContraction || sums == Sums::kConvolution;
  if (!gradient || !products) return std::max(terms, largest / results);
  // Backward sums the same products over other extents: there are as many in all.
  const double all = terms * static_cast<double>(std::max<std::int64_t>(1, forward_numel));
  return std::max(1.0, all / results);
}

double longest_extent_of(const PyCall& call) {
  double longest = 1;
  for (const at::Tensor& tensor : float_tensors(call)) {
    longest = std::max(longest, longest_extent(tensor));
  }
  return longest;
}

}  // namespace msprobe::strict
