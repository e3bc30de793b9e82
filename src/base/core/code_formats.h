// SPDX-License-Identifier: Apache-2.0
// Numbers of at most 8 bits: what every code means, and which code a number becomes. The one place
// that knows these formats; docs/low_precision.md lists them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/dtype.h"

namespace msprobe {

enum class CodeFormat : std::uint8_t {
  kE4M3Fn,    // OCP E4M3: no infinity, one NaN of each sign
  kE5M2,      // as IEEE has it
  kE4M3Fnuz,  // bias one larger; no infinity, no -0, whose code is the only NaN
  kE5M2Fnuz,
  kE8M0,  // a power of two: no sign, no zero
  kE2M1,  // 4 bits, in the low half of a byte
  kE3M2,  // 6 bits
  kE2M3,  // 6 bits
  kHiFloat8,
};
inline constexpr std::size_t kCodeFormats = 9;

std::string_view name(CodeFormat format);  // "e4m3fn"
int bits(CodeFormat format);

// What every code means; of a format with fewer than 8 bits, the upper ones are ignored.
const std::array<float, 256>& values_of(CodeFormat format);

// What a finite number beyond the range becomes, and an infinity.
enum class Beyond : std::uint8_t {
  kAsPyTorch,  // e4m3fn, e2m1, e3m2, e2m3: the largest number; e5m2, HiFloat8: infinity; others:
               // NaN
  kSaturates,  // the largest number
  kNotFinite,  // infinity, or NaN where the format has none
};

// The code nearest to `value`, rounded once: ties to the even code, of HiFloat8 away from zero, of
// e8m0 up. e8m0 ignores the sign, and zero is its least number, as in PyTorch. NaN has the code
// that PyTorch gives it (with the sign, where there are two); a format without NaN has its largest
// number there.
std::uint8_t encode(CodeFormat format, double value, Beyond beyond = Beyond::kAsPyTorch);

// The finite numbers next to a finite `value`, lower and upper: the same twice where the format has
// it, the outermost one beyond the range. What stochastic rounding may choose from.
struct CodeNeighbours {
  double lower, upper;
};
CodeNeighbours neighbours(CodeFormat format, double value);

double largest(CodeFormat format);

// Nothing: a dtype whose elements are not such codes. float4_e2m1fn_x2 has two in each element.
std::optional<CodeFormat> code_format(DType dtype);

}  // namespace msprobe
