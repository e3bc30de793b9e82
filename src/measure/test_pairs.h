// Random pairs for tests, seeded.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "measure/metrics.h"
#include "measure/test_tensor.h"

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
  kRare,      // ordinary, with one wild element in a hundred
  kWild,      // NaN, infinities, zeros, subnormals, the ends of every range
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  double bench(Data data) {
    if (is_wild(data)) return wild();
    const double value = std::ldexp(uniform_(random_) + 1, integer(-3, 3));
    const double small = data == Data::kNoisy && integer(0, 3) == 0 ? 0x1p-12 : 1;
    return integer(0, 1) == 0 ? value * small : -value * small;
  }

  double device(Data data, double bench) {
    if (is_wild(data)) return integer(0, 1) == 0 ? wild() : bench;
    if (data != Data::kNoisy) return bench;
    return bench * (1 + std::ldexp(uniform_(random_) - 0.5, integer(-26, -3)));
  }

 private:
  int integer(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  bool is_wild(Data data) {
    return data == Data::kWild || (data == Data::kRare && integer(0, 99) == 0);
  }

  double wild() {
    static constexpr double kInf = std::numeric_limits<double>::infinity();
    static constexpr double kWild[] = {
        0,       kInf,     1,        65504,          65519.9,        65520,          65536,
        3.39e38, 3.4e38,   3.5e38,   0x1.fffffep127, 0x1.ffffffp127, 0x1.fep127,     0x1.ffp127,
        1e200,   1e-200,   0x1p-14,  0x1p-11,        0x1p-8,         0x1p-24,        0x1p-25,
        0x1p-30, 0x1p-126, 0x1p-133, 0x1p-149,       0x1p-150,       0x1.8p-1074,    0x1p-1022,
        1e308,   0.01,     0.001,    0x1p-16,        1 + 0x1p-20,    0x1.ffffffp-15, 1 + 0x1p-11};
    if (integer(0, 15) == 0) return NAN;
    if (integer(0, 3) == 0) return std::ldexp(uniform_(random_) - 0.5, integer(-1074, 1023));
    const double value = kWild[integer(0, std::size(kWild) - 1)];
    return integer(0, 1) == 0 ? value : -value;
  }

  std::mt19937_64 random_;
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
    const double bench = generator.bench(data);
    pair.bench.append_value(bench);
    pair.device.append_value(generator.device(data, bench));
  }
  return pair;
}

}  // namespace msprobe::measure
