// SPDX-License-Identifier: Apache-2.0
#include "strict/mindspore_kernel.h"

#include "ops/op.h"
#include "strict/bound.h"

namespace msprobe::strict {
namespace {

// exp(x) is 2^k times the Taylor polynomial of degree 5 of exp(r), |r| <= ln(2)/2, in float32. What
// the polynomial leaves out, r^6/720, is 29 eps of exp(r) at r = -ln(2)/2; the rest are roundings.
constexpr double kExponential = 32 * kFloatEps;
// 1 + x is rounded before its logarithm is taken, and exp(x) before 1 is subtracted: each by half a
// unit of a number between 1 and 2, and the function adds its own.
constexpr double kAddedOne = 2;

// "special.log1p" and "exp_" are log1p and exp.
std::string_view function_of(std::string_view bare_name) {
  bare_name.remove_prefix(bare_name.rfind('.') + 1);
  if (bare_name.ends_with('_') && !bare_name.ends_with("__")) bare_name.remove_suffix(1);
  return bare_name;
}

}  // namespace

KernelError mindspore_kernel(std::string_view bare_name, Direction direction,
                             const FloatType& type) {
  using ops::Made;
  const Made made = ops::traits_of(function_of(bare_name)).made;
  const bool backward = direction == Direction::kBackward;
  KernelError error;
  const bool exponential = made == Made::kOfExponential || made == Made::kOfOneAndExponential;
  if (exponential) error.argument = kExponential;
  if (exponential || (backward && made == Made::kGradientOfExponential)) {
    error.relative = kExponential;
  }
  const bool one = made == Made::kOfOneAdded || made == Made::kOfOneAndExponential;
  if (one && !backward) error.absolute = kAddedOne * type.eps;
  return error;
}

}  // namespace msprobe::strict
