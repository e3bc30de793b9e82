// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "measure/chunks.h"
#include "measure/kernels.h"

namespace msprobe::measure {
namespace {

// Within these bounds squares and their sums neither overflow nor vanish in double.
constexpr double kLowestUnscaled = 0x1p-450;
constexpr double kHighestUnscaled = 0x1p480;

bool can_stay_unscaled(double abs_max) {
  return abs_max >= kLowestUnscaled && abs_max <= kHighestUnscaled;
}

TallyFunction fast_loop(PairKind kind, const TensorPair& pair) {
  if (kind == PairKind::kReal && pair.format.ulp != UlpKind::kFloat8) return &tally_real_in_vectors;
  if (pair.device.dtype == pair.bench.dtype) {
    if (kind == PairKind::kInteger) return &tally_integer_in_vectors;
    if (kind == PairKind::kReferenceInteger) return &tally_reference_integer_in_vectors;
  }
  return plain_loop(kind);
}

}  // namespace

Metrics measure(const TensorView& device, const TensorView& bench, const MeasureOptions& options) {
  assert(device.numel() == bench.numel());
  const std::size_t count = device.numel();
  const TensorPair pair{device, bench, pair_format(device.dtype, bench.dtype), options.thresholds};
  const PairKind kind = kind_of(device.dtype, bench.dtype, options.arithmetic);
  const TallyFunction part_of = fast_loop(kind, pair);
  const auto tally = reduce_in_chunks<Tally>(
      count, options.threads,
      [&](std::size_t first, std::size_t n) { return part_of(pair, first, n); });
  Metrics metrics = finish(pair, kind, tally);
  if (options.arithmetic == Arithmetic::kDocumented)
    metrics.identical = is_identical(pair, metrics);
  if (!has_cosine(metrics)) return metrics;

  CosineSums products = tally.products;
  const double device_scale = metrics.device_abs_max;
  const double bench_scale = metrics.bench_abs_max;
  if (!can_stay_unscaled(device_scale) || !can_stay_unscaled(bench_scale)) {
    products =
        reduce_in_chunks<CosineSums>(count, options.threads, [&](std::size_t first, std::size_t n) {
          return scaled_products(pair, device_scale, bench_scale, first, n);
        });
  }
  metrics.cosine = cosine(products, kind == PairKind::kComplex);
  return metrics;
}

}  // namespace msprobe::measure
