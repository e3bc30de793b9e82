// SPDX-License-Identifier: Apache-2.0
#include "strict/kernels.h"

#include <algorithm>
#include <cstdint>

namespace msprobe::strict {
namespace {

constexpr double kFloat32Eps = 0x1p-23;

// exp(x) is 2^k times the Taylor polynomial of degree 5 of exp(r), |r| <= ln(2)/2, in float32. What
// the polynomial leaves out, r^6/720, is 29 eps of exp(r) at r = -ln(2)/2; the rest are roundings.
constexpr double kExponential = 32 * kFloat32Eps;
// 1 + x is rounded before its logarithm is taken, and exp(x) before 1 is subtracted: each by half a
// unit of a number between 1 and 2, and the function adds its own.
constexpr double kAddedOne = 2;

enum class Made : std::uint8_t {
  kOfExponential,        // the result is made of exp of the arguments
  kGradientOfExponent,   // the gradient has a factor exp; the result has not
  kWithOneAdded,         // log(1 + x), exp(x) - 1
  kOfOneAndExponential,  // log(1 + exp(x))
};

struct Row {
  std::string_view name;
  Made made;
};
constexpr Row kRows[] = {
    {"binary_cross_entropy_with_logits", Made::kOfOneAndExponential},
    {"celu", Made::kOfExponential},
    {"elu", Made::kOfExponential},
    {"erf", Made::kGradientOfExponent},
    {"erfc", Made::kGradientOfExponent},
    {"erfinv", Made::kGradientOfExponent},
    {"exp", Made::kOfExponential},
    {"expit", Made::kOfExponential},
    {"expm1", Made::kWithOneAdded},
    {"log1p", Made::kWithOneAdded},
    {"log_softmax", Made::kOfExponential},
    {"logsigmoid", Made::kOfOneAndExponential},
    {"logsumexp", Made::kOfExponential},
    {"mish", Made::kOfOneAndExponential},
    {"selu", Made::kOfExponential},
    {"sigmoid", Made::kOfExponential},
    {"silu", Made::kOfExponential},
    {"softmax", Made::kOfExponential},
    {"softplus", Made::kOfOneAndExponential},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

// "special.log1p" and "exp_" are log1p and exp.
std::string_view function_of(std::string_view bare_name) {
  bare_name.remove_prefix(bare_name.rfind('.') + 1);
  if (bare_name.ends_with('_') && !bare_name.ends_with("__")) bare_name.remove_suffix(1);
  return bare_name;
}

}  // namespace

KernelError mindspore_kernel(std::string_view bare_name, Direction direction,
                             const FloatType& type) {
  const std::string_view function = function_of(bare_name);
  const auto row = std::ranges::lower_bound(kRows, function, {}, &Row::name);
  if (row == std::end(kRows) || row->name != function) return {};
  const bool backward = direction == Direction::kBackward;
  KernelError error;
  const bool exponential =
      row->made == Made::kOfExponential || row->made == Made::kOfOneAndExponential;
  if (exponential) error.argument = kExponential;
  if (exponential || (backward && row->made == Made::kGradientOfExponent)) {
    error.relative = kExponential;
  }
  const bool one = row->made == Made::kWithOneAdded || row->made == Made::kOfOneAndExponential;
  if (one && !backward) error.absolute = kAddedOne * type.eps;
  return error;
}

}  // namespace msprobe::strict
