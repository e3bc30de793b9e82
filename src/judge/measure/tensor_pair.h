// SPDX-License-Identifier: Apache-2.0
// A pair as the loops see it, and the plain loops: each walks a part of the pair, element by
// element, and says what it found.
#pragma once

#include <cstddef>

#include "core/tensor.h"
#include "measure/metrics.h"
#include "measure/pair_format.h"
#include "measure/tally.h"

namespace msprobe::measure {

struct TensorPair {
  TensorView device;
  TensorView bench;
  PairFormat format;
  Thresholds thresholds;
};

// How the dtypes and the arithmetic say a pair is measured.
enum class PairKind : std::uint8_t {
  kReal,              // floats, or floats against integers, in double
  kReferenceReal,     // floats, as the public tool
  kInteger,           // integers and bools, exact
  kReferenceInteger,  // with wrap-around
  kComplex,
};
PairKind kind_of(DType device, DType bench, Arithmetic arithmetic);

// Elements first .. first + count - 1.
using TallyFunction = Tally (*)(const TensorPair& pair, std::size_t first, std::size_t count);

Tally tally_real(const TensorPair& pair, std::size_t first, std::size_t count);
Tally tally_reference_real(const TensorPair& pair, std::size_t first, std::size_t count);
Tally tally_integer(const TensorPair& pair, std::size_t first, std::size_t count);
Tally tally_reference_integer(const TensorPair& pair, std::size_t first, std::size_t count);
Tally tally_complex(const TensorPair& pair, std::size_t first, std::size_t count);

TallyFunction plain_loop(PairKind kind);

// In which formats the public tool forms its means.
MeanFormats reference_mean_formats(const TensorPair& pair);

// The metrics of the whole pair; the cosine is NaN where the kind has one, for the caller to fill
// in.
Metrics finish(const TensorPair& pair, PairKind kind, const Tally& tally);

// Metrics::identical; walks the pair only where NaN may have made equal elements differ.
bool is_identical(const TensorPair& pair, const Metrics& metrics);

// Whether there is a cosine to fill in: both sides are finite and not all zero.
bool has_cosine(const Metrics& metrics);

// The products of D / device_scale and B / bench_scale.
CosineSums scaled_products(const TensorPair& pair, double device_scale, double bench_scale,
                           std::size_t first, std::size_t count);

// The ULP error of the 8-bit formats, signed as the public tool has it: their mantissa has 3, 2, 1
// or 0 bits, fewer the farther the exponent is from 0.
double float8_ulp_error(double device, double bench);

}  // namespace msprobe::measure
