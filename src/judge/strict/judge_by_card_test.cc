// SPDX-License-Identifier: Apache-2.0
// Products of a device whose arithmetic is on its card.
#include "strict/judge_by_card.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libtorch/cpu_types_for_test.h"
#include "libtorch/dtypes.h"
#include "strict/calls_for_test.h"
#include "strict/product.h"
#include "units/unit_spec.h"

namespace msprobe::strict {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kUnit = "block=8,bits=24,cut=zero,sum=zero";

StrictOptions with_card(DType dtype, const std::vector<std::string>& specs, bool certain = true) {
  units::KnownProducts known{.dtype = dtype, .certain = certain};
  for (const std::string& spec : specs) known.units.push_back(*units::parse_unit(spec));
  StrictOptions options;
  options.card = card_arithmetic({known});
  return options;
}

// A call whose device multiplies with a unit.
class ByCardTest : public testing::Test {
 protected:
  static dump::CallRecord matmul(DType dtype, std::int64_t terms = 300) {
    return call("Torch.matmul.0", {{tensor({20, terms}, dtype)}, {tensor({terms, 24}, dtype)}});
  }
  static at::Tensor computed_by(const std::string& spec, DType dtype, const RunCall& run,
                                std::string_view api, Added added = Added::kInFloat32) {
    const CardArithmetic card =
        card_arithmetic({{.dtype = dtype, .units = {*units::parse_unit(spec)}}});
    const units::KnownProducts& known = card.begin()->second;
    const auto product = forward_product(api, run.outcome.arguments.call);
    return computed(known, known.units.front(), product.value(), *libtorch::scalar_type(dtype),
                    added)
        .view(run.device().sizes());
  }
  static StrictFinding judged(const RunCall& run, const StrictOptions& options) {
    return run.judge(options).forward[0];
  }
};

TEST_F(ByCardTest, WhatTheCardGivesIsExplained) {
  for (const DType dtype : libtorch::cpu_floats()) {
    if (dtype == DType::kFloat64) continue;
    RunCall run(matmul(dtype));
    run.set_device(computed_by(kUnit, dtype, run, "matmul"));
    const StrictFinding finding = judged(run, with_card(dtype, {kUnit}));
    EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
    if (finding.cause.empty()) continue;  // of 16 bits, all may be the rounded benchmark
    EXPECT_THAT(finding.reason, HasSubstr("by at most 1 of the bound, bit for bit as the card"));
    EXPECT_EQ(finding.cause,
              "arithmetic of the device: it adds in blocks of 8, 24 bits, cut toward zero");
  }
}

// An arithmetic that the bound alone does not excuse.
TEST_F(ByCardTest, CoarseArithmeticIsExplainedToo) {
  constexpr const char* kCoarse = "block=8,bits=24,inputs=bfloat16";
  RunCall run(matmul(DType::kFloat32));
  run.set_device(computed_by(kCoarse, DType::kFloat32, run, "matmul"));
  EXPECT_EQ(judged(run, {}).status, Verdict::kError);
  const StrictFinding finding = judged(run, with_card(DType::kFloat32, {kCoarse}));
  EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
  EXPECT_THAT(finding.cause, HasSubstr("bfloat16 inputs"));
}

TEST_F(ByCardTest, OneUnitOfOneElementIsSeen) {
  for (const DType dtype : libtorch::cpu_floats()) {
    if (dtype == DType::kFloat64) continue;
    RunCall run(matmul(dtype));
    at::Tensor device = computed_by(kUnit, dtype, run, "matmul");
    const at::Tensor wide = device[7][5].to(at::kDouble);
    const double unit =
        unit_of(std::abs(wide.item<double>()), *float_type(*libtorch::scalar_type(dtype)));
    device[7][5] = (wide + unit).to(device.scalar_type());
    run.set_device(device);
    const StrictFinding finding = judged(run, with_card(dtype, {kUnit}));
    EXPECT_EQ(finding.status, Verdict::kWarning) << finding.reason;
    EXPECT_THAT(finding.reason, HasSubstr("1 of 480 elements is beyond the bound"));
    EXPECT_THAT(finding.reason, HasSubstr("2 times its bound"));
    EXPECT_EQ(finding.cause, "one bad element: (7, 5)");
    device[7][5] = (wide + 64 * unit).to(device.scalar_type());
    run.set_device(device);
    EXPECT_EQ(judged(run, with_card(dtype, {kUnit})).status, Verdict::kError);
  }
}

TEST_F(ByCardTest, AnotherArithmeticIsSuspect) {
  RunCall run(matmul(DType::kFloat32));
  run.set_device(computed_by("block=4,bits=23", DType::kFloat32, run, "matmul"));
  EXPECT_EQ(judged(run, {}).status, Verdict::kPass);
  const StrictFinding finding = judged(run, with_card(DType::kFloat32, {kUnit}));
  EXPECT_EQ(finding.status, Verdict::kWarning) << finding.reason;
  EXPECT_THAT(finding.cause, StartsWith("another arithmetic than on the card"));
  // A card that does not explain all that was tried proves nothing by what it does not explain.
  EXPECT_EQ(judged(run, with_card(DType::kFloat32, {kUnit}, false)).status, Verdict::kPass);
}

TEST_F(ByCardTest, TheCardMayLeaveFieldsOpen) {
  RunCall run(matmul(DType::kFloat32));
  run.set_device(computed_by("block=8,bits=24,cut=down,sum=zero", DType::kFloat32, run, "matmul"));
  const StrictOptions open = with_card(
      DType::kFloat32, {kUnit, "block=8,bits=24,cut=nearest", "block=8,bits=24,cut=down"});
  const StrictFinding finding = judged(run, open);
  EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
  EXPECT_THAT(finding.cause, HasSubstr("cut downward"));
  at::Tensor device = run.device().clone();
  device[3][3] = device[3][3] * (1 + 0x1p-22);
  run.set_device(device);
  EXPECT_EQ(judged(run, open).cause, "one bad element: (3, 3)");
}

// Sums in bfloat16 hide nearly all of the unit, so one wrong element leaves many units possible.
TEST_F(ByCardTest, ManyUnitsMayBeOpen) {
  constexpr const char* kHidden = "block=4,sum=nearest,cut=down,bits=25,accumulator=bfloat16";
  std::vector<std::string> open;
  for (const char* sum : {"zero", "down", "nearest"}) {
    for (const char* cut : {"zero", "nearest", "down"}) {
      for (const int bits : {23, 24, 25, 26, 30}) {
        open.push_back(
            fmt::format("block=4,sum={},cut={},bits={},accumulator=bfloat16", sum, cut, bits));
      }
    }
  }
  RunCall run(call("Torch.matmul.0", {{tensor({64, 300})}, {tensor({300, 64})}}));
  run.set_device(computed_by(kHidden, DType::kFloat32, run, "matmul"));
  const StrictFinding finding = judged(run, with_card(DType::kFloat32, open));
  EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
}

TEST_F(ByCardTest, WhatIsAddedMayBeRoundedBefore) {
  const DType dtype = DType::kBFloat16;
  for (const Added added : {Added::kInFloat32, Added::kInResult}) {
    RunCall run(
        call("Functional.linear.0",
             {{tensor({4, 9, 200}, dtype)}, {tensor({31, 200}, dtype)}, {tensor({31}, dtype)}}));
    run.set_device(computed_by(kUnit, dtype, run, "linear", added));
    EXPECT_EQ(judged(run, with_card(dtype, {kUnit})).status, Verdict::kPass);
  }
}

// 45 terms: channels first, channels last, and an order that no card has.
enum class Terms : std::uint8_t { kChannelsFirst, kChannelsLast, kOther };

class ConvolutionByCard : public ByCardTest {
 protected:
  static RunCall convolved(DType dtype, Terms terms) {
    RunCall run(call(
        "Functional.conv2d.0",
        {{tensor({2, 5, 12, 11}, dtype)}, {tensor({6, 5, 3, 3}, dtype)}, {tensor({6}, dtype)}}));
    const CardArithmetic card =
        card_arithmetic({{.dtype = dtype, .units = {*units::parse_unit(kUnit)}}});
    const units::KnownProducts& known = card.begin()->second;
    Product product = forward_product("conv2d", run.outcome.arguments.call).value();
    if (terms == Terms::kChannelsLast) product = channels_last(product).value();
    if (terms == Terms::kOther) product = reversed(product);
    run.set_device(computed(known, known.units.front(), product, *libtorch::scalar_type(dtype),
                            Added::kInFloat32)
                       .view(run.device().sizes()));
    return run;
  }
  static void change(RunCall& run, const at::Tensor& where) {
    const at::ScalarType bits = run.device().element_size() == 2 ? at::kShort : at::kInt;
    at::Tensor device = run.device().clone();
    device.view(bits).add_(where.to(bits));
    run.set_device(device);
  }
};

TEST_F(ConvolutionByCard, BothOrdersAreExplained) {
  for (const DType dtype : libtorch::cpu_floats()) {
    if (dtype == DType::kFloat64) continue;
    for (const Terms terms : {Terms::kChannelsFirst, Terms::kChannelsLast}) {
      const StrictFinding finding = judged(convolved(dtype, terms), with_card(dtype, {kUnit}));
      EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
      if (dtype == DType::kFloat32) {
        EXPECT_THAT(finding.reason, HasSubstr("bit for bit as the card"));
      }
    }
  }
}

TEST_F(ConvolutionByCard, AFaultOfOneUnitIsSeen) {
  for (const DType dtype : libtorch::cpu_floats()) {
    if (dtype == DType::kFloat64) continue;
    for (const Terms terms : {Terms::kChannelsFirst, Terms::kChannelsLast}) {
      RunCall all = convolved(dtype, terms);
      change(all, all.device().ne(0));
      EXPECT_EQ(judged(all, with_card(dtype, {kUnit})).status, Verdict::kWarning);
    }
  }
  RunCall one = convolved(DType::kFloat32, Terms::kChannelsLast);
  at::Tensor where = at::zeros_like(one.device(), at::kBool);
  where[1][3][5][7] = true;
  change(one, where);
  EXPECT_EQ(judged(one, with_card(DType::kFloat32, {kUnit})).cause,
            "one bad element: (1, 3, 5, 7)");
}

// Kernels are free to choose one.
TEST_F(ConvolutionByCard, AnotherOrderIsNoFault) {
  for (const DType dtype : libtorch::cpu_floats()) {
    if (dtype == DType::kFloat64) continue;
    const StrictFinding finding =
        judged(convolved(dtype, Terms::kOther), with_card(dtype, {kUnit}));
    EXPECT_EQ(finding.status, Verdict::kPass) << finding.reason;
  }
}

TEST_F(ByCardTest, BothEndsOfTheRangeAreOnTheCard) {
  CardArithmetic card = card_arithmetic({{.dtype = DType::kFloat32,
                                          .units = {*units::parse_unit(kUnit)},
                                          .flushes_inputs = true,
                                          .flushes_results = true,
                                          .saturates = true}});
  const units::KnownProducts& known = card.begin()->second;
  const at::Tensor left = at::tensor({1e-39F, 1e30F, 1e-30F}).unsqueeze(1);
  const at::Tensor right = at::tensor({1.0F, 1e30F, 1e-10F}).unsqueeze(0);
  const at::Tensor result =
      computed(known, known.units.front(), {left, right, {}}, at::kFloat, Added::kInFloat32);
  EXPECT_EQ(result[0][1].item<float>(), 0);
  EXPECT_EQ(result[1][1].item<float>(), std::numeric_limits<float>::max());
  EXPECT_EQ(result[2][2].item<float>(), 0);
}

}  // namespace
}  // namespace msprobe::strict
