// SPDX-License-Identifier: Apache-2.0
// Pooling: strides that default to the kernel, indices on demand, output sizes left open.
#include <cmath>

#include <fmt/format.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes stride_of(const Bound& a, std::size_t n) {
  return a.is_none("stride") ? Sizes() : a.integers("stride", n);
}

PyValue pair(std::tuple<at::Tensor, at::Tensor> both) {
  return tuple_of({std::get<0>(both), std::get<1>(both)});
}

template <int kDims>
PyValue max_pool_with_indices(const Bound& a) {
  const Sizes kernel = a.integers("kernel_size", kDims);
  const Sizes stride = stride_of(a, kDims);
  const Sizes padding = a.integers("padding", kDims);
  const Sizes dilation = a.integers("dilation", kDims);
  const bool ceil_mode = a.boolean("ceil_mode");
  const at::Tensor& input = a.tensor("input");
  if constexpr (kDims == 1) {
    return pair(at::max_pool1d_with_indices(input, kernel, stride, padding, dilation, ceil_mode));
  } else if constexpr (kDims == 2) {
    return pair(at::max_pool2d_with_indices(input, kernel, stride, padding, dilation, ceil_mode));
  } else {
    return pair(at::max_pool3d_with_indices(input, kernel, stride, padding, dilation, ceil_mode));
  }
}

template <int kDims>
PyValue max_pool(const Bound& a) {
  if (a.boolean("return_indices")) return max_pool_with_indices<kDims>(a);
  const Sizes kernel = a.integers("kernel_size", kDims);
  const Sizes stride = stride_of(a, kDims);
  const Sizes padding = a.integers("padding", kDims);
  const Sizes dilation = a.integers("dilation", kDims);
  const bool ceil_mode = a.boolean("ceil_mode");
  const at::Tensor& input = a.tensor("input");
  if constexpr (kDims == 1) {
    return {at::max_pool1d(input, kernel, stride, padding, dilation, ceil_mode)};
  } else if constexpr (kDims == 2) {
    return {at::max_pool2d(input, kernel, stride, padding, dilation, ceil_mode)};
  } else {
    return {at::max_pool3d(input, kernel, stride, padding, dilation, ceil_mode)};
  }
}

// None in the output size keeps the input's extent.
Sizes adaptive_size(const Bound& a, std::size_t n) {
  const auto* list = a.value("output_size").as<PyList>();
  if (list == nullptr) return a.integers("output_size", n);
  const at::Tensor& input = a.tensor("input");
  Sizes sizes;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto open =
        input.size(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(list->size()));
    sizes.push_back((*list)[i].is_none() ? open : as_integer((*list)[i]).value_or(-1));
  }
  return sizes;
}

template <int kDims>
PyValue adaptive_max_pool_with_indices(const Bound& a) {
  const Sizes size = adaptive_size(a, kDims);
  const at::Tensor& input = a.tensor("input");
  if constexpr (kDims == 1) {
    return pair(at::adaptive_max_pool1d(input, size));
  } else if constexpr (kDims == 2) {
    return pair(at::adaptive_max_pool2d(input, size));
  } else {
    return pair(at::adaptive_max_pool3d(input, size));
  }
}

PyValue first(const PyValue& pair_of) { return pair_of.as<PyList>()->front(); }

template <int kDims>
PyValue adaptive_max_pool(const Bound& a) {
  const PyValue both = adaptive_max_pool_with_indices<kDims>(a);
  return a.boolean("return_indices") ? both : first(both);
}

PyValue adaptive_avg_pool2d(const Bound& a) {
  return {at::adaptive_avg_pool2d(a.tensor("input"), adaptive_size(a, 2))};
}

PyValue adaptive_avg_pool3d(const Bound& a) {
  return {at::adaptive_avg_pool3d(a.tensor("input"), adaptive_size(a, 3))};
}

template <int kDims>
Sizes fractional_size(const Bound& a) {
  if (!a.is_none("output_size")) return a.integers("output_size", kDims);
  if (a.is_none("output_ratio")) {
    throw BindError("fractional_max_pool requires either an output_size or an output_ratio");
  }
  const auto one = as_real(a.value("output_ratio"));
  const std::vector<double> ratios =
      one ? std::vector<double>(kDims, *one) : a.reals("output_ratio");
  Sizes sizes;
  for (int i = 0; i < kDims; ++i) {
    const auto extent = static_cast<double>(a.tensor("input").size(i - kDims));
    sizes.push_back(static_cast<std::int64_t>(extent * ratios.at(static_cast<std::size_t>(i))));
  }
  return sizes;
}

template <int kDims>
PyValue fractional_max_pool_with_indices(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const Sizes size = fractional_size<kDims>(a);
  at::Tensor samples = a.tensor_or_undefined("_random_samples");
  if (!samples.defined()) {
    const std::int64_t batch = input.dim() == kDims + 1 ? 1 : input.size(0);
    samples = at::rand({batch, input.size(-kDims - 1), kDims}, input.options());
  }
  const Sizes kernel = a.integers("kernel_size", kDims);
  if constexpr (kDims == 2) {
    return pair(at::fractional_max_pool2d(input, kernel, size, samples));
  } else {
    return pair(at::fractional_max_pool3d(input, kernel, size, samples));
  }
}

template <int kDims>
PyValue fractional_max_pool(const Bound& a) {
  const PyValue both = fractional_max_pool_with_indices<kDims>(a);
  return a.boolean("return_indices") ? both : first(both);
}

template <int kDims>
at::Tensor plain_max_pool(const at::Tensor& input, const Sizes& kernel, const Sizes& stride,
                          bool ceil_mode) {
  if constexpr (kDims == 1) return at::max_pool1d(input, kernel, stride, 0, 1, ceil_mode);
  if constexpr (kDims == 2) return at::max_pool2d(input, kernel, stride, 0, 1, ceil_mode);
  if constexpr (kDims == 3) return at::max_pool3d(input, kernel, stride, 0, 1, ceil_mode);
}

template <int kDims>
at::Tensor plain_avg_pool(const at::Tensor& input, const Sizes& kernel, const Sizes& stride,
                          bool ceil_mode) {
  if constexpr (kDims == 1) return at::avg_pool1d(input, kernel, stride, 0, ceil_mode);
  if constexpr (kDims == 2) return at::avg_pool2d(input, kernel, stride, 0, ceil_mode);
  if constexpr (kDims == 3) return at::avg_pool3d(input, kernel, stride, 0, ceil_mode);
}

template <int kDims>
PyValue lp_pool(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const Sizes kernel = a.integers("kernel_size", kDims);
  const Sizes stride = stride_of(a, kDims);
  const bool ceil_mode = a.boolean("ceil_mode");
  const at::Scalar norm_type = a.scalar("norm_type");
  const double power = norm_type.toDouble();
  if (power == INFINITY) return {plain_max_pool<kDims>(input.abs(), kernel, stride, ceil_mode)};
  if (power == -INFINITY) return {-plain_max_pool<kDims>(-input.abs(), kernel, stride, ceil_mode)};
  const at::Tensor out = plain_avg_pool<kDims>(input.pow(norm_type), kernel, stride, ceil_mode);
  std::int64_t volume = 1;
  for (const std::int64_t extent : kernel) volume *= extent;
  return {(at::sign(out) * at::relu(at::abs(out))).mul(volume).pow(1.0 / power)};
}

Sizes unpool_size(const Bound& a, const Sizes& kernel, const Sizes& stride, const Sizes& padding) {
  const std::size_t n = kernel.size();
  if (!a.is_none("output_size")) {
    Sizes size = a.integers("output_size");
    if (size.size() == n + 2) size.erase(size.begin(), size.begin() + 2);
    if (size.size() != n) throw BindError(fmt::format("output_size should hold {} elements", n));
    return size;
  }
  Sizes size;
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t extent =
        a.tensor("input").size(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(n));
    size.push_back((extent - 1) * stride[d] + kernel[d] - 2 * padding[d]);
  }
  return size;
}

template <int kDims>
PyValue max_unpool(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const at::Tensor& indices = a.tensor("indices");
  const Sizes kernel = a.integers("kernel_size", kDims);
  const Sizes stride = a.is_none("stride") ? kernel : a.integers("stride", kDims);
  const Sizes padding = a.integers("padding", kDims);
  Sizes size = unpool_size(a, kernel, stride, padding);
  if constexpr (kDims == 1) {
    size.push_back(1);
    return {at::max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1)};
  } else if constexpr (kDims == 2) {
    return {at::max_unpool2d(input, indices, size)};
  } else {
    return {at::max_unpool3d(input, indices, size, stride, padding)};
  }
}

constexpr std::string_view kMaxPool =
    "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False";
constexpr std::string_view kAdaptive = "input, output_size";
constexpr std::string_view kAdaptiveMax = "input, output_size, return_indices=False";
constexpr std::string_view kFractional =
    "input, kernel_size, output_size=None, output_ratio=None, return_indices=False, "
    "_random_samples=None";
constexpr std::string_view kLp = "input, norm_type, kernel_size, stride=None, ceil_mode=False";
constexpr std::string_view kUnpool =
    "input, indices, kernel_size, stride=None, padding=0, output_size=None";

constexpr ApiRow kPoolingRows[] = {
    {"Functional.adaptive_avg_pool2d", kAdaptive, &adaptive_avg_pool2d},
    {"Functional.adaptive_avg_pool3d", kAdaptive, &adaptive_avg_pool3d},
    {"Functional.adaptive_max_pool1d", kAdaptiveMax, &adaptive_max_pool<1>},
    {"Functional.adaptive_max_pool1d_with_indices", kAdaptiveMax,
     &adaptive_max_pool_with_indices<1>},
    {"Functional.adaptive_max_pool2d", kAdaptiveMax, &adaptive_max_pool<2>},
    {"Functional.adaptive_max_pool2d_with_indices", kAdaptiveMax,
     &adaptive_max_pool_with_indices<2>},
    {"Functional.adaptive_max_pool3d", kAdaptiveMax, &adaptive_max_pool<3>},
    {"Functional.adaptive_max_pool3d_with_indices", kAdaptiveMax,
     &adaptive_max_pool_with_indices<3>},
    {"Functional.fractional_max_pool2d", kFractional, &fractional_max_pool<2>},
    {"Functional.fractional_max_pool2d_with_indices", kFractional,
     &fractional_max_pool_with_indices<2>},
    {"Functional.fractional_max_pool3d", kFractional, &fractional_max_pool<3>},
    {"Functional.fractional_max_pool3d_with_indices", kFractional,
     &fractional_max_pool_with_indices<3>},
    {"Functional.lp_pool1d", kLp, &lp_pool<1>},
    {"Functional.lp_pool2d", kLp, &lp_pool<2>},
    {"Functional.lp_pool3d", kLp, &lp_pool<3>},
    {"Functional.max_pool1d", kMaxPool, &max_pool<1>},
    {"Functional.max_pool1d_with_indices", kMaxPool, &max_pool_with_indices<1>},
    {"Functional.max_pool2d", kMaxPool, &max_pool<2>},
    {"Functional.max_pool2d_with_indices", kMaxPool, &max_pool_with_indices<2>},
    {"Functional.max_pool3d", kMaxPool, &max_pool<3>},
    {"Functional.max_pool3d_with_indices", kMaxPool, &max_pool_with_indices<3>},
    {"Functional.max_unpool1d", kUnpool, &max_unpool<1>},
    {"Functional.max_unpool2d", kUnpool, &max_unpool<2>},
    {"Functional.max_unpool3d", kUnpool, &max_unpool<3>},
};

}  // namespace

std::span<const ApiRow> pooling_rows() { return kPoolingRows; }

}  // namespace msprobe::execute
