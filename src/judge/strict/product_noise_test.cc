// SPDX-License-Identifier: Apache-2.0
#include "strict/product_noise.h"

#include <cmath>
#include <limits>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace msprobe::strict {
namespace {

constexpr std::int64_t kCount = 1001;
constexpr RoundedNoise kRounded{
    .of_norm = 3e-7, .of_sum = 2e-7, .of_added = 1e-7, .of_wander = 5e-7};

// Sums of both signs, some of them 0 and some much larger than their norms.
ProductElements elements(bool walked) {
  const at::Generator generator = at::detail::createCPUGenerator(5);
  const auto normal = [&] { return at::randn({kCount}, generator, at::kDouble); };
  const at::Tensor places = at::arange(kCount);
  at::Tensor sums = normal() * at::where(places.remainder(3).eq(0), 100.0, 1.0);
  sums.masked_fill_(places.remainder(7).eq(3), 0);
  return {sums.to(at::kFloat),
          sums + normal(),
          sums,
          normal().abs(),
          walked ? normal().abs() : at::Tensor(),
          100};
}

// What the tensors hold, one element at a time.
struct Plain {
  double noise, drift, more, cut_noise, cut_drift;
  bool straight;

  Plain(const ProductElements& all, std::int64_t i, const CutNoise& cut) {
    const auto at = [i](const at::Tensor& t) { return t.defined() ? t[i].item<double>() : 0; };
    const double sum = at(all.sums), norm = at(all.norms), wander = at(all.wander);
    const std::size_t group = sum < 0 ? 1 : 0;
    const double power = sum == 0 ? 0 : std::exp2(std::floor(std::log2(std::abs(sum))));
    const double mean = sum == 0 ? 0 : power - 2.0 / 3 * power * power / std::abs(sum);
    const double reach = std::max(norm, wander);
    noise = norm * kRounded.of_norm + std::abs(sum) * kRounded.of_sum +
            std::abs(at(all.bench) - sum) * kRounded.of_added + wander * kRounded.of_wander;
    drift = mean * cut.drift;
    more = reach * cut.of_reach + drift * cut.of_drift;
    straight =
        std::abs(sum) > cut.straight[group] * norm && std::abs(sum) >= cut.straight_wander * wander;
    cut_noise = straight ? reach * cut.of_reach * std::abs(cut.share[group]) : more * cut.most;
    cut_drift = straight ? drift * cut.share[group] : 0;
  }
};

void expect_near(const at::Tensor& all, std::int64_t i, double wanted) {
  const double got = all[i].item<double>();
  EXPECT_NEAR(got, wanted, 1e-13 * std::abs(wanted)) << got << " for " << wanted;
}

TEST(ProductNoise, IsThatOfThePlainLoop) {
  const CutNoise known{.drift = 1e-4,
                       .of_reach = 2e-4,
                       .of_drift = 2,
                       .most = 0.3,
                       .straight = {8, 8},
                       .straight_wander = 8,
                       .share = {-0.4, 0.7}};
  CutNoise unknown = known;  // of negative sums
  unknown.straight[1] = std::numeric_limits<double>::infinity();
  for (const bool walked : {false, true}) {
    for (const CutNoise& cut : {known, unknown}) {
      const ProductElements all = elements(walked);
      const at::Tensor noise = rounded_noise(all, kRounded);
      const CutRoom room = cut_room(all, cut);
      const Drift drift = cut_noise(all, cut);
      for (std::int64_t i = 0; i < kCount; ++i) {
        const Plain wanted(all, i, cut);
        expect_near(noise, i, wanted.noise);
        expect_near(room.drifts, i, wanted.drift);
        expect_near(room.more, i, wanted.more);
        EXPECT_EQ(room.straight[i].item<bool>(), wanted.straight);
        expect_near(drift.noise, i, wanted.cut_noise);
        expect_near(drift.drifts, i, wanted.cut_drift);
      }
    }
  }
}

}  // namespace
}  // namespace msprobe::strict
