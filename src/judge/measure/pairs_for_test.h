// SPDX-License-Identifier: Apache-2.0
// Random pairs for tests, seeded.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "measure/metrics.h"
#include "measure/tensor_for_test.h"

namespace msprobe::measure {

struct DTypePair {
  DType device;
  DType bench;
};

// The documented thresholds of the device's dtype.
inline Thresholds documented_thresholds(DType device) {
  if (device == DType::kFloat16) return {0x1p-11, 0x1p-16, 0x1p-17, 0x1p-10, 1, 0x1p-8};
  if (device == DType::kBFloat16) return {0x1p-8, 0x1p-16, 0x1p-17, 0x1p-8, 1, 0x1p-7};
  return {0x1p-14, 0x1p-30, 0x1p-31, 0x1p-20, 32, 0x1p-11};
}

enum class Data {
  kOrdinary,  // correctly rounded results
  kNoisy,     // relative errors around every threshold, and small values
  kEdges,     // relative errors within a few units of 0.01, 0.001 and 0.0001, errors of one ULP
  kRare,      // ordinary, with one wild element in a hundred
  kWild,      // NaN, infinities, zeros, subnormals, the ends of every range
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed)
      : random_(seed), one_edge_(seed % 9 < 8), edge_(seed % 9) {}

  double bench(Data data, DTypePair dtypes) {
    if (is_wild(data)) return wild();
    if (data == Data::kEdges) return at_edge(dtypes);
    const double value = std::ldexp(uniform_(random_) + 1, integer(-3, 3));
    const double small = data == Data::kNoisy && integer(0, 3) == 0 ? 0x1p-12 : 1;
    return integer(0, 1) == 0 ? value * small : -value * small;
  }

  double device(Data data, double bench) {
    if (is_wild(data)) return integer(0, 1) == 0 ? wild() : bench;
    if (data == Data::kEdges) return device_at_edge_;
    if (data != Data::kNoisy) return bench;
    return bench * (1 + std::ldexp(uniform_(random_) - 0.5, integer(-26, -3)));
  }

 private:
  int integer(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  // A bench for which R of a round device element is an edge, give or take a few units.
  // Most tensors have one edge only, so that their largest R is hard to tell.
  double at_edge(DTypePair dtypes) {
    static constexpr double kEdges[] = {0.001, 0.0001, 0.0015,  0.0003,
                                        0.01,  0x1p-8, 0x1p-10, 0x1p-20};
    device_at_edge_ = std::ldexp(128 + integer(0, 127), integer(-9, 4));
    if (!one_edge_ && integer(0, 3) == 0) return device_at_edge_ * (1 + 0x1p-7);
    const double edge = one_edge_ ? kEdges[edge_] : kEdges[integer(0, 7)];
    const double eps = dtypes.device == DType::kBFloat16 ? 0x1p-8 : 0;
    const double bench =
        (device_at_edge_ - edge * eps) / (integer(0, 1) == 0 ? 1 + edge : 1 - edge);
    const double unit = dtypes.bench == DType::kFloat64 ? 0x1p-46 : 0x1p-23;
    return bench * (1 + integer(-3, 3) * unit);
  }

  bool is_wild(Data data) {
    return data == Data::kWild || (data == Data::kRare && integer(0, 99) == 0);
  }

  double wild() {
    static constexpr double kInf = std::numeric_limits<double>::infinity();
    static constexpr double kWild[] = {0,
                                       kInf,
                                       1,
                                       65504,
                                       65519.9,
                                       65520,
                                       65536,
                                       3.39e38,
                                       3.4e38,
                                       3.5e38,
                                       0x1.fffffep127,
                                       0x1.ffffffp127,
                                       0x1.fep127,
                                       0x1.ffp127,
                                       1e200,
                                       1e-200,
                                       0x1p-14,
                                       0x1p-11,
                                       0x1p-8,
                                       0x1p-24,
                                       0x1p-25,
                                       0x1p-30,
                                       0x1p-126,
                                       0x1p-133,
                                       0x1p-149,
                                       0x1p-150,
                                       0x1.8p-1074,
                                       0x1p-1022,
                                       0.01 * 0x1p-52,
                                       0.001 * 0x1p-52,
                                       0.0001 * 0x1p-52,
                                       1 - 0x1p-52,
                                       1 - 0x1p-52 + 0x1p-20,
                                       1 - 0x1p-23,
                                       1 - 0x1p-23 + 0x1p-20,
                                       1e308,
                                       0.01,
                                       0.001,
                                       0x1p-16,
                                       1 + 0x1p-20,
                                       0x1.ffffffp-15,
                                       1 + 0x1p-11};
    if (integer(0, 15) == 0) return NAN;
    if (integer(0, 3) == 0) return std::ldexp(uniform_(random_) - 0.5, integer(-1074, 1023));
    const double value = kWild[integer(0, std::size(kWild) - 1)];
    return integer(0, 1) == 0 ? value : -value;
  }

  std::mt19937_64 random_;
  bool one_edge_;
  std::size_t edge_;
  double device_at_edge_ = 1;
  std::uniform_real_distribution<double> uniform_{0, 1};
};

struct TestPair {
  TestTensor device;
  TestTensor bench;
};

inline TestPair make_pair_of(DTypePair dtypes, Data data, std::size_t length, std::uint64_t seed) {
  Generator generator(seed);
  TestPair pair{{dtypes.device, {}}, {dtypes.bench, {}}};
  for (std::size_t i = 0; i < length; ++i) {
    const double bench = generator.bench(data, dtypes);
    pair.bench.append_value(bench);
    pair.device.append_value(generator.device(data, bench));
  }
  return pair;
}

}  // namespace msprobe::measure
