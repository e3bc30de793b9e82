#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "libtorch/dtypes.h"
#include "strict/cause.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyList;

// A computed hypothesis fits when it leaves less than this share of the error.
constexpr double kLeft = 0.3;
// In another order of summation the same rounding gives an error of about the same size.
constexpr double kLeastRatio = 1.0 / 8;
constexpr double kLargestRatio = 4;
// At least one element in fifty is beyond the bound then.
constexpr double kNoiseBeyond = 25;
constexpr double kMaxProducts = 1 << 27;

at::Tensor flat(const at::Tensor& tensor) {
  const at::Tensor plain = libtorch::plain(tensor);
  return (plain.is_complex() ? at::view_as_real(plain) : plain).to(at::kDouble).flatten();
}

double rms(const at::Tensor& difference) {
  return std::sqrt(difference.square().nan_to_num(0, 0, 0).mean().item<double>());
}

// float32 with fewer mantissa bits, rounded to nearest.
at::Tensor kept_bits(const at::Tensor& tensor, int bits) {
  const at::Tensor parts = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  const at::Tensor wide = parts.to(at::kDouble);
  // x + c - c with c = x * 2^(53 - bits - 1) * 1.5 would overflow; frexp does not.
  auto [mantissa, exponent] = at::frexp(wide);
  const double unit = std::ldexp(1.0, bits + 1);
  const at::Tensor rounded =
      at::ldexp((mantissa * unit).round() / unit, exponent).to(parts.scalar_type());
  return tensor.is_complex() ? at::view_as_complex(rounded.contiguous()) : rounded;
}

struct InputRounding {
  int bits;
  std::string_view name;
};
constexpr InputRounding kInputRoundings[] = {
    {10, "TF32 inputs"}, {11, "HF32 inputs"}, {7, "bfloat16 inputs"}};

std::string rounded_inputs(const Failure& failure, execute::Rerun& rerun) {
  if (failure.type.eps != std::ldexp(1.0, -23)) return "";
  const at::Tensor device = flat(failure.device);
  const double whole = rms(device - flat(failure.bench));
  double least = kLeft * whole;
  std::string found;
  for (const InputRounding& rounding : kInputRoundings) {
    execute::Variation variation = failure.how;
    variation.change = [&](const at::Tensor& raised, at::ScalarType recorded) {
      const auto type = float_type(recorded);
      const bool wider = type && type->eps < std::ldexp(1.0, -rounding.bits);
      return wider ? kept_bits(raised, rounding.bits) : raised;
    };
    const auto leaves = rerun.run(variation);
    if (!leaves) continue;
    const LeafTensors tensors = tensors_of(*leaves);
    const auto leaf = tensors.find({failure.direction, failure.path});
    if (leaf == tensors.end() || leaf->second.sizes() != failure.device.sizes()) continue;
    const double left = rms(device - flat(leaf->second));
    if (left >= least) continue;
    least = left;
    found = fmt::format("{}: with inputs kept to {} bits the benchmark leaves {:.1g} of the error",
                        rounding.name, rounding.bits, left / whole);
  }
  return found;
}

// A result that is left @ right + added.
struct Product {
  at::Tensor left, right, added;
};

const at::Tensor* tensor_at(const PyCall& call, std::size_t place, std::string_view name) {
  for (const auto& [key, value] : call.kwargs) {
    if (key == name) return value.as<at::Tensor>();
  }
  return place < call.args.size() ? call.args[place].as<at::Tensor>() : nullptr;
}

bool is_matmul(std::string_view name) {
  constexpr std::string_view kNames[] = {"matmul", "mm", "bmm", "__matmul__", "linalg.matmul"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

at::Tensor wide(const at::Tensor& tensor) { return libtorch::plain(tensor).to(at::kDouble); }

std::optional<Product> forward_product(std::string_view name, const PyCall& call) {
  const at::Tensor* first = tensor_at(call, 0, "input");
  const at::Tensor* second = tensor_at(call, 1, name == "linear" ? "weight" : "other");
  if (first == nullptr) return std::nullopt;
  if (name == "sum" && call.args.size() + call.kwargs.size() == 1) {
    const at::Tensor row = wide(*first).reshape({1, -1});
    return Product{row, at::ones({row.size(1), 1}, at::kDouble), {}};
  }
  if (second == nullptr || first->dim() < 2 || second->dim() < 2) return std::nullopt;
  if (is_matmul(name)) return Product{wide(*first), wide(*second), {}};
  if (name != "linear") return std::nullopt;
  const at::Tensor* bias = tensor_at(call, 2, "bias");
  return Product{wide(*first), wide(*second).t(), bias == nullptr ? at::Tensor() : wide(*bias)};
}

std::optional<Product> gradient_product(std::string_view name, const PyCall& call,
                                        const PyList& arriving, std::string_view path) {
  const auto* weight = arriving.empty() ? nullptr : arriving.front().as<at::Tensor>();
  const auto forward = forward_product(name, call);
  if (weight == nullptr || !forward || name == "sum") return std::nullopt;
  const at::Tensor gradient = wide(*weight);
  const bool linear = name == "linear";
  if (path == "0") return Product{gradient, forward->right.mT(), {}};
  if (path != "1") return std::nullopt;
  const auto rows = [](const at::Tensor& t) { return t.reshape({-1, t.size(-1)}); };
  if (linear) return Product{rows(gradient).t(), rows(forward->left), {}};
  return Product{forward->left.mT(), gradient, {}};
}

// One term after another, the sum rounded to `type` every time.
at::Tensor summed_in(const Product& product, at::ScalarType type) {
  at::Tensor sum;
  for (std::int64_t k = 0; k < product.left.size(-1); ++k) {
    const at::Tensor term = product.left.narrow(-1, k, 1) * product.right.narrow(-2, k, 1);
    sum = (sum.defined() ? sum + term : term).to(type).to(at::kDouble);
  }
  return product.added.defined() ? sum + product.added : sum;
}

double beyond_share(const Failure& failure) {
  return beyond_mask(failure.device, failure.bench, failure.limits)
      .to(at::kDouble)
      .mean()
      .item<double>();
}

std::string low_sums(const Failure& failure, execute::Rerun& rerun) {
  const auto call = rerun.arguments();
  const auto arriving = rerun.arriving();
  if (!call || !arriving || failure.device.is_complex()) return "";
  const auto product = failure.direction == Direction::kForward
                           ? forward_product(failure.bare_name, **call)
                           : gradient_product(failure.bare_name, **call, **arriving, failure.path);
  if (!product) return "";
  const double products =
      static_cast<double>(product->left.size(-1)) * static_cast<double>(failure.device.numel());
  if (products > kMaxProducts) return "";
  const at::Tensor device = flat(failure.device);
  const at::Tensor bench = flat(failure.bench);
  const at::Tensor error = device - bench;
  const double whole = rms(error);
  // Rounding noise is everywhere; a fault in one place is something else.
  const double spread_out =
      std::min(error.abs().gt(whole / 16).to(at::kDouble).mean().item<double>(),
               kNoiseBeyond * beyond_share(failure));
  std::string found;
  double nearest = INFINITY;
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor sum = flat(summed_in(*product, type));
    if (sum.numel() != device.numel()) return "";
    const double left = rms(device - sum);
    const double ratio = whole / rms(sum - bench);
    if (left <= kLeft * whole) {
      return fmt::format("low-precision accumulation: sums kept in {} leave {:.1g} of the error",
                         libtorch::text(type), left / whole);
    }
    const double distance = std::abs(std::log(ratio));
    if (spread_out < 0.5 || ratio < kLeastRatio || ratio > kLargestRatio || distance >= nearest)
      continue;
    nearest = distance;
    found = fmt::format("low-precision accumulation: sums kept in {} give an error of this size",
                        libtorch::text(type));
  }
  return found;
}

}  // namespace

std::string arithmetic_cause(const Failure& failure, execute::Rerun& rerun) {
  if (std::string cause = rounded_inputs(failure, rerun); !cause.empty()) return cause;
  return low_sums(failure, rerun);
}

}  // namespace msprobe::strict
