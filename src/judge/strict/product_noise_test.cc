// SPDX-License-Identifier: Apache-2.0
#include "strict/product_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace msprobe::strict {
namespace {

constexpr std::size_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1001};
constexpr RoundedNoise kRounded{
    .of_norm = 3e-7, .of_sum = 2e-7, .of_added = 1e-7, .of_wander = 5e-7};

// Sums of both signs, some of them 0 and some much larger than their norms.
struct Numbers {
  std::vector<double> bench, sums, squares, wander;
  std::vector<float> float_squares;

  explicit Numbers(std::size_t length) {
    std::mt19937_64 generator(length);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < length; ++i) {
      sums.push_back(i % 7 == 3 ? 0 : normal(generator) * (i % 3 == 0 ? 100 : 1));
      bench.push_back(sums.back() + normal(generator));
      float_squares.push_back(static_cast<float>(std::pow(normal(generator), 2)));
      squares.push_back(static_cast<double>(float_squares.back()));
      wander.push_back(std::abs(normal(generator)));
    }
  }
  ProductSlice slice(bool walked) const {
    return {bench.data(), sums.data(), squares.data(), nullptr, walked ? wander.data() : nullptr,
            sums.size()};
  }
  ProductSlice float_slice(bool walked) const {
    ProductSlice same = slice(walked);
    same.squares = nullptr;
    same.float_squares = float_squares.data();
    return same;
  }
};

// What the vectors compute, one element at a time.
struct Plain {
  double noise, drift, more, straight, cut_noise, cut_drift;
};

Plain plain(const ProductSlice& slice, std::size_t i, const CutNoise& cut) {
  const double sum = slice.sums[i];
  const double norm = std::sqrt(slice.squares[i]);
  const double wander = slice.wander == nullptr ? 0 : slice.wander[i];
  const std::size_t group = sum < 0 ? 1 : 0;
  const double power = sum == 0 ? 0 : std::exp2(std::floor(std::log2(std::abs(sum))));
  const double mean = sum == 0 ? 0 : power - 2.0 / 3 * power * power / std::abs(sum);
  const double reach = std::max(norm, wander);
  Plain all{};
  all.noise = norm * kRounded.of_norm + std::abs(sum) * kRounded.of_sum +
              std::abs(slice.bench[i] - sum) * kRounded.of_added + wander * kRounded.of_wander;
  all.drift = mean * cut.drift;
  all.more = reach * cut.of_reach + all.drift * cut.of_drift;
  const bool straight =
      std::abs(sum) > cut.straight[group] * norm && std::abs(sum) >= cut.straight_wander * wander;
  all.straight = straight ? 1 : 0;
  all.cut_noise = all.noise + (straight ? reach * cut.of_reach * std::abs(cut.share[group])
                                        : all.more * cut.most);
  all.cut_drift = straight ? all.drift * cut.share[group] : 0;
  return all;
}

void expect_near(double got, double wanted) {
  EXPECT_NEAR(got, wanted, 1e-13 * std::abs(wanted)) << got << " for " << wanted;
}

TEST(ProductNoise, IsThatOfThePlainLoopAtEveryLength) {
  const CutNoise known{.drift = 1e-4,
                       .of_reach = 2e-4,
                       .of_drift = 2,
                       .most = 0.3,
                       .straight = {8, 8},
                       .straight_wander = 8,
                       .share = {-0.4, 0.7}};
  CutNoise unknown = known;  // of negative sums
  unknown.straight[1] = std::numeric_limits<double>::infinity();
  for (const std::size_t length : kLengths) {
    const Numbers numbers(length);
    for (const bool walked : {false, true}) {
      for (const CutNoise& cut : {known, unknown}) {
        const ProductSlice slice = numbers.slice(walked);
        std::vector<double> noise(length), cut_noises(length), cut_drifts(length), drifts(length),
            more(length), straight(length);
        rounded_noise(slice, kRounded, noise.data());
        cut_noise(slice, kRounded, cut, cut_noises.data(), cut_drifts.data());
        cut_room(slice, cut, drifts.data(), more.data(), straight.data());
        for (std::size_t i = 0; i < length; ++i) {
          const Plain wanted = plain(slice, i, cut);
          expect_near(noise[i], wanted.noise);
          expect_near(cut_noises[i], wanted.cut_noise);
          expect_near(cut_drifts[i], wanted.cut_drift);
          expect_near(drifts[i], wanted.drift);
          expect_near(more[i], wanted.more);
          EXPECT_EQ(straight[i], wanted.straight);
        }
      }
    }
  }
}

// Each element scanned alone.
std::vector<std::int64_t> places_beyond(const Numbers& numbers, const std::vector<float>& device,
                                        const std::vector<double>& noise,
                                        const FloatLimits& limits) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < device.size(); ++i) {
    const FloatScan one = scan_floats(
        {&device[i], nullptr, &numbers.bench[i], &noise[i], nullptr, nullptr, 1}, limits);
    if (one.beyond > 0) places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

// One pass finds what the noise and a scan with it find, digit for digit.
TEST(ProductNoise, ScanWithNoiseIsAScanWithItsSpreads) {
  for (const std::size_t length : kLengths) {
    const Numbers numbers(length);
    std::vector<float> device(numbers.bench.begin(), numbers.bench.end());
    for (std::size_t i = 0; i < length; i += 2) device[i] = std::nextafter(device[i], 200.0F);
    for (const double relative : {0.0, 1e-8, 4e-7}) {
      const FloatLimits limits{.relative = relative, .absolute = 1e-9, .spread = 1};
      for (const bool walked : {false, true}) {
        for (const ProductSlice& slice : {numbers.slice(walked), numbers.float_slice(walked)}) {
          std::vector<double> noise(length);
          rounded_noise(slice, kRounded, noise.data());
          const FloatScan wanted = scan_floats({device.data(), nullptr, numbers.bench.data(),
                                                noise.data(), nullptr, nullptr, length},
                                               limits);
          std::vector<std::int64_t> beyond;
          const FloatScan found =
              scan_rounded_noise(slice, device.data(), kRounded, limits, beyond);
          EXPECT_EQ(found.finite, wanted.finite);
          EXPECT_EQ(found.differ, wanted.differ);
          EXPECT_EQ(found.beyond, wanted.beyond);
          EXPECT_EQ(found.worst, wanted.worst);
          EXPECT_EQ(found.worst_inside, wanted.worst_inside);
          EXPECT_EQ(beyond, places_beyond(numbers, device, noise, limits));
        }
      }
    }
  }
}

TEST(ProductNoise, ScanSeesWhatIsNotFinite) {
  const Numbers numbers(33);
  std::vector<float> device(numbers.bench.begin(), numbers.bench.end());
  for (const std::size_t place : {0, 32}) {
    std::vector<float> spoiled = device;
    spoiled[place] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::int64_t> beyond;
    EXPECT_FALSE(
        scan_rounded_noise(numbers.slice(false), spoiled.data(), kRounded, {.spread = 1}, beyond)
            .finite);
  }
}

template <class T>
void expect_wider(const Numbers& numbers) {
  const std::size_t length = numbers.wander.size();
  const std::vector<T> more(numbers.bench.begin(), numbers.bench.end());
  std::vector<double> reached(length, 0.5);
  std::vector<double> wander = numbers.wander;
  widen_wander(more.data(), numbers.sums.data(), 0.25, reached.data(), wander.data(), length);
  for (std::size_t i = 0; i < length; ++i) {
    const double there = 0.5 + static_cast<double>(more[i]);
    EXPECT_EQ(reached[i], there);
    expect_near(wander[i], std::max(numbers.wander[i], std::abs(there - numbers.sums[i] * 0.25)));
  }
}

TEST(ProductNoise, WanderGrowsOnly) {
  for (const std::size_t length : kLengths) {
    expect_wider<float>(Numbers(length));
    expect_wider<double>(Numbers(length));
  }
}

}  // namespace
}  // namespace msprobe::strict
