// SPDX-License-Identifier: Apache-2.0
#include "codes/judge_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codes/stochastic_codes.h"
#include "low_precision/codes.h"

namespace msprobe::codes {
namespace {

using low_precision::codes_of;
using low_precision::numbers_of;
using testing::HasSubstr;

CodePair pair_of(CodeFormat format, const at::Tensor& numbers, const at::Tensor& device) {
  return {
      .format = format, .device = device, .numbers = numbers, .allowed = {}, .signs_count = true};
}

class JudgeCodes : public ::testing::TestWithParam<CodeFormat> {
 protected:
  JudgeCodes() {
    at::manual_seed(3);
    numbers_ = at::randn({64, 32}, at::kDouble) * 3;
    codes_ = codes_of(GetParam(), numbers_);
  }
  StrictFinding judge(const at::Tensor& device) const {
    return judge_codes(pair_of(GetParam(), numbers_, device));
  }
  at::Tensor numbers_, codes_;
};

TEST_P(JudgeCodes, RightCodesPass) { EXPECT_EQ(judge(codes_).status, Verdict::kPass); }

TEST_P(JudgeCodes, OneCodeIsSeen) {
  at::Tensor device = codes_.clone();
  device[7][5] = device[7][5].item<int>() ^ 1;
  const StrictFinding finding = judge(device);
  EXPECT_EQ(finding.status, Verdict::kError);
  EXPECT_THAT(finding.reason, HasSubstr("1 of 2048 codes"));
  EXPECT_THAT(finding.reason, HasSubstr("(7, 5)"));
  EXPECT_EQ(finding.cause, "one bad element");
}

// One of the two neighbours, each as often as the number is near to it; `bias` makes the upper one
// as much likelier.
at::Tensor rounded_at_random(CodeFormat format, const at::Tensor& numbers, double bias) {
  const at::Tensor chances = at::rand(numbers.sizes(), at::kDouble);
  at::Tensor rounded = numbers.clone();
  auto* values = rounded.data_ptr<double>();
  for (std::int64_t i = 0; i < rounded.numel(); ++i) {
    const CodeNeighbours near = neighbours(format, values[i]);
    const double r =
        near.upper > near.lower ? (values[i] - near.lower) / (near.upper - near.lower) + bias : 0;
    values[i] = chances.data_ptr<double>()[i] < r ? near.upper : near.lower;
  }
  return codes_of(format, rounded);
}

TEST_P(JudgeCodes, StochasticRoundingIsAProperty) {
  const auto judged = [&](const at::Tensor& codes) {
    return judge_stochastic(pair_of(GetParam(), numbers_, codes));
  };
  EXPECT_EQ(judged(rounded_at_random(GetParam(), numbers_, 0)).status, Verdict::kPass);
  const StrictFinding nearest = judged(codes_);
  EXPECT_EQ(nearest.status, Verdict::kError);
  EXPECT_EQ(nearest.cause, "rounded to nearest, not stochastically");
  EXPECT_EQ(judged(rounded_at_random(GetParam(), numbers_, 0.15)).cause, "biased");
  EXPECT_EQ(judged(codes_of(GetParam(), numbers_ * 1.5)).status, Verdict::kError);
  const StrictFinding few = judge_stochastic(
      pair_of(GetParam(), numbers_.narrow(0, 0, 1).contiguous().narrow(1, 0, 8).contiguous(),
              codes_.narrow(0, 0, 1).contiguous().narrow(1, 0, 8).contiguous()));
  EXPECT_EQ(few.status, Verdict::kInconclusive);
}

TEST_P(JudgeCodes, HalvedNumbersAreSeen) {
  const auto half = codes_of(GetParam(), numbers_of(GetParam(), codes_) / 2);
  EXPECT_EQ(judge(half).status, Verdict::kError);
}

TEST_P(JudgeCodes, CuttingIsNamed) {
  at::Tensor cut = numbers_.clone();
  auto* values = cut.data_ptr<double>();
  for (std::int64_t i = 0; i < cut.numel(); ++i) {
    const CodeNeighbours near = neighbours(GetParam(), values[i]);
    values[i] = values[i] < 0 ? near.upper : near.lower;
  }
  EXPECT_EQ(judge(codes_of(GetParam(), cut)).cause, "rounded toward zero");
}

INSTANTIATE_TEST_SUITE_P(Formats, JudgeCodes,
                         testing::Values(CodeFormat::kE4M3Fn, CodeFormat::kE5M2,
                                         CodeFormat::kE4M3Fnuz, CodeFormat::kHiFloat8),
                         [](const auto& given) { return std::string(name(given.param)); });

TEST(JudgeCodesBeyond, E4M3MaySaturateOrNotButNotBoth) {
  const at::Tensor numbers = at::tensor({1000.0, -1000.0, 1.0}, at::kDouble);
  const auto status = [&](int first, int second) {
    const at::Tensor device = at::tensor({first, second, 0x38}, at::kByte);
    return judge_codes(pair_of(CodeFormat::kE4M3Fn, numbers, device)).status;
  };
  EXPECT_EQ(status(0x7e, 0xfe), Verdict::kPass);
  EXPECT_EQ(status(0x7f, 0xff), Verdict::kPass);
  EXPECT_EQ(status(0x7e, 0xff), Verdict::kError);
}

TEST(JudgeCodesBeyond, SaturationForInfinityIsNamed) {
  const at::Tensor numbers = at::tensor({1e6, 2.0}, at::kDouble);
  const at::Tensor device = at::tensor({0x7b, 0x40}, at::kByte);
  const StrictFinding finding = judge_codes(pair_of(CodeFormat::kE5M2, numbers, device));
  EXPECT_EQ(finding.status, Verdict::kError);
  EXPECT_THAT(finding.cause, HasSubstr("saturation"));
}

TEST(JudgeCodesBeyond, NanMustStayOneWhateverItsCode) {
  const at::Tensor numbers = at::tensor({NAN, 1.0}, at::kDouble);
  const auto finding = [&](int code) {
    return judge_codes(pair_of(CodeFormat::kE5M2, numbers, at::tensor({code, 0x3c}, at::kByte)));
  };
  EXPECT_EQ(finding(0x7e).status, Verdict::kPass);
  EXPECT_EQ(finding(0xff).status, Verdict::kPass);
  EXPECT_EQ(finding(0x7b).status, Verdict::kError);
  EXPECT_EQ(finding(0x7b).cause, "lost NaN");
}

TEST(JudgeCodesSums, ASumNearATieMayRoundToEitherSide) {
  const at::Tensor numbers = at::tensor({1.0625, 1.03}, at::kDouble);  // a tie; not a tie
  CodePair pair = pair_of(CodeFormat::kE4M3Fn, numbers, at::tensor({0x39, 0x38}, at::kByte));
  pair.signs_count = false;
  EXPECT_EQ(judge_codes(pair).status, Verdict::kError);
  pair.allowed = at::full({2}, 1e-6, at::kDouble);
  EXPECT_EQ(judge_codes(pair).status, Verdict::kPass);
  pair.device = at::tensor({0x39, 0x39}, at::kByte);
  EXPECT_EQ(judge_codes(pair).status, Verdict::kError);
}

}  // namespace
}  // namespace msprobe::codes
