#include "strict/reduction_length.h"

#include <algorithm>
#include <vector>

#include "execute/tree.h"
#include "strict/op_traits.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyValue;

std::vector<at::Tensor> float_tensors(const PyCall& call) {
  std::vector<at::Tensor> tensors;
  const auto take = [&](const at::Tensor& tensor) {
    if (tensor.is_floating_point() || tensor.is_complex()) tensors.push_back(tensor);
  };
  for (const PyValue& value : call.args) execute::for_each_tensor(value, take);
  for (const auto& [name, value] : call.kwargs) execute::for_each_tensor(value, take);
  return tensors;
}

// mat1 of addmm and its like stands second.
double contracted_extent(std::string_view name, const std::vector<at::Tensor>& tensors) {
  const bool added = name.starts_with("addm") || name == "baddbmm";
  const at::Tensor& factor = tensors[added && tensors.size() > 1 ? 1 : 0];
  return factor.dim() == 0 ? 1.0 : static_cast<double>(factor.size(-1));
}

double normalized_extent(std::string_view name, const PyCall& call, const at::Tensor& input) {
  const auto numel = static_cast<double>(input.numel());
  if (input.dim() < 2) return numel;
  if (name == "batch_norm")
    return numel / static_cast<double>(std::max<std::int64_t>(1, input.size(1)));
  if (name == "instance_norm") {
    return numel / static_cast<double>(std::max<std::int64_t>(1, input.size(0) * input.size(1)));
  }
  if (name == "group_norm" && call.args.size() > 1) {
    const auto* groups = call.args[1].as<std::int64_t>();
    const std::int64_t rows = input.size(0) * (groups == nullptr ? 1 : *groups);
    return numel / static_cast<double>(std::max<std::int64_t>(1, rows));
  }
  if (name == "layer_norm" || name == "rms_norm") {
    double extent = 1;
    const PyValue* shape = call.args.size() > 1 ? &call.args[1] : nullptr;
    for (const auto& [key, value] : call.kwargs) {
      if (key == "normalized_shape") shape = &value;
    }
    if (shape == nullptr) return numel;
    execute::for_each_leaf(*shape, [&](const PyValue& leaf) {
      if (const auto* size = leaf.as<std::int64_t>()) extent *= static_cast<double>(*size);
      if (const auto* sizes = leaf.as<dump::SizeValue>()) {
        for (const std::int64_t size : sizes->extents) extent *= static_cast<double>(size);
      }
    });
    return extent;
  }
  return static_cast<double>(input.size(-1));
}

double longest_extent(const at::Tensor& tensor) {
  std::int64_t longest = 1;
  for (const std::int64_t size : tensor.sizes()) longest = std::max(longest, size);
  return static_cast<double>(longest);
}

// Terms per element of the first output.
double forward_length(std::string_view name, const PyCall& call,
                      const std::vector<at::Tensor>& tensors, double largest) {
  switch (sums_of(name)) {
    case Sums::kContraction:
      return contracted_extent(name, tensors);
    case Sums::kConvolution: {
      const at::Tensor& weight = tensors[std::min<std::size_t>(1, tensors.size() - 1)];
      const std::int64_t channels = weight.dim() == 0 ? 1 : weight.size(0);
      return static_cast<double>(weight.numel()) /
             static_cast<double>(std::max<std::int64_t>(1, channels));
    }
    case Sums::kAlongDim:
      return longest_extent(tensors.front());
    case Sums::kNormalized:
      return normalized_extent(name, call, tensors.front());
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
  const double terms = std::max(1.0, forward_length(bare_name, call, tensors, largest));
  const Sums sums = sums_of(bare_name);
  const bool products = sums == Sums::kContraction || sums == Sums::kConvolution;
  if (!gradient || !products) return std::max(terms, largest / results);
  // Backward sums the same products over other extents: there are as many in all.
  const double all = terms * static_cast<double>(std::max<std::int64_t>(1, forward_numel));
  return std::max(1.0, all / results);
}

}  // namespace msprobe::strict
