// SPDX-License-Identifier: Apache-2.0
#include "identify/reference_function.h"

#include <cfloat>
#include <cmath>
#include <limits>

#include "identify/numbers.h"

// The width that decides. Where long double has it already (aarch64), that is the one width there
// is; elsewhere glibc has the functions in libm for every compiler, and its header shows them to
// some.
#if LDBL_MANT_DIG == 113
#define MSPROBE_ONE_WIDTH 1
using Quad = long double;
#elif defined(__HAVE_FLOAT128) && __HAVE_FLOAT128
using Quad = _Float128;
#else
using Quad = __float128;
extern "C" {
Quad expf128(Quad) noexcept;
Quad exp2f128(Quad) noexcept;
Quad expm1f128(Quad) noexcept;
Quad logf128(Quad) noexcept;
Quad log2f128(Quad) noexcept;
Quad log10f128(Quad) noexcept;
Quad log1pf128(Quad) noexcept;
Quad sinf128(Quad) noexcept;
Quad cosf128(Quad) noexcept;
Quad tanf128(Quad) noexcept;
Quad atanf128(Quad) noexcept;
Quad acosf128(Quad) noexcept;
Quad tanhf128(Quad) noexcept;
Quad sinhf128(Quad) noexcept;
Quad erff128(Quad) noexcept;
Quad erfcf128(Quad) noexcept;
Quad sqrtf128(Quad) noexcept;
Quad powf128(Quad, Quad) noexcept;
}
#endif

namespace msprobe::identify {
namespace {

// One name for a function in both widths.
#ifdef MSPROBE_ONE_WIDTH
#define MSPROBE_BOTH(name) \
  Quad name##_of(Quad x) { return std::name(x); }
#else
#define MSPROBE_BOTH(name)                                      \
  long double name##_of(long double x) { return std::name(x); } \
  Quad name##_of(Quad x) { return name##f128(x); }
#endif
MSPROBE_BOTH(exp)
MSPROBE_BOTH(exp2)
MSPROBE_BOTH(expm1)
MSPROBE_BOTH(log)
MSPROBE_BOTH(log2)
MSPROBE_BOTH(log10)
MSPROBE_BOTH(log1p)
MSPROBE_BOTH(sin)
MSPROBE_BOTH(cos)
MSPROBE_BOTH(tan)
MSPROBE_BOTH(atan)
MSPROBE_BOTH(acos)
MSPROBE_BOTH(tanh)
MSPROBE_BOTH(sinh)
MSPROBE_BOTH(erf)
MSPROBE_BOTH(erfc)
MSPROBE_BOTH(sqrt)
#undef MSPROBE_BOTH

template <class T>
T pow_of(T x);
template <>
long double pow_of(long double x) {
  return std::pow(x, static_cast<long double>(kPowExponent));
}
#ifndef MSPROBE_ONE_WIDTH
template <>
Quad pow_of(Quad x) {
  return powf128(x, static_cast<Quad>(kPowExponent));
}
#endif

template <class T>
T reciprocal_of(T x) {
  return 1 / x;
}
template <class T>
T rsqrt_of(T x) {
  return 1 / sqrt_of(x);
}
template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + exp_of(-x));
}
template <class T>
T silu_of(T x) {
  return x / (1 + exp_of(-x));
}
template <class T>
T gelu_of(T x) {  // without the cancellation of 1 + erf
  return x / 2 * erfc_of(-x * sqrt_of(static_cast<T>(0.5)));
}
template <class T>
T gelu_tanh_of(T x) {  // x (1 + tanh(u)) / 2, again without cancellation
  const T pi = acos_of(static_cast<T>(-1));
  const T cubic = static_cast<T>(44715) / 1000000;
  const T u = sqrt_of(2 / pi) * (x + cubic * x * x * x);
  return x / (1 + exp_of(-2 * u));
}

template <Quad (*kFunction)(Quad)>
int compare(double x, long double middle) {
  const Quad value = kFunction(static_cast<Quad>(x));
  const Quad other = static_cast<Quad>(middle);
  return value < other ? -1 : (value > other ? 1 : 0);
}

#define MSPROBE_ROW(name) {#name, &name##_of, &compare<&name##_of>}
constexpr ReferenceFunction kFunctions[] = {
    MSPROBE_ROW(exp),   MSPROBE_ROW(exp2),       MSPROBE_ROW(expm1),     MSPROBE_ROW(log),
    MSPROBE_ROW(log2),  MSPROBE_ROW(log10),      MSPROBE_ROW(log1p),     MSPROBE_ROW(sin),
    MSPROBE_ROW(cos),   MSPROBE_ROW(tan),        MSPROBE_ROW(atan),      MSPROBE_ROW(sinh),
    MSPROBE_ROW(tanh),  MSPROBE_ROW(erf),        MSPROBE_ROW(erfc),      MSPROBE_ROW(sigmoid),
    MSPROBE_ROW(silu),  MSPROBE_ROW(gelu),       MSPROBE_ROW(gelu_tanh), MSPROBE_ROW(sqrt),
    MSPROBE_ROW(rsqrt), MSPROBE_ROW(reciprocal), MSPROBE_ROW(pow),
};
#undef MSPROBE_ROW

constexpr long double kSlack = 0x1p-50L;

// Of finite numbers, to nearest even; infinite from half a unit beyond the largest number on.
double round_to(DType dtype, long double value) {
  const FloatParts format = format_of(dtype);
  const int exponent = value == 0 ? format.least_exponent : std::ilogb(value);
  const long double unit =
      std::ldexp(1.0L, std::max(exponent, format.least_exponent) - format.fraction_bits);
  const long double near = std::nearbyint(value / unit) * unit;
  if (std::fabs(near) <= static_cast<long double>(format.largest)) return static_cast<double>(near);
  return std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(value));
}

}  // namespace

std::span<const ReferenceFunction> reference_functions() { return kFunctions; }

Exact evaluate(const ReferenceFunction& function, DType dtype, double x) {
  const long double value = function.quick(x);
  if (!std::isfinite(value)) return {value, static_cast<double>(value)};
  const double low = round_to(dtype, value - std::fabs(value) * kSlack);
  const double high = round_to(dtype, value + std::fabs(value) * kSlack);
  if (low == high) return {value, std::copysign(low, static_cast<double>(value))};
  // Neighbours. Beyond the largest number the next one would be a unit away.
  const FloatParts format = format_of(dtype);
  const long double unit = unit_at(dtype, format.largest);
  const long double from = std::isinf(low) ? -(format.largest + unit) : low;
  const long double to = std::isinf(high) ? format.largest + unit : high;
  const long double middle = (from + to) / 2;
  const int side = function.against(x, middle);
  if (side != 0) return {value, side < 0 ? low : high};
  return {value, round_to(dtype, middle)};
}

double correctly_rounded(const ReferenceFunction& function, DType dtype, double x) {
  return evaluate(function, dtype, x).rounded;
}

}  // namespace msprobe::identify
