// SPDX-License-Identifier: Apache-2.0
#include "strict/error_map.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strict/calls_for_test.h"

namespace msprobe::strict {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(ErrorMap, ABadTileIsSeenAtItsPlace) {
  const at::Tensor bench = at::ones({32, 48}, at::kDouble);
  at::Tensor over = at::zeros({32, 48}, at::kDouble);
  over.narrow(0, 16, 16).narrow(1, 16, 16).fill_(50);
  const std::string map = error_map(bench.to(at::kFloat), bench, over);
  const std::string good(48, '0');
  const std::string bad = std::string(16, '0') + std::string(16, 'R') + std::string(16, '0');
  std::string cells;
  for (int row = 0; row < 32; ++row) cells += row < 16 ? good : bad;
  EXPECT_THAT(map, HasSubstr("\"cells\":\"" + cells + "\""));
  EXPECT_THAT(map, HasSubstr(R"({"shape":[32,48],"plane":true,"rows":32,"columns":48,)"));
  EXPECT_THAT(map, HasSubstr(R"("counts":[1280,0,0,0,0,0,256])"));
  EXPECT_THAT(map, HasSubstr(R"("worst":[[784,1,1,50],[785,1,1,50],)"));
}

TEST(ErrorMap, CellsHoldTheWorstOfWhatFallsIntoThem) {
  const at::Tensor bench = at::zeros({3, 100, 1000}, at::kDouble);
  at::Tensor over = at::zeros({3, 100, 1000}, at::kDouble);
  over[2][99][999] = kInfinite;
  over[1][99][998] = 0.5;
  over[0][0][0] = 0.5;
  const std::string map = error_map(bench, bench, over);
  EXPECT_THAT(map, HasSubstr("\"rows\":64,\"columns\":64,\"cells\":\"J0"));
  EXPECT_THAT(map, HasSubstr("0z\",\"counts\":[299997,0,0,0,2,0,0,0,0,0,0,0,0,0,0,1]"));
  EXPECT_THAT(map, HasSubstr("\"worst\":[[299999,0,0,\"inf\"],[0,0,0,0.5],[199998,0,0,0.5]]"));
}

TEST(ErrorMap, WhatHasNoPlaneIsMappedByItsFlatIndex) {
  const auto map_of = [](at::IntArrayRef shape, std::int64_t wrong) {
    const at::Tensor bench = at::zeros(shape, at::kDouble);
    at::Tensor over = at::zeros(shape, at::kDouble);
    over.view(-1)[wrong] = 1e30;
    return error_map(bench, bench, over);
  };
  EXPECT_THAT(map_of({3}, 1), HasSubstr(R"("plane":false,"rows":1,"columns":3,"cells":"0y0")"));
  EXPECT_THAT(map_of({}, 0), HasSubstr(R"("plane":false,"rows":1,"columns":1,"cells":"y")"));
  EXPECT_THAT(map_of({5, 1}, 4),
              HasSubstr(R"("plane":false,"rows":1,"columns":5,"cells":"0000y")"));
  // 70 cells: a full row of 64, and six more.
  EXPECT_THAT(map_of({70}, 69),
              HasSubstr(R"("rows":2,"columns":64,"cells":")" + std::string(69, '0') + "y\""));
  const std::string large = map_of({1 << 20}, (1 << 20) - 1);
  EXPECT_THAT(large,
              HasSubstr(R"("rows":64,"columns":64,"cells":")" + std::string(4095, '0') + "y\""));
  EXPECT_LT(large.size(), 6000U);
}

TEST(ErrorMap, StepsAreQuartersOfADecade) {
  const std::vector<double> over{1e-9, 1, 1.0000001, 10, 1e9, 1e11};
  const at::Tensor values = at::tensor(over, at::kDouble);
  const std::string map = error_map(values, values, values);
  EXPECT_THAT(map, HasSubstr(R"("cells":"1KLOuy")"));
  EXPECT_THAT(map, HasSubstr(R"("counts":[0,1,0,0,1,2,0,0,0,0,0,0,0,1,1])"));
}

TEST(ErrorMap, ElementsAreStrictJson) {
  const at::Tensor over = at::full({1}, kInfinite, at::kDouble);
  const auto element = [&](const at::Tensor& device, const at::Tensor& bench) {
    const std::string map = error_map(device, bench, over);
    return map.substr(map.find("\"worst\""));
  };
  const at::Tensor nan = at::full({1}, std::numeric_limits<double>::quiet_NaN(), at::kFloat);
  EXPECT_EQ(element(nan, at::full({1}, -kInfinite, at::kDouble)),
            R"("worst":[[0,"nan","-inf","inf"]]})");
  EXPECT_EQ(
      element(at::full({1}, (std::int64_t{1} << 53) + 1, at::kLong), at::full({1}, 7, at::kLong)),
      R"("worst":[[0,"9007199254740993",7,"inf"]]})");
  EXPECT_EQ(element(at::complex(at::ones({1}), -at::ones({1})),
                    at::complex(at::ones({1}), at::ones({1}))),
            R"("worst":[[0,"1-1j","1+1j","inf"]]})");
}

TEST(JudgeCall, OnlyOutputsBeyondTheirBoundHaveAMap) {
  RunCall run(call("Torch.mul.0", {{tensor({8, 8})}, {tensor({8, 8})}}));
  EXPECT_THAT(run.forward().map, IsEmpty());
  at::Tensor device = run.device().clone();
  device.narrow(0, 4, 2).narrow(1, 2, 2).add_(1);
  run.set_device(device);
  const std::string map = run.forward().map;
  const std::size_t cells = map.find("\"cells\":\"") + 9;
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      const bool bad = row >= 4 && row < 6 && column >= 2 && column < 4;
      EXPECT_EQ(map[cells + row * 8 + column] > 'K', bad) << row << " " << column << "\n" << map;
    }
  }
}

TEST(JudgeCall, WholeNumbersThatDifferAreFarBeyond) {
  const dump::TensorRecord whole = tensor({4}, DType::kInt32, false, -9, 9);
  RunCall run(call("Torch.mul.0", {{whole}, {whole}}));
  at::Tensor device = run.device().clone();
  device[2] = device[2] + 1;
  run.set_device(device);
  const StrictFinding finding = run.forward();
  ASSERT_EQ(finding.status, Verdict::kError) << finding.reason;
  EXPECT_THAT(finding.map, HasSubstr(R"("cells":"00y0","counts":[3,0,0,0,0,0,0,0,0,0,0,0,0,0,1])"));
}

}  // namespace
}  // namespace msprobe::strict
