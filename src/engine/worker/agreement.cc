// SPDX-License-Identifier: Apache-2.0
#include "worker/agreement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/binary_format.h"
#include "libtorch/dtypes.h"
#include "ops/op.h"

namespace msprobe::worker {
namespace {

using execute::LeafPair;

// APIs whose results are not the same twice, for a reason that is theirs and not ours. Dtype and
// shape are compared all the same. `path`: which output, as a LeafPair has it.
std::optional<std::string_view> why_incomparable(std::string_view bare_name,
                                                 std::string_view path) {
  constexpr std::string_view kUninitialised = "uninitialised memory";
  constexpr std::string_view kWorkspacePath = "3";
  switch (ops::traits_of(bare_name).contents) {
    case ops::Contents::kDefined:
      break;
    case ops::Contents::kUninitialised:
      return kUninitialised;
    case ops::Contents::kUninitialisedTail:
      return "uninitialised memory behind the old elements";
    case ops::Contents::kUninitialisedWorkspace:
      if (path == kWorkspacePath) return kUninitialised;
      break;
    case ops::Contents::kUninitialisedPivots:
      return "LAPACK's gelsy is given uninitialised pivots";
  }
  return std::nullopt;
}

constexpr double kUlpLimit = 2;
constexpr double kOtherZero = 0.5;  // 0 and -0: not the same bits, no distance

double ulp_between(double a, double b, const BinaryFormat& format) {
  if (a == b) return std::signbit(a) == std::signbit(b) ? 0 : kOtherZero;
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
  const int exponent =
      std::max(std::ilogb(std::max(std::abs(a), std::abs(b))), format.min_exponent);
  return std::abs(a - b) / std::ldexp(1.0, exponent - format.mantissa_bits);
}

double max_ulp(const at::Tensor& bench, const at::Tensor& device) {
  if (bench.numel() == 0) return 0;
  if (bench.is_complex()) return max_ulp(at::view_as_real(bench), at::view_as_real(device));
  const auto dtype = libtorch::dtype_of(bench.scalar_type());
  const auto format = dtype ? binary_format(*dtype) : std::nullopt;
  if (!format) return at::equal(bench, device) ? 0 : INFINITY;
  const at::Tensor b = bench.to(at::kDouble);
  const at::Tensor d = device.to(at::kDouble);
  const double* bp = b.data_ptr<double>();
  const double* dp = d.data_ptr<double>();
  double worst = 0;
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    worst = std::max(worst, ulp_between(bp[i], dp[i], *format));
  }
  return worst;
}

Agreement beyond(std::string text) { return {Likeness::kBeyond, std::move(text)}; }

Agreement compare_tensors(const at::Tensor& bench, const at::Tensor& device,
                          std::optional<std::string_view> why_incomparable) {
  if (bench.scalar_type() != device.scalar_type()) {
    return beyond(fmt::format("dtype {} against recorded {}", libtorch::text(bench.scalar_type()),
                              libtorch::text(device.scalar_type())));
  }
  if (bench.sizes() != device.sizes()) {
    return beyond(fmt::format("shape ({}) against recorded ({})", fmt::join(bench.sizes(), ", "),
                              fmt::join(device.sizes(), ", ")));
  }
  const double ulp = max_ulp(libtorch::plain(bench), libtorch::plain(device));
  if (ulp == 0) return {};
  if (ulp <= kUlpLimit) return {Likeness::kClose, fmt::format("{:.3g} ulp", ulp)};
  if (why_incomparable) return {Likeness::kNotComparable, std::string(*why_incomparable)};
  return beyond(fmt::format("{:.3g} ulp", ulp));
}

}  // namespace

Agreement compare(const LeafPair& pair, std::string_view bare_name) {
  if (pair.state != LeafPair::State::kBoth) return beyond("fewer outputs recorded, or other keys");
  const auto* bench = pair.bench.as<at::Tensor>();
  const auto* device = pair.device.as<at::Tensor>();
  if (bench != nullptr && device != nullptr) {
    return compare_tensors(*bench, *device, why_incomparable(bare_name, pair.path));
  }
  if (pair.bench.data.index() != pair.device.data.index()) {
    return beyond(fmt::format("value of kind {} against recorded kind {}", pair.bench.data.index(),
                              pair.device.data.index()));
  }
  const auto differs = [&]<class T>(const T* a, const T* b) { return a != nullptr && *a != *b; };
  if (differs(pair.bench.as<bool>(), pair.device.as<bool>()) ||
      differs(pair.bench.as<std::int64_t>(), pair.device.as<std::int64_t>()) ||
      differs(pair.bench.as<double>(), pair.device.as<double>()) ||
      differs(pair.bench.as<std::string>(), pair.device.as<std::string>())) {
    return beyond("another value");
  }
  return {};
}

}  // namespace msprobe::worker
