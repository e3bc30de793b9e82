// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cmath>

#include "measure/tensor_pair.h"

namespace msprobe::measure {

PairKind kind_of(DType device, DType bench, Arithmetic arithmetic) {
  const bool reference = arithmetic == Arithmetic::kReference;
  if (is_complex(device) || is_complex(bench)) return PairKind::kComplex;
  if (is_integer_or_bool(device) && is_integer_or_bool(bench)) {
    return reference ? PairKind::kReferenceInteger : PairKind::kInteger;
  }
  const bool floats = !is_integer_or_bool(device) && !is_integer_or_bool(bench);
  return reference && floats ? PairKind::kReferenceReal : PairKind::kReal;
}

TallyFunction plain_loop(PairKind kind) {
  switch (kind) {
    case PairKind::kReal:
      return &tally_real;
    case PairKind::kReferenceReal:
      return &tally_reference_real;
    case PairKind::kInteger:
      return &tally_integer;
    case PairKind::kReferenceInteger:
      return &tally_reference_integer;
    case PairKind::kComplex:
      break;
  }
  return &tally_complex;
}

Metrics finish(const TensorPair& pair, PairKind kind, const Tally& tally) {
  const bool rounded = kind == PairKind::kReferenceReal;
  Metrics metrics = finish(tally, rounded ? reference_mean_formats(pair) : MeanFormats{});
  const bool integers = kind == PairKind::kInteger || kind == PairKind::kReferenceInteger;
  if (!integers && metrics.count > 0) metrics.cosine = kNaN;
  return metrics;
}

bool has_cosine(const Metrics& metrics) {
  const auto usable = [](double abs_max) { return abs_max > 0 && std::isfinite(abs_max); };
  return std::isnan(metrics.cosine) && usable(metrics.device_abs_max) &&
         usable(metrics.bench_abs_max);
}

Metrics measure_reference(const TensorView& device, const TensorView& bench,
                          const MeasureOptions& options) {
  assert(device.numel() == bench.numel());
  const std::size_t count = device.numel();
  const TensorPair pair{device, bench, pair_format(device.dtype, bench.dtype), options.thresholds};
  const PairKind kind = kind_of(device.dtype, bench.dtype, options.arithmetic);
  Metrics metrics = finish(pair, kind, plain_loop(kind)(pair, 0, count));
  if (options.arithmetic == Arithmetic::kDocumented)
    metrics.identical = is_identical(pair, metrics);
  if (has_cosine(metrics)) {
    const CosineSums products =
        scaled_products(pair, metrics.device_abs_max, metrics.bench_abs_max, 0, count);
    metrics.cosine = cosine(products, kind == PairKind::kComplex);
  }
  return metrics;
}

}  // namespace msprobe::measure
