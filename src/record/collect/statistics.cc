// SPDX-License-Identifier: Apache-2.0
#include "collect/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <optional>
#include <utility>

#include "collect/float_sums.h"
#include "core/code_formats.h"
#include "core/float_formats.h"
#include "core/modulus.h"

namespace msprobe::collect {
namespace {

constexpr std::size_t kBlock = 1024;

RecordedStatistic real(double value) { return {RecordedStatistic::Kind::kReal, value, 0}; }
RecordedStatistic boolean(bool value) { return {RecordedStatistic::Kind::kBool, 0, value}; }

template <class T>
T load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

// Calls visit(floats, count) for blocks of the tensor's elements as float32.
template <class Visit>
void for_each_float_block(const StridedView& view, const Visit& visit) {
  const bool half = view.dtype == DType::kFloat16;
  for_each_run(view, true, [&](const std::byte* run, std::size_t count) {
    if (view.dtype == DType::kFloat32 && reinterpret_cast<std::uintptr_t>(run) % 4 == 0) {
      return visit(reinterpret_cast<const float*>(run), count);
    }
    std::array<float, kBlock> block;
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t n = std::min(kBlock, count - done);
      if (view.dtype == DType::kFloat32) {
        std::memcpy(block.data(), run + done * 4, n * 4);
      } else {
        for (std::size_t i = 0; i < n; ++i) {
          const auto bits = load<std::uint16_t>(run + (done + i) * 2);
          block[i] = half ? float16_to_float(bits) : bfloat16_to_float(bits);
        }
      }
      visit(static_cast<const float*>(block.data()), n);
    }
  });
}

// An expanded tensor has every element many times, and maybe more of them than can be read: the
// elements once, and how often each is there.
std::pair<StridedView, double> without_repeats(StridedView view) {
  double repeats = 1;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.strides[d] == 0) repeats *= static_cast<double>(std::exchange(view.shape[d], 1));
  }
  return {std::move(view), repeats};
}

// The extremes that are left when infinities and NaN are put aside.
class FiniteExtremes {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    Range& range = std::isfinite(value) ? finite_ : infinite_;
    range.max = std::max(range.max, value);
    range.min = std::min(range.min, value);
    range.any = true;
  }
  void store(Statistics& out) const {
    const Range& range = finite_.any ? finite_ : infinite_;
    out.max_finite = real(range.any ? range.max : std::nan(""));
    out.min_finite = real(range.any ? range.min : std::nan(""));
  }

 private:
  struct Range {
    double max = -HUGE_VAL;
    double min = HUGE_VAL;
    bool any = false;
  };
  Range finite_, infinite_;
};

Statistics of_floats(const StridedView& view, double repeats) {
  FloatSums sums;
  for_each_float_block(
      view, [&](const float* values, std::size_t count) { sums.merge(float_sums(values, count)); });
  Statistics out;
  const double nan = std::nan("");
  out.max = real(sums.has_nan ? nan : sums.max);
  out.min = real(sums.has_nan ? nan : sums.min);
  out.mean = real(round_to(view.dtype, sums.sum / static_cast<double>(view.numel())));
  out.norm = real(round_to(view.dtype, std::sqrt(sums.sum_of_squares * repeats)));
  if (!std::isfinite(out.max.real) || !std::isfinite(out.min.real)) {
    FiniteExtremes extremes;
    for_each_float_block(view, [&](const float* values, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) extremes.add(static_cast<double>(values[i]));
    });
    extremes.store(out);
  }
  return out;
}

// float64, the modulus of complex numbers, and what is read as such: `value_at` reads one element.
enum class Moments : std::uint8_t { kNone, kMean, kMeanAndNorm };

template <class ValueAt>
Statistics of_doubles(const StridedView& view, Moments moments, const ValueAt& value_at,
                      double repeats = 1) {
  FloatSums sums;
  FiniteExtremes extremes;
  const std::size_t size = size_bytes(view.dtype);
  for_each_run(view, true, [&](const std::byte* run, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const double value = value_at(run + i * size);
      sums.has_nan = sums.has_nan || std::isnan(value);
      sums.max = std::max(sums.max, value);
      sums.min = std::min(sums.min, value);
      sums.sum += value;
      sums.sum_of_squares += value * value;
      extremes.add(value);
    }
  });
  Statistics out;
  out.max = real(sums.has_nan ? std::nan("") : sums.max);
  out.min = real(sums.has_nan ? std::nan("") : sums.min);
  if (moments != Moments::kNone) out.mean = real(sums.sum / static_cast<double>(view.numel()));
  if (moments == Moments::kMeanAndNorm) {
    out.norm = real(std::sqrt(sums.sum_of_squares * repeats));
  }
  if (!std::isfinite(out.max.real) || !std::isfinite(out.min.real)) extremes.store(out);
  return out;
}

void round_to_float32(Statistics& statistics) {
  for (RecordedStatistic* statistic :
       {&statistics.max, &statistics.min, &statistics.mean, &statistics.norm}) {
    statistic->real = round_to(DType::kFloat32, statistic->real);
  }
}

template <class T>
Statistics of_complex(const StridedView& view, Moments moments, double repeats) {
  Statistics out = of_doubles(
      view, moments,
      [](const std::byte* place) {
        const auto value = load<std::complex<T>>(place);
        return modulus(static_cast<double>(value.real()), static_cast<double>(value.imag()));
      },
      repeats);
  if constexpr (std::is_same_v<T, float>) round_to_float32(out);
  return out;
}

// As MindSpore's collector has integers and float64: rounded to float32 before anything else.
template <class T>
Statistics of_float32_casts(const StridedView& view, double repeats) {
  Statistics out = of_doubles(
      view, Moments::kMeanAndNorm,
      [](const std::byte* place) {
        return static_cast<double>(static_cast<float>(load<T>(place)));
      },
      repeats);
  round_to_float32(out);
  return out;
}

// The extremes of whole numbers, so many of them at once that compilers use vectors.
template <class T>
class WholeExtremes {
 public:
  void add(const std::byte* run, std::size_t count) {
    const std::byte* const end = run + count * sizeof(T);
    std::array<T, kLanes> values;
    for (; end - run >= static_cast<std::ptrdiff_t>(sizeof(values)); run += sizeof(values)) {
      std::memcpy(values.data(), run, sizeof(values));
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        max_[lane] = values[lane] > max_[lane] ? values[lane] : max_[lane];
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        min_[lane] = values[lane] < min_[lane] ? values[lane] : min_[lane];
      }
    }
    for (; run != end; run += sizeof(T)) {
      const T value = load<T>(run);
      max_[0] = std::max(max_[0], value);
      min_[0] = std::min(min_[0], value);
    }
  }
  T max() const { return *std::ranges::max_element(max_); }
  T min() const { return *std::ranges::min_element(min_); }

 private:
  static constexpr std::size_t kLanes = 64 / sizeof(T);
  static std::array<T, kLanes> filled(T value) {
    std::array<T, kLanes> all;
    all.fill(value);
    return all;
  }
  std::array<T, kLanes> max_ = filled(std::numeric_limits<T>::min());
  std::array<T, kLanes> min_ = filled(std::numeric_limits<T>::max());
};

template <class T>
WholeExtremes<T> whole_extremes(const StridedView& view) {
  WholeExtremes<T> extremes;
  for_each_run(view, true,
               [&](const std::byte* run, std::size_t count) { extremes.add(run, count); });
  return extremes;
}

template <class T>
Statistics of_integers(const StridedView& view) {
  const WholeExtremes<T> extremes = whole_extremes<T>(view);
  constexpr auto kKind =
      std::is_signed_v<T> ? RecordedStatistic::Kind::kSigned : RecordedStatistic::Kind::kUnsigned;
  Statistics out;
  out.max = {kKind, 0, static_cast<std::int64_t>(extremes.max())};
  out.min = {kKind, 0, static_cast<std::int64_t>(extremes.min())};
  return out;
}

Statistics of_bools(const StridedView& view) {
  const auto extremes = whole_extremes<std::uint8_t>(view);
  Statistics out;
  out.max = boolean(extremes.max() != 0);
  out.min = boolean(extremes.min() != 0);
  return out;
}

// What MindSpore's dumps say in another way; nothing for the other dtypes.
std::optional<Statistics> of_mindspore_elements(const StridedView& view, double repeats) {
  switch (view.dtype) {
    case DType::kUInt8:
      return of_float32_casts<std::uint8_t>(view, repeats);
    case DType::kUInt16:
      return of_float32_casts<std::uint16_t>(view, repeats);
    case DType::kUInt32:
      return of_float32_casts<std::uint32_t>(view, repeats);
    case DType::kUInt64:
      return of_float32_casts<std::uint64_t>(view, repeats);
    case DType::kInt8:
      return of_float32_casts<std::int8_t>(view, repeats);
    case DType::kInt16:
      return of_float32_casts<std::int16_t>(view, repeats);
    case DType::kInt32:
      return of_float32_casts<std::int32_t>(view, repeats);
    case DType::kInt64:
      return of_float32_casts<std::int64_t>(view, repeats);
    case DType::kFloat64:
      return of_float32_casts<double>(view, repeats);
    case DType::kComplex64:
      return of_complex<float>(view, Moments::kMeanAndNorm, repeats);
    case DType::kComplex128:
      return of_complex<double>(view, Moments::kMeanAndNorm, repeats);
    default:
      return std::nullopt;
  }
}

// Codes have so few numbers that they are counted.
Statistics of_codes(const StridedView& view, double repeats) {
  std::array<std::uint64_t, 256> counts{};
  for_each_run(view, true, [&](const std::byte* run, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ++counts[std::to_integer<std::size_t>(run[i])];
  });
  const std::array<float, 256>& values = values_of(*code_format(view.dtype));
  const bool pairs = is_packed(view.dtype);
  FloatSums sums;
  FiniteExtremes extremes;
  const auto add = [&](double value, double times) {
    sums.has_nan = sums.has_nan || std::isnan(value);
    sums.max = std::max(sums.max, value);
    sums.min = std::min(sums.min, value);
    sums.sum += value * times;
    sums.sum_of_squares += value * value * times;
    extremes.add(value);
  };
  for (std::size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] == 0) continue;
    const auto times = static_cast<double>(counts[code]);
    add(values[code], times);
    if (pairs) add(values[code >> 4], times);
  }
  Statistics out;
  const double numbers = static_cast<double>(view.numel()) * (pairs ? 2 : 1);
  out.max = real(sums.has_nan ? std::nan("") : sums.max);
  out.min = real(sums.has_nan ? std::nan("") : sums.min);
  out.mean = real(sums.sum / numbers);
  out.norm = real(std::sqrt(sums.sum_of_squares * repeats));
  round_to_float32(out);
  if (!std::isfinite(out.max.real) || !std::isfinite(out.min.real)) extremes.store(out);
  return out;
}

Statistics of_elements(const StridedView& view, double repeats) {
  if (code_format(view.dtype)) return of_codes(view, repeats);
  switch (view.dtype) {
    case DType::kBool:
      return of_bools(view);
    case DType::kUInt8:
      return of_integers<std::uint8_t>(view);
    case DType::kUInt16:
      return of_integers<std::uint16_t>(view);
    case DType::kUInt32:
      return of_integers<std::uint32_t>(view);
    case DType::kUInt64:
      return of_integers<std::uint64_t>(view);
    case DType::kInt8:
      return of_integers<std::int8_t>(view);
    case DType::kInt16:
      return of_integers<std::int16_t>(view);
    case DType::kInt32:
      return of_integers<std::int32_t>(view);
    case DType::kInt64:
      return of_integers<std::int64_t>(view);
    case DType::kFloat64:
      return of_doubles(view, Moments::kNone, &load<double>);
    case DType::kComplex64:
      return of_complex<float>(view, Moments::kMean, repeats);
    case DType::kComplex128:
      return of_complex<double>(view, Moments::kMean, repeats);
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return of_floats(view, repeats);
    default:
      return {};
  }
}

}  // namespace

Statistics statistics_of(const StridedView& view, StatisticsRule rule) {
  if (view.numel() == 0) return {};
  const auto [distinct, repeats] = without_repeats(view);
  // Both rules write a single number as it is.
  if (rule == StatisticsRule::kMindSpore && (!view.shape.empty() || is_complex(view.dtype))) {
    if (const auto told = of_mindspore_elements(distinct, repeats)) return *told;
  }
  Statistics out = of_elements(distinct, repeats);
  const bool scalar = view.shape.empty() && out.max.kind != RecordedStatistic::Kind::kBool &&
                      out.max.kind != RecordedStatistic::Kind::kNull && !is_complex(view.dtype);
  if (scalar) out.mean = out.norm = out.max;
  return out;
}

bool overflows(const Statistics& statistics, DType dtype) {
  if (statistics.max.kind != RecordedStatistic::Kind::kReal) return false;
  const double max = statistics.max.real;
  const double min = statistics.min.real;
  if (!std::isfinite(max) || !std::isfinite(min)) return true;
  double limit = 0;
  switch (dtype) {
    case DType::kFloat16:
      limit = 65504;
      break;
    case DType::kBFloat16:
      limit = bfloat16_to_float(0x7f7f);
      break;
    case DType::kFloat32:
      limit = static_cast<double>(std::numeric_limits<float>::max());
      break;
    default:
      return false;
  }
  return max >= limit || min <= -limit;
}

}  // namespace msprobe::collect
