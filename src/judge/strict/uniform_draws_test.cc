// SPDX-License-Identifier: Apache-2.0
#include "strict/uniform_draws.h"

#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "libtorch/aten.h"

namespace msprobe::strict {
namespace {

constexpr std::int64_t kDrawCounts[] = {1, 2, 3, 311, 312, 313, 0, 5, 2000, 7};
constexpr std::uint64_t kSeed = 0x123456789abcdef;

std::span<double> span_of(at::Tensor& tensor) {
  return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

TEST(UniformDraws, AreThoseOfPyTorchBitByBit) {
  for (const double high : {1.0, 0.0}) {
    UniformDraws draws(kSeed);
    at::Generator generator = at::detail::createCPUGenerator(kSeed);
    for (const std::int64_t count : kDrawCounts) {
      at::Tensor mine = at::zeros({count}, at::kDouble);
      draws.move(span_of(mine), {-1, high, 0, /*more=*/1});
      EXPECT_TRUE(mine.equal(at::empty({count}, at::kDouble).uniform_(-1, high, generator)));
    }
  }
}

TEST(UniformDraws, MoveAsOperatorsOnTensorsDo) {
  constexpr double kSize = 0x1p-24;
  for (const double more : {0.0, 1e-3}) {
    UniformDraws draws(kSeed);
    at::Generator generator = at::detail::createCPUGenerator(kSeed);
    for (const std::int64_t count : kDrawCounts) {
      at::Tensor mine = at::arange(count, at::kDouble).sub_(2).div_(3);
      const at::Tensor given = mine.clone();
      draws.move(span_of(mine), {-1, 1, kSize, more});
      const at::Tensor r = at::empty({count}, at::kDouble).uniform_(-1, 1, generator);
      at::Tensor wanted = given * (r * kSize + 1);
      if (more != 0) wanted += r * more * at::where(given.lt(0), -1.0, 1.0);
      EXPECT_TRUE(mine.equal(wanted)) << count;
    }
  }
}

}  // namespace
}  // namespace msprobe::strict
