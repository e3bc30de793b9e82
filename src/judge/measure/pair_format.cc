// SPDX-License-Identifier: Apache-2.0
#include "measure/pair_format.h"

#include "core/binary_format.h"

namespace msprobe::measure {
namespace {

// The host array a dtype is held in.
FloatFormat array_format(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kComplex32:
      return kHalf;
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kComplex64:
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kHiFloat8:
    case DType::kFloat8E4M3Fnuz:
    case DType::kFloat8E5M2Fnuz:
    case DType::kFloat8E8M0:
    case DType::kFloat4E2M1x2:
      return kSingle;
    default:
      return kDouble;
  }
}

void set_limits(PairFormat& format, DType device) {
  format.infinite_from = format.device.overflow;
  format.nan_above = kInfinity;
  switch (device) {
    case DType::kBFloat16:
      format.infinite_from = 0x1.ffp127;  // half a unit above the largest, 2^128 - 2^119
      return;
    case DType::kFloat8E5M2:
      format.infinite_from = 61440;  // half-way between 57344 and 2^16
      return;
    case DType::kHiFloat8:
      format.infinite_from = 40960;  // half-way between 2^15 and the code of infinity
      return;
    case DType::kFloat8E4M3:
      format.infinite_from = kInfinity;
      format.nan_above = 464;  // half-way between 448 and the code of NaN; the tie is even
      return;
    case DType::kFloat8E4M3Fnuz:
      format.infinite_from = kInfinity;
      format.nan_above = 248;  // half-way between 240 and the next number, which is NaN
      return;
    case DType::kFloat8E5M2Fnuz:
      format.infinite_from = kInfinity;
      format.nan_above = 61440;
      return;
    case DType::kFloat8E8M0:
      format.infinite_from = kInfinity;
      format.nan_above = 0x1.8p127;
      return;
    default:
      return;
  }
}

void set_ulp(PairFormat& format, DType device) {
  if (is_float8(device)) format.ulp = UlpKind::kFloat8;
  if (!is_float(device) || device == DType::kFloat64) return;
  const BinaryFormat binary = *binary_format(device);
  format.ulp = UlpKind::kBinary;
  format.ulp_mantissa_bits = binary.mantissa_bits;
  format.ulp_smallest_normal = std::ldexp(1.0, binary.min_exponent);
}

}  // namespace

PairFormat pair_format(DType device, DType bench) {
  PairFormat format{.device = array_format(device),
                    .bench = array_format(bench),
                    .eps = 0,
                    .infinite_from = 0,
                    .nan_above = 0};
  format.eps = device == DType::kBFloat16 ? 0x1p-8 : array_format(bench).eps;
  set_limits(format, device);
  set_ulp(format, device);
  return format;
}

}  // namespace msprobe::measure
