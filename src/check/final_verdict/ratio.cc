// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace msprobe::final_verdict {
namespace {

// decisions: the smallest step of the dtype at 1.
double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-8;
    default:
      return 0x1p-23;
  }
}

// Public tool: the least the reference device's metric counts for.
double least_divisor(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kBFloat16:
      return 0x1p-8;
    default:
      return 0x1p-14;
  }
}

bool alike(double device, double reference_device) {
  if (std::isinf(device) || std::isinf(reference_device)) return device == reference_device;
  return std::isnan(device) && std::isnan(reference_device);
}

double plain_ratio(double device, double reference_device, DType dtype) {
  if (reference_device != 0) return device / reference_device;
  return device <= epsilon(dtype) ? 1 : std::numeric_limits<double>::infinity();
}

}  // namespace

Ratio ratio(double device, double reference_device, DType dtype, documented::Profile profile) {
  if (!std::isfinite(device) || !std::isfinite(reference_device)) {
    return {
        .value = std::numeric_limits<double>::quiet_NaN(),
        .finite = alike(device, reference_device) ? Ratio::Finite::kSame : Ratio::Finite::kDiffers};
  }
  const double d = std::abs(device);
  const double r = std::abs(reference_device);
  if (profile == documented::Profile::kDocumented) return {.value = plain_ratio(d, r, dtype)};
  return {.value = d / std::max(r, least_divisor(dtype))};
}

}  // namespace msprobe::final_verdict
