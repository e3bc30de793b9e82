// SPDX-License-Identifier: Apache-2.0
#include "measure/similarity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <type_traits>

#include "measure/finite.h"
#include "measure/tally.h"
#include "measure/widen.h"

namespace msprobe::measure {
namespace {

using Complex = std::complex<double>;

bool same(double device, double bench) {
  return device == bench || (std::isnan(device) && std::isnan(bench));
}
bool same(const Complex& device, const Complex& bench) {
  return same(device.real(), bench.real()) && same(device.imag(), bench.imag());
}
double shown(double value) { return value; }
double shown(const Complex& value) { return std::abs(value); }

void add(SideTally& side, double value) {
  if (std::isnan(value)) {
    ++side.nans;
    return;
  }
  ++side.count;
  side.max = std::max(side.max, value);
  side.min = std::min(side.min, value);
  side.sum += value;
  side.squares += value * value;
}
void add(SideTally& side, const Complex& value) {
  if (std::isnan(value.real()) || std::isnan(value.imag())) ++side.nans;
}

void add_products(SimilarityTally& tally, double device, double bench) {
  tally.dot += device * bench;
  tally.device_squares += device * device;
  tally.bench_squares += bench * bench;
}
void add_products(SimilarityTally& tally, const Complex& device, const Complex& bench) {
  const Complex product = device * std::conj(bench);
  tally.dot += product.real();
  tally.dot_imaginary += product.imag();
  tally.device_squares += std::norm(device);
  tally.bench_squares += std::norm(bench);
}

// |(D - B) / B| in the arithmetic of T, or of its real type.
template <class T, class Real>
double quotient(T device, T bench, Real epsilon) {
  if (bench == T(0)) {
    device += epsilon;
    bench += epsilon;
  }
  return static_cast<double>(std::abs((device - bench) / bench));
}

template <class T>
double relative_error(const T& device, const T& bench, double error, RelativeRule rule) {
  switch (rule) {
    case RelativeRule::kEpsilonSingle:
      if constexpr (std::is_same_v<T, double>) {
        return quotient(static_cast<float>(device), static_cast<float>(bench), 0x1p-23F);
      }
      [[fallthrough]];
    case RelativeRule::kEpsilonDouble:
      return quotient(device, bench, 0x1p-52);
    case RelativeRule::kPlain:
      break;
  }
  return error == 0 ? 0 : error / std::abs(bench);
}

template <class T>
void add(SimilarityTally& tally, RelativeRule rule, const T& device, const T& bench,
         std::uint64_t place) {
  ++tally.count;
  if (rule == RelativeRule::kPlain) {
    add(tally.device, device);
    add(tally.bench, bench);
  }
  if (!is_finite(device) || !is_finite(bench)) {
    if (same(device, bench)) return;
    if (tally.mismatches++ == 0) {
      tally.first_mismatch = place;
      tally.mismatch_device = shown(device);
      tally.mismatch_bench = shown(bench);
    }
    return;
  }
  ++tally.finite;
  add_products(tally, device, bench);
  const double error = std::abs(device - bench);
  const double relative = relative_error(device, bench, error, rule);
  const bool single = rule == RelativeRule::kEpsilonSingle;
  tally.error_squares += error * error;
  tally.error_sum += error;
  tally.max_abs_error = std::max(tally.max_abs_error, error);
  tally.max_relative_error = std::max(tally.max_relative_error, relative);
  tally.beyond_1000 += relative < (single ? 0.001F : 0.001) ? 0 : 1;
  tally.beyond_200 += relative < (single ? 0.005F : 0.005) ? 0 : 1;
}

// Calls visit(device, bench, i) for every element, as T.
template <class T, class Visit>
void for_each(const TensorView& device, const TensorView& bench, const Visit& visit) {
  std::array<T, kBlock> device_block;
  std::array<T, kBlock> bench_block;
  const std::size_t count = device.numel();
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    widen(device, done, std::span(device_block).first(n));
    widen(bench, done, std::span(bench_block).first(n));
    for (std::size_t i = 0; i < n; ++i) visit(device_block[i], bench_block[i], done + i);
  }
}

template <class Visit>
void for_each_of_kind(const TensorView& device, const TensorView& bench, const Visit& visit) {
  if (is_complex(device.dtype) || is_complex(bench.dtype)) {
    for_each<Complex>(device, bench, visit);
  } else {
    for_each<double>(device, bench, visit);
  }
}

}  // namespace

RelativeRule epsilon_rule(DType device, DType bench) {
  const auto is_single = [](DType dtype) {
    return is_float8(dtype) || (is_float(dtype) && size_bytes(dtype) <= 4);
  };
  return is_single(device) && is_single(bench) ? RelativeRule::kEpsilonSingle
                                               : RelativeRule::kEpsilonDouble;
}

void add_plainly(SimilarityTally& tally, RelativeRule rule, std::span<const double> device,
                 std::span<const double> bench, std::uint64_t first) {
  for (std::size_t i = 0; i < device.size(); ++i) add(tally, rule, device[i], bench[i], first + i);
}

SimilarityTally tally_similarity_plainly_by(RelativeRule rule, const TensorView& device,
                                            const TensorView& bench, std::uint64_t first) {
  SimilarityTally tally;
  for_each_of_kind(device, bench, [&](const auto& d, const auto& b, std::size_t i) {
    add(tally, rule, d, b, first + i);
  });
  return tally;
}

SimilarityTally tally_similarity_plainly(const TensorView& device, const TensorView& bench,
                                         std::uint64_t first) {
  return tally_similarity_plainly_by(RelativeRule::kPlain, device, bench, first);
}

SideTally tally_side(const TensorView& view) {
  SideTally side;
  if (is_complex(view.dtype)) return side;
  std::array<double, kBlock> block;
  const std::size_t count = view.numel();
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::span<double> part = std::span(block).first(std::min(kBlock, count - done));
    widen(view, done, part);
    for (const double value : part) add(side, value);
  }
  return side;
}

void merge(SideTally& total, const SideTally& part) {
  total.count += part.count;
  total.nans += part.nans;
  total.max = std::max(total.max, part.max);
  total.min = std::min(total.min, part.min);
  total.sum += part.sum;
  total.squares += part.squares;
}

void merge(SimilarityTally& total, const SimilarityTally& part) {
  if (total.mismatches == 0 && part.mismatches > 0) {
    total.first_mismatch = part.first_mismatch;
    total.mismatch_device = part.mismatch_device;
    total.mismatch_bench = part.mismatch_bench;
  }
  using Part = SimilarityTally;
  for (const auto counter :
       {&Part::count, &Part::finite, &Part::mismatches, &Part::beyond_1000, &Part::beyond_200}) {
    total.*counter += part.*counter;
  }
  for (const auto sum : {&Part::dot, &Part::dot_imaginary, &Part::device_squares,
                         &Part::bench_squares, &Part::error_squares, &Part::error_sum}) {
    total.*sum += part.*sum;
  }
  total.max_abs_error = std::max(total.max_abs_error, part.max_abs_error);
  total.max_relative_error = std::max(total.max_relative_error, part.max_relative_error);
  merge(total.device, part.device);
  merge(total.bench, part.bench);
}

SimilarityTally scaled_products(const TensorView& device, const TensorView& bench,
                                double device_scale, double bench_scale) {
  SimilarityTally tally;
  for_each_of_kind(device, bench, [&](const auto& d, const auto& b, std::size_t) {
    if (is_finite(d) && is_finite(b)) add_products(tally, d / device_scale, b / bench_scale);
  });
  return tally;
}

bool needs_scaled_products(const SimilarityTally& tally) {
  // Sums of squares outside of these bounds lost digits, or everything.
  constexpr double kLowest = 0x1p-900;
  constexpr double kHighest = 0x1p960;
  const auto lost = [](double squares) { return !(squares <= kHighest) || (squares < kLowest); };
  const bool zeros = tally.device_squares == 0 && tally.bench_squares == 0 &&
                     tally.max_abs_error == 0 && tally.device.max <= 0 && tally.device.min >= 0;
  return tally.finite > 0 && !zeros && (lost(tally.device_squares) || lost(tally.bench_squares));
}

namespace {

// |D - B|^2 = (|D| - |B|)^2 + 2 |D| |B| (1 - cosine): no two near numbers are subtracted. Not for
// complex tensors, nor where products were scaled, which the errors were not.
double cosine_distance(const SimilarityTally& tally, double cosine, bool is_complex) {
  constexpr double kMostRounding = 1e-5;  // of a cosine
  const double plain = 1 - cosine;
  if (is_complex || std::isnan(cosine)) return plain;
  const double device = std::sqrt(tally.device_squares);
  const double bench = std::sqrt(tally.bench_squares);
  const double lengths = (tally.device_squares - tally.bench_squares) / (device + bench);
  const double exact =
      std::max(0.0, tally.error_squares - lengths * lengths) / (2 * device * bench);
  return std::abs(exact - plain) <= kMostRounding ? exact : plain;
}

}  // namespace

Similarity finish(const SimilarityTally& tally, bool is_complex) {
  Similarity result;
  const auto finite = static_cast<double>(tally.finite);
  if (tally.device_squares == 0 && tally.bench_squares == 0) {
    result.cosine = 1;
  } else if (tally.finite > 0 && tally.max_abs_error == 0) {
    result.cosine = 1;  // equal; a quotient of roots may miss it by a digit
  } else {
    const CosineSums sums{tally.dot, tally.dot_imaginary, tally.device_squares,
                          tally.bench_squares};
    // Of one side that is all zero: 0 / 0.
    result.cosine =
        tally.device_squares == 0 || tally.bench_squares == 0 ? kNaN : cosine(sums, is_complex);
    result.cosine_distance = cosine_distance(tally, result.cosine, is_complex);
  }
  result.euclidean_distance = std::sqrt(tally.error_squares);
  result.max_abs_error = tally.max_abs_error;
  result.max_relative_error = tally.max_relative_error;
  if (tally.finite == 0) {
    result.within_1000 = result.within_200 = 1;
    return result;
  }
  result.mean_abs_error = tally.error_sum / finite;
  result.within_1000 = static_cast<double>(tally.finite - tally.beyond_1000) / finite;
  result.within_200 = static_cast<double>(tally.finite - tally.beyond_200) / finite;
  return result;
}

}  // namespace msprobe::measure
