// SPDX-License-Identifier: Apache-2.0
// The similarity kernel against the plain loop, and its definitions.
#include "measure/similarity.h"

#include <bit>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "measure/pairs_for_test.h"

namespace msprobe::measure {
namespace {

// `sums`: how far sums may be apart, of the sum of magnitudes.
void expect_equal(const SimilarityTally& fast, const SimilarityTally& plain, double sums) {
  EXPECT_EQ(fast.count, plain.count);
  EXPECT_EQ(fast.finite, plain.finite);
  EXPECT_EQ(fast.mismatches, plain.mismatches);
  if (plain.mismatches > 0) {
    EXPECT_EQ(fast.first_mismatch, plain.first_mismatch);
  }
  EXPECT_EQ(fast.max_abs_error, plain.max_abs_error);
  EXPECT_EQ(fast.max_relative_error, plain.max_relative_error);
  EXPECT_EQ(fast.beyond_1000, plain.beyond_1000);
  EXPECT_EQ(fast.beyond_200, plain.beyond_200);
  EXPECT_EQ(fast.device.max, plain.device.max);
  EXPECT_EQ(fast.bench.min, plain.bench.min);
  EXPECT_EQ(fast.device.nans, plain.device.nans);
  const auto near = [&](double a, double b) {
    if (std::isfinite(b)) {
      EXPECT_NEAR(a, b, std::abs(b) * sums + 1e-300);
    }
  };
  near(fast.error_squares, plain.error_squares);
  near(fast.error_sum, plain.error_sum);
  near(fast.device_squares, plain.device_squares);
  near(fast.bench_squares, plain.bench_squares);
  near(fast.bench.squares, plain.bench.squares);
}

TEST(Similarity, TheKernelAgreesWithThePlainLoop) {
  constexpr DType kDTypes[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};
  std::uint64_t seed = 0;
  for (const DType device : kDTypes) {
    for (const DType bench : kDTypes) {
      for (const Data data :
           {Data::kOrdinary, Data::kNoisy, Data::kEdges, Data::kRare, Data::kWild}) {
        for (const std::size_t length :
             {0U, 1U, 3U, 4U, 5U, 7U, 8U, 9U, 31U, 33U, 515U, 2048U, 2311U}) {
          const TestPair pair = make_pair_of({device, bench}, data, length, ++seed);
          SCOPED_TRACE(testing::Message() << name(device) << " " << name(bench) << " " << seed);
          // 32 in floats first.
          const bool in_floats = size_bytes(device) <= 4 && size_bytes(bench) <= 4;
          expect_equal(tally_similarity(pair.device.view(), pair.bench.view(), 7),
                       tally_similarity_plainly(pair.device.view(), pair.bench.view(), 7),
                       in_floats ? 0x1p-19 : static_cast<double>(length + 16) * 0x1p-50);
          const RelativeRule rule = epsilon_rule(device, bench);
          expect_equal(tally_similarity_by(rule, pair.device.view(), pair.bench.view(), 7),
                       tally_similarity_plainly_by(rule, pair.device.view(), pair.bench.view(), 7),
                       in_floats ? 0x1p-19 : static_cast<double>(length + 16) * 0x1p-50);
        }
      }
    }
  }
}

// Groups of floats with something in them that floats do not tell.
TEST(Similarity, CountsAndMaximaAreExactAtTheEdgesOfFloats) {
  struct Edge {
    const char* name;
    std::function<std::pair<float, float>(int)> pair_at;  // device and bench
  };
  const auto sine = [](int i) { return 1.5F + std::sin(static_cast<float>(i)); };
  const Edge edges[] = {
      {"relative errors about 0.001",
       [&](int i) {
         return std::pair{sine(i) * (1.001F + static_cast<float>(i % 9 - 4) * 0x1p-23F), sine(i)};
       }},
      {"relative errors about 0.005",
       [&](int i) {
         return std::pair{sine(i) * (1.005F + static_cast<float>(i % 9 - 4) * 0x1p-23F), sine(i)};
       }},
      {"exactly 0.001",
       [](int i) { return std::pair{1001.0F + static_cast<float>(i % 2), 1000.0F}; }},
      {"exactly 0.005",
       [](int i) { return std::pair{201.0F - static_cast<float>(i % 2), 200.0F}; }},
      {"largest errors that differ by less than floats tell",
       [](int i) { return std::pair{0x1p24F + 4, i == 600 ? 0.5F : 1.0F}; }},
      {"squares beyond floats",
       [&](int i) { return std::pair{sine(i) * 1e25F, sine(i + 1) * 1e25F}; }},
      {"squares below floats",
       [&](int i) { return std::pair{sine(i) * 1e-25F, sine(i) * 1.00001e-25F}; }},
      {"errors whose squares are below floats",
       [&](int i) { return std::pair{sine(i) * 1e-16F, sine(i) * 1.000001e-16F}; }},
      {"subnormals",
       [](int i) {
         return std::pair{static_cast<float>(2000 + i % 3) * 0x1p-149F, 2000 * 0x1p-149F};
       }},
      {"exactly 0.001 of subnormals, beside large errors",
       [](int i) {
         return i % 3 == 0 ? std::pair{1.5F, 1.0F} : std::pair{2002 * 0x1p-149F, 2000 * 0x1p-149F};
       }},
      {"zeros beside subnormals",
       [](int i) {
         return std::pair{i % 4 == 0 ? 0x1p-149F : 0.0F, i % 8 == 0 ? 0x1p-149F : 0.0F};
       }},
      {"a reference of zeros", [&](int i) { return std::pair{sine(i), 0.0F}; }},
      {"one infinity", [&](int i) { return std::pair{i == 700 ? INFINITY : sine(i), sine(i)}; }},
      {"one NaN", [&](int i) { return std::pair{sine(i), i == 300 ? NAN : sine(i)}; }},
      {"one NaN among zeros", [](int i) { return std::pair{i == 300 ? NAN : 0.0F, 0.0F}; }},
      {"the same NaN among zeros",
       [](int i) { return i == 300 ? std::pair{NAN, NAN} : std::pair{0.0F, 0.0F}; }},
  };
  for (const Edge& edge : edges) {
    SCOPED_TRACE(edge.name);
    std::vector<float> device(1031), bench(1031);
    for (int i = 0; i < 1031; ++i) {
      std::tie(device[static_cast<std::size_t>(i)], bench[static_cast<std::size_t>(i)]) =
          edge.pair_at(i);
    }
    const auto d = tensor_of(DType::kFloat32, device);
    const auto b = tensor_of(DType::kFloat32, bench);
    for (const RelativeRule rule : {RelativeRule::kPlain, RelativeRule::kEpsilonSingle}) {
      expect_equal(tally_similarity_by(rule, d.view(), b.view(), 0),
                   tally_similarity_plainly_by(rule, d.view(), b.view(), 0), 0x1p-18);
    }
  }
}

// Neighbours in bfloat16 are 1/128 to 1/256 apart, 1/200 among them: on both sides of a threshold
// and on it, in every vector.
TEST(Similarity, NeighboursInBFloat16AreCountedExactly) {
  std::vector<float> device(4096), bench(4096);
  for (int i = 0; i < 4096; ++i) {
    const auto at = static_cast<std::size_t>(i);
    bench[at] = std::ldexp(static_cast<float>(128 + i % 128), i / 128 % 12 - 6);
    device[at] = i % 3 == 0 ? bench[at] : bench[at] + std::ldexp(1.0F, i / 128 % 12 - 6);
    if (i % 509 == 0) bench[at] = 0;
  }
  for (const bool has_large : {false, true}) {
    if (has_large) device[2000] = 1e30F;
    const auto d = tensor_of(DType::kBFloat16, device);
    const auto b = tensor_of(DType::kBFloat16, bench);
    const RelativeRule rule = epsilon_rule(DType::kBFloat16, DType::kBFloat16);
    const SimilarityTally plain = tally_similarity_plainly_by(rule, d.view(), b.view(), 0);
    EXPECT_GT(plain.beyond_200, 1000U);
    EXPECT_GT(plain.beyond_1000, plain.beyond_200);
    expect_equal(tally_similarity_by(rule, d.view(), b.view(), 0), plain, 0x1p-18);
  }
}

// Numbers of every size, subnormals and zeros among them, beside others a few places on: all the
// relative errors there are, and many equal ones.
TEST(Similarity, BFloat16OfEverySizeIsMeasuredExactly) {
  for (const std::uint32_t most : {1U, 2U, 60U, 600U, 40000U}) {
    for (const std::uint32_t first : {0U, 0x80U, 0x1e00U, 0x2f00U, 0x3f80U, 0x4f00U}) {
      SCOPED_TRACE(testing::Message() << "places up to " << most << ", from " << first);
      std::vector<float> device(6000), bench(6000);
      std::uint32_t random = most + first;
      for (std::size_t i = 0; i < device.size(); ++i) {
        random = random * 1664525U + 1013904223U;
        const std::uint32_t bits = first + (random >> 8U) % 0x300U;
        const std::uint32_t other = (bits + (random >> 20U) % (most + 1)) % 0x7f80U;
        const std::uint32_t sign = random & 0x80000000U;
        bench[i] = std::bit_cast<float>(bits << 16U | sign);
        device[i] = std::bit_cast<float>(other << 16U | (i % 97 == 0 ? 0U : sign));
      }
      const auto d = tensor_of(DType::kBFloat16, device);
      const auto b = tensor_of(DType::kBFloat16, bench);
      const RelativeRule rule = epsilon_rule(DType::kBFloat16, DType::kBFloat16);
      expect_equal(tally_similarity_by(rule, d.view(), b.view(), 0),
                   tally_similarity_plainly_by(rule, d.view(), b.view(), 0), 0x1p-18);
    }
  }
}

Similarity of(const TestTensor& device, const TestTensor& bench) {
  return finish(tally_similarity(device.view(), bench.view(), 0), is_complex(device.dtype));
}

TEST(Similarity, ZerosAreDefined) {
  const auto zeros = tensor_of(DType::kFloat32, {0, 0, 0});
  const auto ones = tensor_of(DType::kFloat32, {1, 1, 1});
  EXPECT_EQ(of(zeros, zeros).cosine, 1);
  EXPECT_EQ(of(zeros, zeros).max_relative_error, 0);
  EXPECT_EQ(of(zeros, zeros).within_1000, 1);
  EXPECT_TRUE(std::isnan(of(zeros, ones).cosine));
  EXPECT_EQ(of(zeros, ones).max_relative_error, 1);
  EXPECT_EQ(of(ones, zeros).max_relative_error, INFINITY);
  EXPECT_EQ(of(ones, zeros).within_200, 0);
}

TEST(Similarity, RulesWithAnEpsilonKnowTheTypes) {
  EXPECT_EQ(epsilon_rule(DType::kFloat16, DType::kFloat32), RelativeRule::kEpsilonSingle);
  EXPECT_EQ(epsilon_rule(DType::kFloat8E4M3, DType::kBFloat16), RelativeRule::kEpsilonSingle);
  EXPECT_EQ(epsilon_rule(DType::kFloat32, DType::kFloat64), RelativeRule::kEpsilonDouble);
  EXPECT_EQ(epsilon_rule(DType::kInt32, DType::kFloat32), RelativeRule::kEpsilonDouble);
  const auto largest = [](RelativeRule rule, const TestTensor& d, const TestTensor& b) {
    return tally_similarity_by(rule, d.view(), b.view(), 0).max_relative_error;
  };
  const TestTensor three = tensor_of(DType::kFloat32, {3, 1});
  const TestTensor zero = tensor_of(DType::kFloat32, {0, 1});
  EXPECT_EQ(largest(RelativeRule::kEpsilonSingle, three, zero), 25165824);
  EXPECT_EQ(largest(RelativeRule::kEpsilonDouble, three, zero), 3 * 0x1p52);
  EXPECT_EQ(largest(RelativeRule::kEpsilonSingle, zero, zero), 0);
}

TEST(Similarity, EqualTensorsHaveACosineOfOne) {
  for (float value = 0.1F; value < 3; value += 0.1F) {
    const auto tensor = tensor_of(DType::kFloat32, {value, value * 0.3F, -value});
    EXPECT_EQ(of(tensor, tensor).cosine, 1);
  }
}

// The cosine itself has no digits left there.
TEST(Similarity, TheCosineDistanceHasDigitsNearOne) {
  const auto bench = tensor_of(DType::kFloat64, {1, 0, 0});
  for (const double angle : {1e-3, 1e-6, 1e-9}) {
    const double length = 1 + 1e-7;
    const auto device =
        tensor_of(DType::kFloat64, {length * std::cos(angle), length * std::sin(angle), 0});
    EXPECT_NEAR(of(device, bench).cosine_distance, angle * angle / 2, angle * angle * 1e-4);
  }
  EXPECT_EQ(of(bench, bench).cosine_distance, 0);
  const auto zeros = tensor_of(DType::kFloat64, {0, 0, 0});
  EXPECT_EQ(of(zeros, zeros).cosine_distance, 0);
  EXPECT_TRUE(std::isnan(of(zeros, bench).cosine_distance));
  const auto opposite = tensor_of(DType::kFloat64, {-3, 0, 0});
  EXPECT_DOUBLE_EQ(of(opposite, bench).cosine_distance, 2);
}

TEST(Similarity, WhatIsNotFiniteIsLeftOutAndCounted) {
  const auto device = tensor_of(DType::kFloat32, {1, NAN, INFINITY, INFINITY, 2, NAN});
  const auto bench = tensor_of(DType::kFloat32, {1, NAN, INFINITY, -INFINITY, NAN, 3});
  const SimilarityTally tally = tally_similarity(device.view(), bench.view(), 10);
  EXPECT_EQ(tally.finite, 1U);
  EXPECT_EQ(tally.mismatches, 3U);
  EXPECT_EQ(tally.first_mismatch, 13U);
  EXPECT_EQ(tally.mismatch_bench, -INFINITY);
  EXPECT_EQ(tally.device.nans, 2U);
  EXPECT_EQ(finish(tally, false).cosine, 1);
}

TEST(Similarity, ComplexElementsCountAsOne) {
  const auto device = stored<float>(DType::kComplex64, {0, 2, 0, 4});
  const auto bench = stored<float>(DType::kComplex64, {0, 1, 0, 2});
  const Similarity result = of(device, bench);
  EXPECT_DOUBLE_EQ(result.cosine, 1);
  EXPECT_DOUBLE_EQ(result.max_abs_error, 2);
  EXPECT_DOUBLE_EQ(result.max_relative_error, 1);
}

TEST(Similarity, SquaresBeyondTheRangeAreScaled) {
  const auto device = tensor_of(DType::kFloat64, {3e200, 4e200});
  const auto bench = tensor_of(DType::kFloat64, {3e-200, 4e-200});
  SimilarityTally tally = tally_similarity(device.view(), bench.view(), 0);
  ASSERT_TRUE(needs_scaled_products(tally));
  const SimilarityTally scaled = scaled_products(device.view(), bench.view(), 4e200, 4e-200);
  EXPECT_NEAR(finish(scaled, false).cosine, 1, 1e-15);
  const auto zeros = tensor_of(DType::kFloat64, {0, 0});
  EXPECT_FALSE(needs_scaled_products(tally_similarity(zeros.view(), zeros.view(), 0)));
}

}  // namespace
}  // namespace msprobe::measure
