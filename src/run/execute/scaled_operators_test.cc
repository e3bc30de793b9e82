// SPDX-License-Identifier: Apache-2.0
#include "execute/scaled_operators.h"

#include <gtest/gtest.h>

#include "libtorch/dtypes.h"
#include "low_precision/codes.h"

namespace msprobe::execute {
namespace {

using low_precision::codes_of;
using low_precision::packed;
using low_precision::swizzled;

std::optional<at::ScalarType> type_of(DType dtype) { return libtorch::scalar_type(dtype); }

at::Tensor random_codes(CodeFormat format, std::vector<std::int64_t> shape) {
  return codes_of(format, at::randn(shape, at::kDouble) * (format == CodeFormat::kE2M1 ? 2 : 30));
}

PyValue integers(std::vector<std::int64_t> values) {
  PyList list;
  for (const std::int64_t value : values) list.push_back({value});
  return {list};
}

at::Tensor product_of(std::string_view name, const PyCall& call) {
  return low_precision::compose(*scaled_product_of(name, call));
}

bool close(const at::Tensor& one, const at::Tensor& other) {
  return at::allclose(one, other, 1e-12, 1e-12);
}

class ScaledOperators : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!type_of(DType::kFloat8E8M0)) GTEST_SKIP() << "this PyTorch has no float8_e8m0fnu";
    at::manual_seed(1);
  }
  const CodeFormat e4m3_ = CodeFormat::kE4M3Fn;
};

TEST_F(ScaledOperators, RowsAndColumnsAreScaled) {
  const at::ScalarType type = *type_of(DType::kFloat8E4M3);
  const at::Tensor a = random_codes(e4m3_, {5, 48}), b = random_codes(e4m3_, {7, 48});
  const at::Tensor sa = at::rand({5, 1}) + 1, sb = at::rand({1, 7}) + 1;
  const PyCall call{{{a.view(type)}, {b.view(type).t()}, {sa}, {sb}}};
  const at::Tensor wanted =
      (low_precision::numbers_of(e4m3_, a) * sa).matmul((low_precision::numbers_of(e4m3_, b)).t()) *
      sb;
  EXPECT_TRUE(close(product_of("_scaled_mm", call), wanted));
  const PyCall second{{{a.view(type)},
                       {b.view(type).t()},
                       {PyList{{sa}}},
                       integers({1}),
                       integers({}),
                       {PyList{{sb}}},
                       integers({1}),
                       integers({})}};
  EXPECT_TRUE(close(product_of("_scaled_mm_v2", second), wanted));
}

TEST_F(ScaledOperators, SwizzledPairsOfFourBitsHaveTwoLevels) {
  const auto packed_type = type_of(DType::kFloat4E2M1x2);
  if (!packed_type) GTEST_SKIP() << "this PyTorch has no float4_e2m1fn_x2";
  const CodeFormat e2m1 = CodeFormat::kE2M1;
  const at::Tensor a = random_codes(e2m1, {130, 96}), b = random_codes(e2m1, {20, 96});
  const at::Tensor ga = random_codes(e4m3_, {130, 6}), gb = random_codes(e4m3_, {20, 6});
  const at::ScalarType e4m3 = *type_of(DType::kFloat8E4M3);
  const auto level = [&](const at::Tensor& grid, float whole) {
    return PyValue{PyList{{swizzled(grid).view(e4m3)}, {at::full({}, whole)}}};
  };
  const PyCall call{{{packed(a).view(*packed_type)},
                     {packed(b).view(*packed_type).t()},
                     level(ga, 0.5F),
                     integers({2, 0}),
                     integers({1, 0}),
                     level(gb, 3.0F),
                     integers({2, 0}),
                     integers({1, 0}),
                     {dump::None{}},
                     {at::kBFloat16}}};
  const auto scaled = [&](const at::Tensor& codes, const at::Tensor& grid) {
    return low_precision::numbers_of(e2m1, codes) *
           low_precision::numbers_of(e4m3_, grid).abs().repeat_interleave(16, 1);
  };
  EXPECT_TRUE(
      close(product_of("_scaled_mm_v2", call), scaled(a, ga).matmul(scaled(b, gb).t()) * 1.5));
}

TEST_F(ScaledOperators, GroupsOfTokensHaveTheirOwnFactorAndScales) {
  const at::ScalarType type = *type_of(DType::kFloat8E4M3);
  const at::Tensor a = random_codes(e4m3_, {10, 32}), b = random_codes(e4m3_, {3, 4, 32});
  const at::Tensor sa = at::rand({10}) + 1, sb = at::rand({3, 4}) + 1;
  const PyCall call{{{a.view(type)},
                     {b.view(type).transpose(1, 2)},
                     {sa},
                     {sb},
                     {at::tensor({4, 4, 8}, at::kInt)}}};
  const at::Tensor result = product_of("_scaled_grouped_mm", call);
  ASSERT_EQ(result.sizes(), (std::vector<std::int64_t>{10, 4}));
  const auto part = [&](std::int64_t from, std::int64_t to, std::int64_t group) {
    const at::Tensor left =
        low_precision::numbers_of(e4m3_, a.slice(0, from, to)) * sa.slice(0, from, to).unsqueeze(1);
    const at::Tensor right = low_precision::numbers_of(e4m3_, b[group]) * sb[group].unsqueeze(1);
    return left.matmul(right.t());
  };
  EXPECT_TRUE(close(result.slice(0, 0, 4), part(0, 4, 0)));
  EXPECT_TRUE(close(result.slice(0, 4, 8), part(4, 8, 2)));
  EXPECT_TRUE(result.slice(0, 8, 10).eq(0).all().item<bool>());
  PyValue device{at::full({10, 4}, NAN)};
  PyValue bench{result};
  clear_undefined_groups("_scaled_grouped_mm", call, bench, device);
  const at::Tensor& cleared = *device.as<at::Tensor>();
  EXPECT_TRUE(cleared.slice(0, 8, 10).eq(0).all().item<bool>());
  EXPECT_TRUE(cleared.slice(0, 0, 8).isnan().all().item<bool>());
}

TEST_F(ScaledOperators, GroupsOfTermsGiveAProductEach) {
  const at::ScalarType type = *type_of(DType::kFloat8E4M3);
  const at::Tensor a = random_codes(e4m3_, {6, 64}), b = random_codes(e4m3_, {5, 64});
  const at::Tensor sa = at::rand({12}) + 1, sb = at::rand({10}) + 1;
  const PyCall call{
      {{a.view(type)}, {b.view(type).t()}, {sa}, {sb}, {at::tensor({16, 48}, at::kInt)}}};
  const at::Tensor result = product_of("_scaled_grouped_mm", call);
  ASSERT_EQ(result.sizes(), (std::vector<std::int64_t>{2, 6, 5}));
  const at::Tensor left =
      low_precision::numbers_of(e4m3_, a.slice(1, 16, 48)) * sa.slice(0, 6, 12).unsqueeze(1);
  const at::Tensor right =
      low_precision::numbers_of(e4m3_, b.slice(1, 16, 48)) * sb.slice(0, 5, 10).unsqueeze(1);
  EXPECT_TRUE(close(result[1], left.matmul(right.t())));
}

}  // namespace
}  // namespace msprobe::execute
