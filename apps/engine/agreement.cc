#include "agreement.h"

#include <cmath>

#include <fmt/format.h>

#include "libtorch/dtypes.h"

namespace msprobe::engine {
namespace {

using execute::LeafPair;

int mantissa_bits(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return 10;
    case at::kBFloat16:
      return 7;
    case at::kFloat:
      return 23;
    default:
      return 52;
  }
}

int min_exponent(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return -14;
    case at::kDouble:
      return -1022;
    default:
      return -126;
  }
}

double max_ulp(const at::Tensor& bench, const at::Tensor& device) {
  if (bench.numel() == 0) return 0;
  if (bench.is_complex())
    return max_ulp(at::view_as_real(bench.resolve_conj()), at::view_as_real(device.resolve_conj()));
  if (!bench.is_floating_point()) return at::equal(bench, device) ? 0 : INFINITY;
  const at::Tensor b = bench.to(at::kDouble).contiguous();
  const at::Tensor d = device.to(at::kDouble).contiguous();
  const double* bp = b.data_ptr<double>();
  const double* dp = d.data_ptr<double>();
  const int bits = mantissa_bits(bench.scalar_type());
  const int lowest = min_exponent(bench.scalar_type());
  double worst = 0;
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    if (bp[i] == dp[i] || (std::isnan(bp[i]) && std::isnan(dp[i]))) continue;
    if (!std::isfinite(bp[i]) || !std::isfinite(dp[i])) return INFINITY;
    const double size = std::max(std::abs(bp[i]), std::abs(dp[i]));
    const int exponent = std::max(size > 0 ? std::ilogb(size) : lowest, lowest);
    worst = std::max(worst, std::abs(bp[i] - dp[i]) / std::ldexp(1.0, exponent - bits));
  }
  return worst;
}

Agreement compare_tensors(const at::Tensor& bench, const at::Tensor& device) {
  if (bench.scalar_type() != device.scalar_type()) {
    return {false, 0,
            fmt::format("dtype {} against recorded {}", libtorch::text(bench.scalar_type()),
                        libtorch::text(device.scalar_type()))};
  }
  if (bench.sizes() != device.sizes()) {
    return {false, 0,
            fmt::format("shape ({}) against recorded ({})", fmt::join(bench.sizes(), ", "),
                        fmt::join(device.sizes(), ", "))};
  }
  const double ulp = max_ulp(libtorch::plain(bench), libtorch::plain(device));
  return {true, ulp, ulp == 0 ? "" : fmt::format("{:.3g} ulp", ulp)};
}

}  // namespace

Agreement compare(const LeafPair& pair) {
  if (pair.state != LeafPair::State::kBoth)
    return {false, 0, "fewer outputs recorded, or other keys"};
  const auto* bench = pair.bench.as<at::Tensor>();
  const auto* device = pair.device.as<at::Tensor>();
  if (bench != nullptr && device != nullptr) return compare_tensors(*bench, *device);
  if (pair.bench.data.index() != pair.device.data.index()) {
    return {false, 0,
            fmt::format("value of kind {} against recorded kind {}", pair.bench.data.index(),
                        pair.device.data.index())};
  }
  const auto differs = [&]<class T>(const T* a, const T* b) { return a != nullptr && *a != *b; };
  if (differs(pair.bench.as<bool>(), pair.device.as<bool>()) ||
      differs(pair.bench.as<std::int64_t>(), pair.device.as<std::int64_t>()) ||
      differs(pair.bench.as<double>(), pair.device.as<double>()) ||
      differs(pair.bench.as<std::string>(), pair.device.as<std::string>())) {
    return {true, INFINITY, "another value"};
  }
  return {};
}

}  // namespace msprobe::engine
