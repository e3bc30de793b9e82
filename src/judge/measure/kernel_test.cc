// SPDX-License-Identifier: Apache-2.0
// measure() against measure_reference(), on every vector target of this machine.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/vector_targets.h"
//
#include <hwy/targets.h>

#include "measure/chunks.h"
#include "measure/metrics.h"
#include "measure/pairs_for_test.h"

namespace msprobe::measure {
namespace {

constexpr std::size_t kLengths[] = {0,  1,  2,  3,  4,   5,   7,   8,     9,     15,   16,
                                    17, 31, 33, 65, 127, 128, 129, 16383, 16384, 16385};

constexpr DTypePair kPairs[] = {
    {DType::kFloat32, DType::kFloat32},  {DType::kFloat32, DType::kFloat64},
    {DType::kFloat64, DType::kFloat32},  {DType::kFloat64, DType::kFloat64},
    {DType::kFloat16, DType::kFloat32},  {DType::kFloat16, DType::kFloat64},
    {DType::kBFloat16, DType::kFloat32}, {DType::kBFloat16, DType::kFloat64},
    {DType::kFloat16, DType::kFloat16},  {DType::kBFloat16, DType::kBFloat16},
    {DType::kFloat32, DType::kFloat16},  {DType::kFloat16, DType::kBFloat16},
    {DType::kBFloat16, DType::kFloat16}, {DType::kFloat64, DType::kBFloat16},
};

// Equal, also as NaN.
void expect_equal(double got, double wanted, const char* what) {
  if (std::isnan(got) && std::isnan(wanted)) return;
  EXPECT_EQ(got, wanted) << what;
}

void expect_near(double got, double wanted, double bound, const char* what) {
  if (std::isnan(wanted) || std::isinf(wanted)) return expect_equal(got, wanted, what);
  EXPECT_NEAR(got, wanted, bound) << what;
}

// Whether documented sums of this pair are kept in float over 128 elements.
bool has_float_sums(DTypePair dtypes) {
  return size_bytes(dtypes.device) == 2 &&
         (dtypes.bench == DType::kFloat32 || dtypes.bench == dtypes.device);
}

void expect_agreement(const Metrics& got, const Metrics& wanted, bool float_sums) {
  EXPECT_EQ(got.count, wanted.count);
  expect_equal(got.device_abs_max, wanted.device_abs_max, "device_abs_max");
  expect_equal(got.bench_abs_max, wanted.bench_abs_max, "bench_abs_max");
  expect_equal(got.max_abs_error, wanted.max_abs_error, "max_abs_error");
  EXPECT_EQ(got.within_100, wanted.within_100);
  EXPECT_EQ(got.within_1000, wanted.within_1000);
  EXPECT_EQ(got.within_10000, wanted.within_10000);
  expect_equal(got.error_balance, wanted.error_balance, "error_balance");
  EXPECT_EQ(got.small, wanted.small);
  EXPECT_EQ(got.small_errors, wanted.small_errors);
  EXPECT_EQ(got.normal, wanted.normal);
  expect_equal(got.max_relative_error, wanted.max_relative_error, "max_relative_error");
  EXPECT_EQ(got.absolute_small_errors, wanted.absolute_small_errors);
  EXPECT_EQ(got.relative_errors, wanted.relative_errors);
  EXPECT_EQ(got.not_finite, wanted.not_finite);
  EXPECT_EQ(got.not_finite_errors, wanted.not_finite_errors);
  EXPECT_EQ(got.different, wanted.different);
  expect_equal(got.max_ulp_error, wanted.max_ulp_error, "max_ulp_error");
  EXPECT_EQ(got.ulp_errors, wanted.ulp_errors);
  EXPECT_EQ(got.accumulative_small, wanted.accumulative_small);
  EXPECT_EQ(got.accumulative_small_errors, wanted.accumulative_small_errors);
  EXPECT_EQ(got.accumulative_normal, wanted.accumulative_normal);
  EXPECT_EQ(got.accumulative_relative_errors, wanted.accumulative_relative_errors);
  EXPECT_EQ(got.accumulative_not_finite_errors, wanted.accumulative_not_finite_errors);

  // The bounds that metrics.h states.
  const double terms = static_cast<double>(wanted.count) + 16;
  const double relative = terms * 0x1p-52 + (float_sums ? 0x1p-18 : 0);
  expect_near(got.rmse, wanted.rmse, relative * wanted.rmse, "rmse");
  expect_near(got.mean_relative_error, wanted.mean_relative_error,
              relative * wanted.mean_relative_error, "mean_relative_error");
  expect_near(got.mean_ulp_error, wanted.mean_ulp_error, relative * wanted.mean_ulp_error,
              "mean_ulp_error");
  expect_near(got.cosine, wanted.cosine, terms * 0x1p-50 + (float_sums ? 0x1p-17 : 0), "cosine");
}

std::string describe(DTypePair dtypes, Data data, std::size_t length) {
  return std::string(name(dtypes.device)) + " against " + std::string(name(dtypes.bench)) +
         ", data " + std::to_string(static_cast<int>(data)) + ", length " + std::to_string(length);
}

class EveryTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().DeInit(); }
};

INSTANTIATE_TEST_SUITE_P(Machine, EveryTarget,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& which) { return hwy::TargetName(which.param); });

TEST_P(EveryTarget, AgreesWithThePlainLoopAtEveryLength) {
  std::uint64_t seed = 1;
  for (const DTypePair dtypes : kPairs) {
    const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
    for (const Data data :
         {Data::kOrdinary, Data::kNoisy, Data::kEdges, Data::kRare, Data::kWild}) {
      for (const std::size_t length : kLengths) {
        SCOPED_TRACE(describe(dtypes, data, length));
        const TestPair pair = make_pair_of(dtypes, data, length, seed++);
        expect_agreement(measure(pair.device.view(), pair.bench.view(), options),
                         measure_reference(pair.device.view(), pair.bench.view(), options),
                         has_float_sums(dtypes));
        if (HasFailure()) return;
      }
    }
  }
}

// Where float leaves it open on which side of a threshold R is, or which R is the largest.
TEST_P(EveryTarget, AgreesOnHalvesWhoseErrorsAreHardToTell) {
  for (const DTypePair dtypes : {DTypePair{DType::kBFloat16, DType::kFloat32},
                                 DTypePair{DType::kFloat16, DType::kFloat32}}) {
    const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(describe(dtypes, Data::kEdges, seed));
      const TestPair pair = make_pair_of(dtypes, Data::kEdges, 4096, seed);
      expect_agreement(measure(pair.device.view(), pair.bench.view(), options),
                       measure_reference(pair.device.view(), pair.bench.view(), options), true);
    }
  }
}

constexpr DTypePair kHalves[] = {
    {DType::kBFloat16, DType::kFloat32},
    {DType::kFloat16, DType::kFloat32},
    {DType::kBFloat16, DType::kBFloat16},
    {DType::kFloat16, DType::kFloat16},
};

// Long enough that most groups are measured in floats, and some again in double.
TEST_P(EveryTarget, AgreesOnHalvesOfEveryKind) {
  for (const DTypePair dtypes : kHalves) {
    const Thresholds no_floats{1e-3, 1e-5, 1e-6, 1e-3, 1.5, 0};
    for (const Thresholds& limits : {documented_thresholds(dtypes.device), no_floats}) {
      for (const Data data : {Data::kNoisy, Data::kEdges, Data::kRare, Data::kWild}) {
        for (std::uint64_t seed = 0; seed < 9; ++seed) {
          SCOPED_TRACE(describe(dtypes, data, seed));
          const TestPair pair = make_pair_of(dtypes, data, 8192 + 24, seed);
          const MeasureOptions options{.thresholds = limits};
          expect_agreement(measure(pair.device.view(), pair.bench.view(), options),
                           measure_reference(pair.device.view(), pair.bench.view(), options), true);
        }
      }
    }
  }
}

// A block with many odd elements, so that those after it are measured in groups of floats; a group
// that changes the maxima; one with an infinity on both sides, which is on no side of the other.
TEST_P(EveryTarget, EqualInfinitiesAmongHalvesAreNeitherAboveNorBelow) {
  constexpr std::pair<std::size_t, std::pair<double, double>> kOdd[] = {
      {5182, {-0.0, -0.0}}, {5218, {-INFINITY, 6.84375}}, {5319, {NAN, NAN}},
      {5367, {0, 0}},       {5556, {-0x1p-14, -0x1p-14}}, {5777, {0, 0.58984375}},
  };
  for (const DTypePair dtypes : kHalves) {
    for (const double infinity : {INFINITY, -INFINITY}) {
      SCOPED_TRACE(describe(dtypes, Data::kRare, 8192));
      std::vector<std::pair<double, double>> elements(8192, {1, 1});
      for (const auto& [place, element] : kOdd) elements[place] = element;
      elements[7204] = {infinity, infinity};
      TestPair pair{{dtypes.device, {}}, {dtypes.bench, {}}};
      for (const auto& [device, bench] : elements) {
        pair.device.append_value(device);
        pair.bench.append_value(bench);
      }
      const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
      const Metrics m = measure(pair.device.view(), pair.bench.view(), options);
      EXPECT_EQ(m.error_balance, 2.0 / 8192);
      expect_agreement(m, measure_reference(pair.device.view(), pair.bench.view(), options), true);
    }
  }
}

// Sizes and errors for which float has too little range or too few digits, among small values.
TEST_P(EveryTarget, AgreesOnHalvesThatFloatCannotHold) {
  struct Case {
    const char* name;
    double device_scale;
    double bench_scale;
    double device_offset;
  };
  constexpr Case kCases[] = {
      {"device is zero", 0, 1, 0},
      {"bench is zero", 1, 0, 0},
      {"both are zero", 0, 0, 0},
      {"one error everywhere", 1, 1, 1},
      {"opposite", -1, 1, 0},
      {"errors that float rounds", 1, 0x1p-21, 0},
      {"squares vanish", 0x1p-90, 0x1p-90, 0},
      {"squares of one side vanish", 1, 0x1p-90, 0},
      {"subnormal", 0x1p-140, 0x1p-140, 0},
      {"squares overflow", 0x1.02p70, 0x1p70, 0},
      {"differences overflow", -0x1.fp125, 0x1.fp125, 0},
      {"infinite", INFINITY, 1, 0},
      {"bench overflows", 60000, 61000, 0},
  };
  for (const DTypePair dtypes : kHalves) {
    for (const Case& which : kCases) {
      SCOPED_TRACE(std::string(which.name) + describe(dtypes, Data::kNoisy, 0));
      Generator generator(3);
      TestPair pair{{dtypes.device, {}}, {dtypes.bench, {}}};
      for (int i = 0; i < 5000; ++i) {
        const double value = generator.bench(Data::kNoisy, dtypes);
        pair.bench.append_value(value * which.bench_scale);
        pair.device.append_value(value * which.device_scale + which.device_offset);
      }
      const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
      expect_agreement(measure(pair.device.view(), pair.bench.view(), options),
                       measure_reference(pair.device.view(), pair.bench.view(), options), true);
    }
  }
}

// R of these is below 0.001 by less than half a unit of float32, which rounds it up.
TEST_P(EveryTarget, AgreesOnHalvesWhoseErrorsRoundUpToAThreshold) {
  struct Case {
    DTypePair dtypes;
    double device;
    double bench;
  };
  for (const auto& [dtypes, device, bench] :
       {Case{{DType::kBFloat16, DType::kFloat32}, 0x1.c4p-11, 0x1.c680a4p-11},
        Case{{DType::kFloat16, DType::kFloat32}, 0x1.f38p+1, 0x1.f4p+1}}) {
    TestPair pair{{dtypes.device, {}}, {dtypes.bench, {}}};
    for (int i = 0; i < 200; ++i) {
      // A larger R first, so that the others cannot be the largest.
      pair.bench.append_value(i == 0 ? 1 : bench);
      pair.device.append_value(i == 0 ? 1 + 0x1p-7 : device);
    }
    const MeasureOptions options{.thresholds = {0x1p-14, 0, 0, 0.01, 20, 0}};
    const Metrics m = measure(pair.device.view(), pair.bench.view(), options);
    EXPECT_EQ(m.within_1000, 199U);
    expect_agreement(m, measure_reference(pair.device.view(), pair.bench.view(), options), true);
  }
}

TEST_P(EveryTarget, AgreesOnElementsAtAnyAddress) {
  for (const DTypePair dtypes : kPairs) {
    const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
    TestPair pair = make_pair_of(dtypes, Data::kRare, 1000, 7);
    const Metrics wanted = measure_reference(pair.device.view(), pair.bench.view(), options);
    for (std::size_t offset = 1; offset < 9; ++offset) {
      SCOPED_TRACE(describe(dtypes, Data::kRare, 1000));
      pair.device.bytes.insert(pair.device.bytes.begin(), std::byte{0xff});
      pair.bench.bytes.insert(pair.bench.bytes.begin(), 3, std::byte{0xff});
      const TensorView device{dtypes.device, {}, std::span(pair.device.bytes).subspan(offset)};
      const TensorView bench{dtypes.bench, {}, std::span(pair.bench.bytes).subspan(3 * offset)};
      expect_agreement(measure(device, bench, options), wanted, has_float_sums(dtypes));
    }
  }
}

TEST_P(EveryTarget, AgreesWhateverTheThresholds) {
  const Thresholds unusual[] = {{}, {1e300, 0, 0, 1e300, 1e300, 0}, {0, 0, 0, 0x1p-60, 0, 0}};
  for (const DTypePair dtypes : kPairs) {
    for (const Thresholds& limits : unusual) {
      for (const Data data : {Data::kOrdinary, Data::kNoisy, Data::kEdges, Data::kWild}) {
        SCOPED_TRACE(describe(dtypes, data, 1001));
        const TestPair pair = make_pair_of(dtypes, data, 1001, 11);
        const MeasureOptions options{.thresholds = limits};
        expect_agreement(measure(pair.device.view(), pair.bench.view(), options),
                         measure_reference(pair.device.view(), pair.bench.view(), options),
                         has_float_sums(dtypes));
      }
    }
  }
}

template <class T>
void expect_agreement_of_integers(DType dtype) {
  std::mt19937_64 random(3);
  for (const std::size_t length : kLengths) {
    for (const int one_in : {1, 50, 100'000}) {
      for (const bool narrow : {false, true}) {
        TestTensor bench{dtype, {}};
        TestTensor device{dtype, {}};
        for (std::size_t i = 0; i < length; ++i) {
          const auto element = static_cast<T>(narrow ? random() % 3 + 120 : random());
          bench.append(element);
          device.append(random() % static_cast<unsigned>(one_in) == 0 ? static_cast<T>(random())
                                                                      : element);
        }
        for (const Arithmetic arithmetic : {Arithmetic::kDocumented, Arithmetic::kReference}) {
          SCOPED_TRACE(std::string(name(dtype)) + ", length " + std::to_string(length));
          const MeasureOptions options{.arithmetic = arithmetic};
          expect_agreement(measure(device.view(), bench.view(), options),
                           measure_reference(device.view(), bench.view(), options), false);
        }
      }
    }
  }
}

TEST_P(EveryTarget, AgreesOnIntegers) {
  expect_agreement_of_integers<std::uint8_t>(DType::kBool);
  expect_agreement_of_integers<std::uint8_t>(DType::kUInt8);
  expect_agreement_of_integers<std::uint16_t>(DType::kUInt16);
  expect_agreement_of_integers<std::uint32_t>(DType::kUInt32);
  expect_agreement_of_integers<std::uint64_t>(DType::kUInt64);
  expect_agreement_of_integers<std::int8_t>(DType::kInt8);
  expect_agreement_of_integers<std::int16_t>(DType::kInt16);
  expect_agreement_of_integers<std::int32_t>(DType::kInt32);
  expect_agreement_of_integers<std::int64_t>(DType::kInt64);
}

// As operators give them that only move numbers: whole blocks are the same, some but for one
// element, or but for an infinity on both sides.
TEST_P(EveryTarget, AgreesOnElementsThatAreTheSame) {
  constexpr double kValues[] = {0, -0.0, 0x1p-24, -0x1p-14, 0x1p-8, 1, -1.5, 1024, 0, 0};
  for (const DTypePair dtypes : kPairs) {
    const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
    for (const std::size_t length : {512U, 511U, 4096U, 4099U}) {
      for (const double other : {0.0, 1.0, 0x1p-16, static_cast<double>(INFINITY)}) {
        SCOPED_TRACE(describe(dtypes, Data::kOrdinary, length) + ", " + std::to_string(other));
        TestPair pair{{dtypes.device, {}}, {dtypes.bench, {}}};
        for (std::size_t i = 0; i < length; ++i) {
          const double value = kValues[i * i % std::size(kValues)];
          const bool is_other = i == 700 || i == 4095;
          pair.bench.append_value(is_other ? other : value);
          pair.device.append_value(is_other && std::isinf(other) ? other : value);
        }
        expect_agreement(measure(pair.device.view(), pair.bench.view(), options),
                         measure_reference(pair.device.view(), pair.bench.view(), options),
                         has_float_sums(dtypes));
      }
    }
  }
}

// The largest number of the device beside a bench that rounds to infinity is close, yet not finite.
TEST_P(EveryTarget, BenchThatOverflowsIsNotFinite) {
  struct Case {
    DTypePair dtypes;
    double device;
    double bench;
  };
  for (const auto& [dtypes, device, bench] :
       {Case{{DType::kFloat16, DType::kFloat32}, 65504, 65520},
        Case{{DType::kFloat16, DType::kFloat64}, 65504, 65520},
        Case{{DType::kFloat32, DType::kFloat64}, 0x1.fffffep127, 0x1.ffffffp127}}) {
    TestPair pair = make_pair_of(dtypes, Data::kOrdinary, 64, 1);
    pair.device.append_value(device);
    pair.bench.append_value(bench);
    const TestPair more = make_pair_of(dtypes, Data::kOrdinary, 63, 2);
    pair.device.bytes.insert(pair.device.bytes.end(), more.device.bytes.begin(),
                             more.device.bytes.end());
    pair.bench.bytes.insert(pair.bench.bytes.end(), more.bench.bytes.begin(),
                            more.bench.bytes.end());
    const MeasureOptions options{.thresholds = documented_thresholds(dtypes.device)};
    const Metrics m = measure(pair.device.view(), pair.bench.view(), options);
    EXPECT_EQ(m.not_finite, 1U);
    EXPECT_EQ(m.not_finite_errors, 1U);
  }
}

TEST_P(EveryTarget, ElementAnywhereInAChunkIsFound) {
  const DTypePair dtypes{DType::kFloat32, DType::kFloat64};
  TestPair pair = make_pair_of(dtypes, Data::kOrdinary, 2 * kChunk + 3, 3);
  for (const std::size_t place :
       {std::size_t{0}, kChunk - 1, kChunk, 2 * kChunk - 1, 2 * kChunk + 2}) {
    TestPair changed = pair;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(changed.device.bytes.data() + 4 * place, &nan, sizeof(nan));
    const Metrics m = measure(changed.device.view(), changed.bench.view(),
                              {.thresholds = documented_thresholds(dtypes.device)});
    EXPECT_EQ(m.not_finite, 1U);
    EXPECT_EQ(m.not_finite_errors, 1U);
    EXPECT_TRUE(std::isnan(m.max_abs_error));
    EXPECT_TRUE(std::isnan(m.device_abs_max));
  }
}

}  // namespace
}  // namespace msprobe::measure
