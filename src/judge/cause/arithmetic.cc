// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cause/cause.h"
#include "cause/half_sums.h"
#include "cause/scattered_terms.h"
#include "libtorch/dtypes.h"
#include "ops/op.h"
#include "strict/lost_terms.h"
#include "strict/product.h"
#include "strict/round_bits.h"

namespace msprobe::cause {

using strict::beyond_mask;
using strict::Direction;
using strict::flat;
using strict::float_type;
using strict::forward_product;
using strict::gradient_product;
using strict::in_double;
using strict::kept_bits;
using strict::kMostLeft;
using strict::LeafTensors;
using strict::lost_terms;
using strict::LostTerms;
using strict::Product;
using strict::root_mean_square;
using strict::tensors_of;

namespace {

// At least one element in fifty is beyond the bound then.
constexpr double kNoiseBeyond = 25;
constexpr double kMaxProducts = 1 << 27;
// Noise is not biased, does not follow the result, and lies between these shares of it.
constexpr double kBias = 0.3;
constexpr double kLeastNoise = 1.0 / 16384;
constexpr double kMostNoise = 1.0 / 16;
constexpr std::int64_t kNoiseElements = 64;
constexpr double kNoisePeak = 8;

struct InputRounding {
  int bits;
  std::string_view name;
};
constexpr InputRounding kInputRoundings[] = {
    {10, "TF32 inputs"}, {11, "HF32 inputs"}, {7, "bfloat16 inputs"}};

// What the benchmark gives from inputs that are changed so; undefined if it does not run.
at::Tensor bench_with(const Failure& failure, execute::Rerun& rerun,
                      const execute::TensorChange& change) {
  execute::Variation variation = failure.how;
  variation.change = change;
  const auto leaves = rerun.run(variation);
  if (!leaves) return {};
  const LeafTensors tensors = tensors_of(*leaves);
  const auto leaf = tensors.find({failure.direction, failure.path});
  const bool fits = leaf != tensors.end() && leaf->second.sizes() == failure.device.sizes();
  return fits ? leaf->second : at::Tensor();
}

std::string flushed_inputs(const Failure& failure, execute::Rerun& rerun) {
  bool any = false;
  const at::Tensor bench =
      bench_with(failure, rerun, [&](const at::Tensor& raised, at::ScalarType recorded) {
        const auto type = float_type(recorded);
        if (!type || raised.is_complex()) return raised;
        const at::Tensor small = raised.abs().lt(type->least_normal).logical_and(raised.ne(0));
        any = any || small.any().item<bool>();
        return raised.masked_fill(small, 0);
      });
  if (!any || !bench.defined()) return "";
  // Results that are flushed too, or rounded, are right.
  const at::Tensor error = flat(failure.device) - flat(failure.bench);
  const at::Tensor mask = flat(beyond_mask(failure.device, failure.bench, failure.limits)).ne(0);
  const double whole = root_mean_square(error.masked_select(mask));
  const double left = root_mean_square((flat(failure.device) - flat(bench)).masked_select(mask));
  if (!(left < kMostLeft * whole)) return "";
  return fmt::format(
      "flushed subnormals: with subnormal inputs taken as zero the benchmark leaves {:.1g} of the "
      "error",
      left / whole);
}

std::string rounded_inputs(const Failure& failure, execute::Rerun& rerun) {
  if (failure.type.eps != std::ldexp(1.0, -23)) return "";
  const at::Tensor device = flat(failure.device);
  const double whole = root_mean_square(device - flat(failure.bench));
  double least = kMostLeft * whole;
  std::string found;
  for (const InputRounding& rounding : kInputRoundings) {
    const at::Tensor bench =
        bench_with(failure, rerun, [&](const at::Tensor& raised, at::ScalarType recorded) {
          const auto type = float_type(recorded);
          const bool wider = type && type->eps < std::ldexp(1.0, -rounding.bits);
          return wider ? kept_bits(raised, rounding.bits) : raised;
        });
    if (!bench.defined()) continue;
    const double left = root_mean_square(device - flat(bench));
    if (left >= least) continue;
    least = left;
    found = fmt::format("{}: with inputs kept to {} bits the benchmark leaves {:.1g} of the error",
                        rounding.name, rounding.bits, left / whole);
  }
  return found;
}

double beyond_share(const Failure& failure) {
  return beyond_mask(failure.device, failure.bench, failure.limits)
      .to(at::kDouble)
      .mean()
      .item<double>();
}

std::optional<Product> product_of(const Failure& failure, execute::Rerun& rerun) {
  const auto call = rerun.arguments();
  const auto arriving = rerun.arriving();
  const bool forward = failure.direction == Direction::kForward;
  if (!call || !arriving || failure.device.is_complex()) return std::nullopt;
  if (!forward && rerun.of_node()) return std::nullopt;
  auto product = forward ? forward_product(failure.bare_name, **call)
                         : gradient_product(failure.bare_name, **call, **arriving, failure.path);
  if (!product) return std::nullopt;
  const double products =
      static_cast<double>(product->left.size(-1)) * static_cast<double>(failure.device.numel());
  return products > kMaxProducts ? std::nullopt : std::optional(in_double(*product));
}

std::string left_out(const Failure& failure, const Product& product) {
  const std::int64_t terms = product.left.size(-1);
  const LostTerms last = lost_terms(product, failure.device, failure.bench);
  if (last.count > 0) {
    return fmt::format("lost terms: sums without the last {} of {} leave {:.1g} of the error",
                       last.count, terms, last.left);
  }
  const at::Tensor error = flat(failure.device) - flat(failure.bench);
  const LostTerms lost = scattered_lost_terms(product, error);
  if (lost.count == 0) return "";
  return fmt::format("lost terms: sums without {} of {} terms leave {:.1g} of the error",
                     lost.count, terms, lost.left);
}

std::string low_sums(const Failure& failure, const Product& product) {
  const at::Tensor error = flat(failure.device) - flat(failure.bench);
  const auto found = half_sums(product, failure.device, failure.bench);
  if (!found) return "";
  const std::string type = found->type ? libtorch::text(*found->type) : "a half type";
  const double whole = root_mean_square(error);
  if (found->left) {
    return fmt::format("low-precision accumulation: sums kept in {} leave {:.1g} of the error",
                       type, *found->left);
  }
  // Rounding noise is everywhere; a fault in one place is something else.
  const double spread_out =
      std::min(error.abs().gt(whole / 16).to(at::kDouble).mean().item<double>(),
               kNoiseBeyond * beyond_share(failure));
  if (spread_out < 0.5) return "";
  return fmt::format("low-precision accumulation: sums kept in {} give an error of this size",
                     type);
}

// Of products that are not computed here: an error like noise, everywhere and of the size that
// sums in 16 bits leave.
std::string noisy_sums(const Failure& failure) {
  if (!ops::is_product(ops::traits_of(failure.bare_name)) || failure.device.is_complex()) return "";
  const at::Tensor bench = flat(failure.bench);
  const at::Tensor error = flat(failure.device) - bench;
  const double noise = root_mean_square(error);
  const double size = root_mean_square(bench);
  if (error.numel() < kNoiseElements || !std::isfinite(noise) || noise == 0) return "";
  if (noise < kLeastNoise * size || noise > kMostNoise * size) return "";
  const double mean = error.mean().item<double>();
  const double share = error.abs().gt(noise / 16).to(at::kDouble).mean().item<double>();
  const double alike = (error * bench).mean().item<double>() / (noise * size);
  const double top = error.abs().max().item<double>();
  if (std::abs(mean) > kBias * noise || share < 0.5 || std::abs(alike) > kBias) return "";
  if (top > kNoisePeak * noise) return "";  // that is an element, not noise
  return fmt::format("low-precision accumulation: noise of {:.1g} of the result everywhere",
                     noise / size);
}

}  // namespace

std::string computed_sums_cause(const Failure& failure, execute::Rerun& rerun) {
  const std::optional<Product> product = product_of(failure, rerun);
  const auto found = product ? half_sums(*product, failure.device, failure.bench) : std::nullopt;
  return found && found->left ? low_sums(failure, *product) : "";
}

std::string arithmetic_cause(const Failure& failure, execute::Rerun& rerun) {
  if (std::string cause = flushed_inputs(failure, rerun); !cause.empty()) return cause;
  if (std::string cause = rounded_inputs(failure, rerun); !cause.empty()) return cause;
  const std::optional<Product> product = product_of(failure, rerun);
  if (!product) return noisy_sums(failure);
  if (std::string cause = left_out(failure, *product); !cause.empty()) return cause;
  if (std::string cause = low_sums(failure, *product); !cause.empty()) return cause;
  return noisy_sums(failure);
}

}  // namespace msprobe::cause
