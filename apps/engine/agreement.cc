#include "agreement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "incomparable.h"
#include "libtorch/dtypes.h"

namespace msprobe::engine {
namespace {

using execute::LeafPair;

constexpr double kUlpLimit = 2;
constexpr double kOtherZero = 0.5;  // 0 and -0: not the same bits, no distance

struct Format {
  DType dtype;
  int mantissa_bits;
  int min_exponent;
};
constexpr Format kFormats[] = {
    {DType::kFloat16, 10, -14},   {DType::kBFloat16, 7, -126}, {DType::kFloat32, 23, -126},
    {DType::kFloat64, 52, -1022}, {DType::kFloat8E4M3, 3, -6}, {DType::kFloat8E5M2, 2, -14},
};

double ulp_between(double a, double b, const Format& format) {
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
  const auto* format = std::ranges::find(kFormats, dtype, &Format::dtype);
  if (format == std::end(kFormats)) return at::equal(bench, device) ? 0 : INFINITY;
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

}  // namespace msprobe::engine
