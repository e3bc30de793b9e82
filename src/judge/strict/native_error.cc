// SPDX-License-Identifier: Apache-2.0
#include "strict/native_error.h"

#include <limits>

#include <ATen/CPUGeneratorImpl.h>

#include "core/stable_hash.h"
#include "libtorch/dtypes.h"

namespace msprobe::strict {
namespace {

constexpr int kSamples = 4;
// So far away are the neighbours, in eps: the roundings on the way to a result are others there.
constexpr double kNeighbourhood = 16;
// An overflow of an intermediate result is understood where the result itself is this near to it.
constexpr double kNearlyLargest = 0.25;

// A neighbour among the numbers of the recorded dtype: both precisions compute from the same one.
at::Tensor nudged(const at::Tensor& tensor, at::ScalarType recorded, at::Generator& generator) {
  const at::Tensor parts = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  const double far = kNeighbourhood * float_type(recorded)->eps;
  const at::Tensor draw = at::empty(parts.sizes(), at::kDouble).uniform_(-1, 1, generator);
  at::Tensor moved = parts.to(at::kDouble) * draw.mul_(far).add_(1);
  const bool complex = tensor.is_complex();
  if (complex) moved = at::view_as_complex(moved.contiguous());
  return moved.to(recorded).to(tensor.scalar_type());
}

}  // namespace

at::Tensor native_errors(const at::Tensor& native, const at::Tensor& bench, const FloatType& type) {
  const at::Tensor given = real_parts(native);
  const at::Tensor right = real_parts(bench);
  const at::Tensor overflows =
      given.isfinite().logical_not().logical_and(right.abs().ge(type.largest * kNearlyLargest));
  const at::Tensor errors = (given - right).abs().nan_to_num(0, 0, 0);
  return errors.masked_fill(overflows, std::numeric_limits<double>::infinity())
      .masked_fill(overflows.logical_and(given.isnan()), std::numeric_limits<double>::quiet_NaN());
}

bool same_specials(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor left = real_parts(one);
  const at::Tensor right = real_parts(other);
  const auto infinities = [](const at::Tensor& all) {
    return at::where(all.isinf(), all, at::zeros_like(all));
  };
  return left.isnan().equal(right.isnan()) && infinities(left).equal(infinities(right));
}

void NativeError::sample(int number) {
  const auto run = [&](bool raise) {
    at::Generator generator =
        at::detail::createCPUGenerator(StableHash()
                                           .add(full_name_)
                                           .add("native")
                                           .add(static_cast<std::uint64_t>(number))
                                           .value()
                                           .low);
    execute::Variation variation = how_;
    variation.raise = raise;
    variation.change = [&](const at::Tensor& tensor, at::ScalarType recorded) {
      return float_type(recorded) ? nudged(tensor, recorded, generator) : tensor;
    };
    const auto leaves = rerun_.run(variation);
    return leaves ? tensors_of(*leaves) : LeafTensors{};
  };
  const LeafTensors native = run(false);
  const LeafTensors bench = run(true);
  for (const auto& [key, tensor] : native) {
    const auto right = bench.find(key);
    if (right == bench.end() || right->second.sizes() != tensor.sizes()) continue;
    const at::Tensor error =
        (real_parts(tensor) - real_parts(right->second)).abs().nan_to_num(0, 0, 0);
    at::Tensor& largest = errors_[key];
    largest = largest.defined() ? at::maximum(largest, error) : error;
  }
}

at::Tensor NativeError::of(Direction direction, const std::string& path) {
  for (int i = 0; i < kSamples && !sampled_; ++i) sample(i);
  sampled_ = true;
  const auto found = errors_.find({direction, path});
  return found == errors_.end() ? at::Tensor() : found->second;
}

}  // namespace msprobe::strict
