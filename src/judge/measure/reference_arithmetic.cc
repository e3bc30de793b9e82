// SPDX-License-Identifier: Apache-2.0
// The arithmetic of today's public tool: every operation is rounded to the type that tool computes
// it in. An operation on float32 or float16 done in double and then rounded gives what that type's
// own operation gives, because a double has more than twice their bits.
#include <algorithm>
#include <array>

#include "measure/tensor_pair.h"
#include "measure/widen.h"

namespace msprobe::measure {
namespace {

struct Half {
  static constexpr const FloatFormat& kFormat = kHalf;
  static double round(double value) { return round_to(kHalf, value); }
};
struct Single {
  static constexpr const FloatFormat& kFormat = kSingle;
  static double round(double value) { return static_cast<float>(value); }
};
struct Double {
  static constexpr const FloatFormat& kFormat = kDouble;
  static double round(double value) { return value; }
};

template <class A, class B>
using Wider = std::conditional_t<(A::kFormat.mantissa_bits > B::kFormat.mantissa_bits), A, B>;

// floor(log2(bench)) as a logarithm rounded to T gives it: just below a power of two that rounds
// up. Far from one, the exponent bits say the same.
template <class T>
double floor_log2(double magnitude) {
  const double power = power_of_two_below(magnitude);
  if constexpr (!std::is_same_v<T, Half>) {
    if (power > 0 && magnitude < 1.999 * power) return std::ilogb(power);
  }
  return std::floor(T::round(std::log2(magnitude)));
}

// The thresholds, each rounded to the type it is compared in.
template <class Bench, class Wide, class Ulp>
struct Limits {
  explicit Limits(const TensorPair& pair)
      : small_value(Bench::round(pair.thresholds.small_value)),
        small_value_atol(Wide::round(pair.thresholds.small_value_atol)),
        absolute_small_value_atol(Wide::round(pair.thresholds.absolute_small_value_atol)),
        rtol(Wide::round(pair.thresholds.rtol)),
        ulp_count(Ulp::round(pair.thresholds.ulp_count)),
        accumulative_bound(Wide::round(pair.thresholds.accumulative_bound)),
        clip(pair.device.dtype == DType::kBFloat16 ? 0x1.fep127 : pair.format.device.largest) {}

  double small_value;
  double small_value_atol;
  double absolute_small_value_atol;
  double rtol;
  double ulp_count;
  double accumulative_bound;
  double clip;
  double within_100 = Wide::round(0.01);
  double within_1000 = Wide::round(0.001);
  double within_10000 = Wide::round(0.0001);
};

// Device, Bench: the host types of the two sides. Ulp: the working type of the ULP error.
template <class Device, class Bench, class Ulp>
class ReferenceLoop {
 public:
  explicit ReferenceLoop(const TensorPair& pair)
      : format_(pair.format), limits_(pair), narrow_bench_(pair.device.dtype == DType::kBFloat16) {}

  void add(double device, double bench_as_stored) {
    const double bench = narrow_bench_ ? Single::round(bench_as_stored) : bench_as_stored;
    const double magnitude = std::abs(bench);
    const double difference = Wide::round(device - bench);
    const double error = std::abs(difference);
    const double denominator = Bench::round(magnitude + format_.eps);
    const double relative = Wide::round(error / denominator);
    const double cast = Device::round(bench);

    tally_.count += 1;
    tally_.device_abs_max = larger(tally_.device_abs_max, std::abs(device));
    tally_.bench_abs_max = larger(tally_.bench_abs_max, magnitude);
    tally_.max_abs_error = larger(tally_.max_abs_error, error);
    tally_.within_100 += relative < limits_.within_100 ? 1 : 0;
    tally_.within_1000 += relative < limits_.within_1000 ? 1 : 0;
    tally_.within_10000 += relative < limits_.within_10000 ? 1 : 0;
    tally_.different += device != bench ? 1 : 0;
    tally_.balance += (device > cast ? 1 : 0) - (device < cast ? 1 : 0);

    if (std::isfinite(device) && std::isfinite(cast)) {
      add_finite(magnitude, error, relative);
    } else {
      add_not_finite(device, cast, denominator);
    }
    add_ulp(device, bench, difference);
    tally_.products.dot += device * bench;
    tally_.products.device_squares += device * device;
    tally_.products.bench_squares += bench * bench;
  }

  const Tally& tally() const { return tally_; }

 private:
  using Wide = Wider<Device, Bench>;

  void add_finite(double magnitude, double error, double relative) {
    if (magnitude <= limits_.small_value) {
      tally_.small += 1;
      tally_.small_errors += error > limits_.small_value_atol ? 1 : 0;
      tally_.absolute_small_errors += error > limits_.absolute_small_value_atol ? 1 : 0;
    } else {
      tally_.normal += 1;
      tally_.relative_errors += relative > limits_.rtol ? 1 : 0;
      tally_.error_squares += Wide::round(error * error);
      tally_.relative_errors_sum += relative;
      tally_.max_relative_error = larger(tally_.max_relative_error, relative);
    }
    if (magnitude <= 1) {
      tally_.accumulative_small += 1;
      tally_.accumulative_small_errors += error > limits_.accumulative_bound ? 1 : 0;
    } else {
      tally_.accumulative_normal += 1;
      tally_.accumulative_relative_errors += relative > limits_.accumulative_bound ? 1 : 0;
    }
  }

  // std::clamp leaves a NaN as it is. The difference of the two ends of the range overflows; over
  // an infinite bench that is NaN, not a match.
  void add_not_finite(double device, double cast, double denominator) {
    const double clipped = std::clamp(cast, -limits_.clip, limits_.clip);
    const double distance =
        std::abs(Device::round(std::clamp(device, -limits_.clip, limits_.clip) - clipped));
    const double relative = Wide::round(distance / denominator);
    const bool both_nan = std::isnan(device) && std::isnan(clipped);
    tally_.not_finite += 1;
    tally_.not_finite_errors += relative <= limits_.rtol || both_nan ? 0 : 1;
    tally_.accumulative_not_finite_errors +=
        relative <= limits_.accumulative_bound || both_nan ? 0 : 1;
  }

  void add_ulp(double device, double bench, double difference) {
    if (format_.ulp == UlpKind::kNone) return;
    const double ulp = format_.ulp == UlpKind::kFloat8 ? float8_ulp_error(device, bench)
                                                       : binary_ulp_error(bench, difference);
    tally_.max_ulp_error = larger(tally_.max_ulp_error, ulp);
    tally_.ulp_errors_sum += ulp;
    tally_.ulp_errors += ulp > limits_.ulp_count ? 1 : 0;
  }

  double binary_ulp_error(double bench, double difference) const {
    const double lowest = std::ilogb(format_.ulp_smallest_normal);
    const double exponent = bench == 0 ? 0.0 : floor_log2<Ulp>(std::abs(bench));
    const double power = format_.ulp_mantissa_bits - std::max(exponent, lowest);
    // The exponent of a NaN is NaN, that of an infinity infinite.
    const double scale =
        std::isfinite(power) ? std::ldexp(1.0, static_cast<int>(power)) : std::exp2(power);
    return std::abs(Ulp::round(Ulp::round(difference) * Ulp::round(scale)));
  }

  PairFormat format_;
  Limits<Bench, Wide, Ulp> limits_;
  bool narrow_bench_;
  Tally tally_;
};

template <class Device, class Bench, class Ulp>
Tally run(const TensorPair& pair, std::size_t first, std::size_t count) {
  ReferenceLoop<Device, Bench, Ulp> loop(pair);
  std::array<double, kBlock> device;
  std::array<double, kBlock> bench;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    widen(pair.device, first + done, std::span(device).first(n));
    widen(pair.bench, first + done, std::span(bench).first(n));
    for (std::size_t i = 0; i < n; ++i) loop.add(device[i], bench[i]);
  }
  return loop.tally();
}

// The public tool turns both sides of a bfloat16 output into float32.
FloatFormat bench_format(const TensorPair& pair) {
  return pair.device.dtype == DType::kBFloat16 ? kSingle : pair.format.bench;
}

FloatFormat ulp_format(const TensorPair& pair) {
  if (pair.device.dtype == DType::kFloat32 || is_float8(pair.device.dtype)) return kDouble;
  return pair.format.device == kHalf && pair.format.bench == kHalf ? kHalf : kSingle;
}

template <class Device, class Bench>
TallyFunction loop_for(const FloatFormat& ulp) {
  if (ulp == kHalf) return &run<Device, Bench, Half>;
  if (ulp == kSingle) return &run<Device, Bench, Single>;
  return &run<Device, Bench, Double>;
}

template <class Device>
TallyFunction loop_for(const FloatFormat& bench, const FloatFormat& ulp) {
  if (bench == kHalf) return loop_for<Device, Half>(ulp);
  if (bench == kSingle) return loop_for<Device, Single>(ulp);
  return loop_for<Device, Double>(ulp);
}

TallyFunction loop_for(const TensorPair& pair) {
  const FloatFormat bench = bench_format(pair);
  const FloatFormat ulp = ulp_format(pair);
  if (pair.format.device == kHalf) return loop_for<Half>(bench, ulp);
  if (pair.format.device == kSingle) return loop_for<Single>(bench, ulp);
  return loop_for<Double>(bench, ulp);
}

}  // namespace

Tally tally_reference_real(const TensorPair& pair, std::size_t first, std::size_t count) {
  return loop_for(pair)(pair, first, count);
}

MeanFormats reference_mean_formats(const TensorPair& pair) {
  const FloatFormat bench = bench_format(pair);
  const bool device_wider = pair.format.device.mantissa_bits > bench.mantissa_bits;
  return {.error = device_wider ? pair.format.device : bench, .ulp = ulp_format(pair)};
}

}  // namespace msprobe::measure
