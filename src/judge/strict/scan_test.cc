// SPDX-License-Identifier: Apache-2.0
#include "strict/scan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "strict/bound.h"

namespace msprobe::strict {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor doubles(std::vector<double> values) { return at::tensor(values, at::kDouble); }

Limits limits_of(at::ScalarType type) { return rounding_limits(*float_type(type)); }

TEST(Scan, RoundedBenchmarkIsEqualWhateverTheDtype) {
  const at::Tensor bench = at::linspace(-3, 3, 1001, at::kDouble);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const Scan found = scan(bench.to(type), bench, {});
    EXPECT_TRUE(found.good());
    EXPECT_EQ(found.differ, 0);
    EXPECT_EQ(found.count, 1001);
  }
}

TEST(Scan, EqualInfinitiesAndNanAreEqual) {
  const at::Tensor bench = doubles({kInf, -kInf, kNan, 1e6, 1});
  EXPECT_TRUE(scan(bench.to(at::kHalf), bench, limits_of(at::kHalf)).good());
}

TEST(Scan, NotFiniteOnOneSideOnlyIsBeyondAnyLimit) {
  const at::Tensor bench = doubles({1, 2, kNan, kInf, kInf, 5});
  const at::Tensor device = doubles({kNan, kInf, 1, -kInf, kNan, 5}).to(at::kFloat);
  Limits wide = limits_of(at::kFloat);
  wide.relative = 100;
  const Scan found = scan(device, bench, wide);
  EXPECT_EQ(found.beyond, 5);
  EXPECT_EQ(found.not_finite, 5);
  EXPECT_EQ(found.first, 0);
  EXPECT_EQ(found.last, 4);
}

TEST(Scan, InfinityIsRightWhereTheLimitReachesTheEndOfTheRange) {
  const at::Tensor bench = doubles({65500, 60000});
  const at::Tensor device = doubles({kInf, kInf}).to(at::kHalf);
  const Scan found = scan(device, bench, limits_of(at::kHalf));
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.first, 1);
}

TEST(Scan, OneUnitBeyondTheLimitIsSeenOneWithinIsNot) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const double eps = float_type(type)->eps;
    const at::Tensor bench = at::ones({1000}, at::kDouble);
    at::Tensor device = bench.to(type);
    device[737] = 1 + kResultEps * eps;
    EXPECT_TRUE(scan(device, bench, limits_of(type)).good()) << type;
    device[737] = 1 + (kResultEps + 1) * eps;
    const Scan found = scan(device, bench, limits_of(type));
    EXPECT_EQ(found.beyond, 1) << type;
    EXPECT_EQ(found.worst_at, 737) << type;
  }
}

// What the vectors compute, one element at a time.
struct PlainScan {
  Scan found;
  std::vector<double> over, shares;

  PlainScan(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
    const auto at = [](const at::Tensor& all, std::int64_t i) {
      return all.defined() ? all.data_ptr<double>()[i] : 0;
    };
    const FloatType type = *float_type(device.scalar_type());
    const at::Tensor d = device.to(at::kDouble), b = bench.to(at::kDouble);
    const at::Tensor r = bench.to(device.scalar_type()).to(at::kDouble);
    found.count = device.numel();
    for (std::int64_t i = 0; i < found.count; ++i) {
      const double size = std::abs(at(b, i));
      const double native = at(limits.natives, i);
      double limit =
          limits.relative * size + limits.absolute +
          limits.spread * std::abs(at(limits.spreads, i)) +
          std::min(std::isfinite(native) ? limits.native * native : 0, limits.native_cap);
      if (limits.units > 0) limit += limits.units * unit_of(size, type);
      limit = std::max(limit, limits.least_relative * size + limits.least_absolute);
      const bool equal = at(d, i) == at(r, i) || (std::isnan(at(d, i)) && std::isnan(at(r, i)));
      const double error =
          equal && !std::isfinite(at(d, i))
              ? 0
              : error_of(at(d, i), at(b, i), native, limit, at(limits.drifts, i), type.largest);
      add(i, error, limit, !equal);
    }
    std::ranges::sort(shares, std::greater());
    found.inexact = std::ssize(shares);
    shares.resize(std::max<std::size_t>(shares.size(), kOutliers + 1));
    std::copy_n(shares.begin(), kOutliers + 1, found.largest.begin());
  }

 private:
  // Infinite where it is not finite on one side only.
  static double error_of(double device, double bench, double native, double limit, double drift,
                         double largest) {
    if (std::isfinite(device) && std::isfinite(bench)) {
      return std::min(std::abs(device - bench), std::abs(device - bench - drift));
    }
    if (std::isnan(native) && !std::isfinite(device)) return 0;
    const bool same = std::isinf(device) && std::signbit(device) == std::signbit(bench);
    if (std::isinf(native) && same) return 0;
    return same && std::isfinite(bench) && std::abs(bench) + limit >= largest ? 0 : kInf;
  }

  void add(std::int64_t i, double error, double limit, bool differs) {
    if (error > 0 && std::isfinite(error)) shares.push_back(error / limit);
    over.push_back(!differs || error == 0 || std::isinf(error) ? (differs ? error : 0)
                   : limit > 0                                 ? error / limit
                               : std::numeric_limits<double>::max());
    if (!differs) return;
    ++found.differ;
    if (error <= limit && std::isfinite(error)) {
      found.worst_inside = std::max(found.worst_inside, over.back());
      return;
    }
    if (found.beyond++ == 0) found.first = i;
    found.last = i;
    if (std::isinf(error)) ++found.not_finite;
    if (over.back() <= found.worst) return;
    found.worst = over.back();
    found.worst_at = i;
  }
};

void expect_as_the_plain_loop(const at::Tensor& device, const at::Tensor& bench,
                              const Limits& limits) {
  const PlainScan plain(device, bench, limits);
  const Scan& all = plain.found;
  for (const Look look : {Look::kWhole, Look::kShares}) {
    const Scan quick = scan(device, bench, limits, look);
    EXPECT_EQ(quick.count, all.count);
    EXPECT_EQ(quick.differ, all.differ);
    EXPECT_EQ(quick.beyond, all.beyond);
    EXPECT_EQ(quick.not_finite, all.not_finite);
    EXPECT_EQ(quick.first, all.first);
    EXPECT_EQ(quick.last, all.last);
    EXPECT_EQ(quick.worst_at, all.worst_at);
    EXPECT_EQ(quick.worst, all.worst);
    EXPECT_EQ(quick.worst_inside, all.worst_inside);
    if (look != Look::kShares || !(limits.relative + limits.spread > 0)) continue;
    EXPECT_EQ(quick.inexact, all.inexact);
    EXPECT_EQ(quick.largest, all.largest);
  }
  EXPECT_EQ(scan(device, bench, limits, Look::kUntilBeyond).good(), all.good());
  const at::Tensor over = over_bound(device, bench, limits);
  EXPECT_TRUE(over.equal(at::tensor(plain.over, at::kDouble)));
  EXPECT_EQ(beyond_mask(device, bench, limits).sum().item<std::int64_t>(), all.beyond);
}

TEST(Scan, IsThePlainLoopDigitForDigit) {
  const at::Generator generator = at::detail::createCPUGenerator(7);
  const auto normal = [&](std::int64_t count) {
    return at::randn({count}, generator, at::TensorOptions().dtype(at::kDouble));
  };
  for (const std::int64_t count : {1, 3, 8, 1001, 70'001}) {
    const at::Tensor bench = normal(count);
    at::Tensor device = (bench * (1 + normal(count) * 2e-7)).to(at::kFloat);
    Limits limits = limits_of(at::kFloat);
    expect_as_the_plain_loop(device, bench, limits);
    expect_as_the_plain_loop(device, bench, {});
    expect_as_the_plain_loop(device, bench, {.least_relative = 1e-7, .least_absolute = 1e-8});
    limits.spread = 3;
    limits.spreads = normal(count).abs() * 1e-7;
    expect_as_the_plain_loop(device, bench, limits);
    limits.drifts = normal(count) * 1e-7;
    expect_as_the_plain_loop(device, bench, limits);
    limits.drifts = at::Tensor();
    limits.native = 4;
    limits.native_cap = 1e-7;
    limits.natives = normal(count).abs() * 1e-7;
    expect_as_the_plain_loop(device, bench, limits);
    limits.natives[count / 2] = kInf;
    device[count / 2] = kInf;
    device[0] = kNan;
    expect_as_the_plain_loop(device, bench, limits);
    expect_as_the_plain_loop(device.to(at::kDouble), bench, limits);
  }
}

TEST(Scan, OfHalfTypesItIsThePlainLoopDigitForDigit) {
  const at::Generator generator = at::detail::createCPUGenerator(8);
  const auto normal = [&](std::int64_t count) {
    return at::randn({count}, generator, at::TensorOptions().dtype(at::kDouble));
  };
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const double eps = float_type(type)->eps;
    for (const std::int64_t count : {1, 3, 8, 1001, 70'001}) {
      // Subnormal numbers of float16 and such that overflow it are among them.
      const at::Tensor bench = (normal(count) * at::exp2(normal(count) * 8)).to(at::kFloat);
      at::Tensor device = (bench * (1 + normal(count) * eps)).to(type);
      Limits limits = product_limits(*float_type(type));
      expect_as_the_plain_loop(device, bench, limits);
      limits.spread = 3;
      limits.spreads = normal(count).abs() * eps;
      expect_as_the_plain_loop(device, bench, limits);
      limits.drifts = normal(count) * eps;
      expect_as_the_plain_loop(device, bench, limits);
      limits = spread_limits(*float_type(type), 10, limits.spreads);
      limits.native = 4;
      limits.native_cap = eps;
      limits.natives = normal(count).abs() * eps;
      expect_as_the_plain_loop(device, bench, limits);
      device[0] = kNan;
      expect_as_the_plain_loop(device, bench, limits);
    }
  }
}

TEST(Scan, OneWrongElementOfManyIsFound) {
  const at::Tensor bench = at::rand({5'000'003}, at::kDouble);
  at::Tensor device = bench.to(at::kFloat);
  device[4'987'654] = device[4'987'654] * (1 + 1e-5F);
  const Scan found = scan(device, bench, limits_of(at::kFloat));
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.first, 4'987'654);
  EXPECT_EQ(beyond_mask(device, bench, limits_of(at::kFloat)).nonzero().item<std::int64_t>(),
            4'987'654);
}

TEST(Scan, ComplexPartsAreMeasuredByTheModulus) {
  const at::Tensor bench = at::complex(doubles({1, 1}), doubles({1e-9, 0}));
  const at::Tensor near = at::complex(doubles({1, 1}), doubles({1.1e-9, 0})).to(at::kComplexFloat);
  EXPECT_TRUE(scan(near, bench, limits_of(at::kComplexFloat)).good());
  const at::Tensor far = at::complex(doubles({1, 1}), doubles({0, 1e-5})).to(at::kComplexFloat);
  const Scan found = scan(far, bench, limits_of(at::kComplexFloat));
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.first, 1);
}

TEST(Scan, NoMoreNumbersDifferThanThereAre) {
  const at::Tensor bench = at::complex(doubles({1, 1}), doubles({1, 1}));
  const Scan found = scan(bench.to(at::kComplexFloat) * 2, bench, limits_of(at::kComplexFloat));
  EXPECT_EQ(found.differ, 4);
  EXPECT_EQ(found.beyond, 4);
  EXPECT_EQ(found.count, 4);
}

TEST(Scan, AnOverflowOfTheCpuExcusesAnOverflowAndNoNan) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor bench = doubles({60000, 60000, 60000, 60000});
  const at::Tensor device = doubles({infinite, -infinite, nan, nan}).to(at::kHalf);
  Limits limits = limits_of(at::kHalf);
  limits.natives = doubles({infinite, infinite, infinite, nan});
  const Scan found = scan(device, bench, limits);
  EXPECT_EQ(found.beyond, 2);
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.last, 2);
}

TEST(Scan, SpreadWidensItsOwnElementOnly) {
  const at::Tensor bench = doubles({1, 1});
  const at::Tensor device = doubles({1.001, 1.001}).to(at::kFloat);
  const Limits limits = spread_limits(*float_type(at::kFloat), 1, doubles({1e-3, 0}));
  const Scan found = scan(device, bench, limits);
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.first, 1);
}

TEST(Scan, NoLimitIsBelowTheLeast) {
  const at::Tensor bench = doubles({1, 1});
  const at::Tensor device = doubles({1.001, 1.003}).to(at::kFloat);
  const Limits limits{.relative = 1e-6, .least_relative = 1e-3, .least_absolute = 1e-3};
  const Scan found = scan(device, bench, limits);
  EXPECT_EQ(found.beyond, 1);
  EXPECT_NEAR(found.worst_inside, 0.5, 1e-3);
}

}  // namespace
}  // namespace msprobe::strict
