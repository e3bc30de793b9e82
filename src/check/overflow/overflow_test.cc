// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "overflow/overflow_row.h"
#include "overflow/overflow_verdict.h"

namespace msprobe::overflow {
namespace {

using protocol::LeafKind;
using protocol::MeasuredCall;
using protocol::MeasuredLeaf;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

MeasuredLeaf leaf_of(double cpu, double device, DType dtype = DType::kFloat16) {
  MeasuredLeaf leaf;
  leaf.path = "0";
  leaf.kind = LeafKind::kTensor;
  leaf.device.dtype = dtype;
  leaf.metrics.count = 4;
  leaf.metrics.bench_abs_max = cpu;
  leaf.metrics.device_abs_max = device;
  return leaf;
}

OverflowVerdict verdict_for(double cpu, double device, DType dtype = DType::kFloat16) {
  const Sides sides = look_at({leaf_of(cpu, device, dtype)});
  return verdict_of(sides.cpu, sides.device);
}

TEST(Overflow, FourVerdicts) {
  EXPECT_EQ(verdict_for(kInf, kInf), OverflowVerdict::kNormal);
  EXPECT_EQ(verdict_for(kNan, kInf), OverflowVerdict::kNormal);
  EXPECT_EQ(verdict_for(1, kNan), OverflowVerdict::kAbnormal);
  EXPECT_EQ(verdict_for(1, 1), OverflowVerdict::kNotReproduced);
  EXPECT_EQ(verdict_for(kInf, 1), OverflowVerdict::kCpuOnly);
}

TEST(Overflow, ADeviceThatSaturatesHasOverflowed) {
  EXPECT_EQ(verdict_for(kInf, 65504), OverflowVerdict::kNormal);
  EXPECT_EQ(verdict_for(3, 65504), OverflowVerdict::kAbnormal);
  EXPECT_EQ(verdict_for(kInf, std::numeric_limits<float>::max(), DType::kFloat32),
            OverflowVerdict::kNormal);
  EXPECT_EQ(verdict_for(kInf, 0x1.FEp127, DType::kBFloat16), OverflowVerdict::kNormal);
}

TEST(Overflow, ALargestNumberThatTheCpuGivesTooIsNone) {
  EXPECT_EQ(verdict_for(65504, 65504), OverflowVerdict::kNotReproduced);
  EXPECT_EQ(verdict_for(65472, 65504), OverflowVerdict::kNotReproduced);  // rounding
}

TEST(Overflow, EmptyTensorsIntegersAndTextsNeverOverflow) {
  MeasuredLeaf empty = leaf_of(kNan, kNan);
  empty.metrics.count = 0;
  EXPECT_FALSE(look_at({empty}).cpu);
  MeasuredLeaf value;
  value.kind = LeafKind::kValue;
  value.bench.value = kInf;
  value.device.value = 3.5;
  EXPECT_TRUE(look_at({value}).cpu);
  EXPECT_FALSE(look_at({value}).device);
}

dump::Value tensor_of(double max, double min, DType dtype) {
  dump::TensorRecord tensor;
  tensor.dtype = dtype;
  tensor.max = {dump::Statistic::Kind::kReal, 0, max};
  tensor.min = {dump::Statistic::Kind::kReal, 0, min};
  return {tensor};
}

TEST(Overflow, TheRecordTells) {
  const DType half = DType::kFloat16;
  EXPECT_EQ(recorded_overflow({}, {}), std::nullopt);
  EXPECT_EQ(recorded_overflow({tensor_of(1, 0, half)}, {}), false);
  EXPECT_EQ(recorded_overflow({tensor_of(kInf, 0, half)}, {}), true);
  EXPECT_EQ(recorded_overflow({tensor_of(1, kNan, half)}, {}), true);
  EXPECT_EQ(recorded_overflow({tensor_of(65504, 0, half)}, {}), true);
  EXPECT_EQ(recorded_overflow({tensor_of(0, -65504, half)}, {tensor_of(0, -65504, half)}), false);
  EXPECT_EQ(recorded_overflow({dump::Value{dump::List{tensor_of(kInf, 0, half)}}}, {}), true);
  EXPECT_EQ(recorded_overflow({dump::Value{true}}, {}), false);
  EXPECT_EQ(recorded_overflow({dump::Value{std::int64_t{1} << 62}}, {}), false);
}

TEST(Overflow, MessagesAreTheDocumentedOnes) {
  const dump::CallSlice slice{"Functional.conv2d.1",        "{}", "[]", 0, 0,
                              "Functional_conv2d_1_forward"};
  MeasuredCall call;
  call.forward = {leaf_of(kInf, kInf)};
  call.backward = {leaf_of(1, kInf)};
  const std::vector<OverflowRow> rows = rows_of(slice, nullptr, call, {DeviceSide::kRun, "sim:0"});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].message, "The Functional_conv2d_1_forward overflow is a normal overflow.");
  EXPECT_EQ(rows[1].message, "The Functional_conv2d_1_backward overflow is an abnormal overflow.");
  std::string text;
  append_csv(rows[1], text);
  EXPECT_EQ(text,
            "Functional_conv2d_1_backward,False,True,abnormal,0,"
            "The Functional_conv2d_1_backward overflow is an abnormal overflow.\r\n");
}

TEST(Overflow, WithoutADeviceTheRecordingIsTheDevice) {
  const dump::CallSlice slice{"Torch.mul.0", "{}", {}};
  MeasuredCall call;
  call.forward = {leaf_of(1, 1)};
  const OverflowRow by_file =
      rows_of(slice, nullptr, call, {DeviceSide::kProvenance, "recorded"}).front();
  EXPECT_EQ(by_file.verdict, OverflowVerdict::kAbnormal);
  dump::CallRecord record;
  record.forward.output = {tensor_of(1, 0, DType::kFloat16)};
  const OverflowRow finite =
      rows_of(slice, &record, call, {DeviceSide::kRecorded, "recorded"}).front();
  EXPECT_EQ(finite.verdict, OverflowVerdict::kNotReproduced);
  EXPECT_EQ(finite.message, "The Torch.mul.0 overflow is not reproduced: no overflow recorded.");
  EXPECT_FALSE(finite.expected);
  record.forward.output.clear();
  const OverflowRow unknown =
      rows_of(slice, &record, call, {DeviceSide::kRecorded, "recorded"}).front();
  EXPECT_EQ(unknown.verdict, OverflowVerdict::kSkip);
}

TEST(Overflow, NoneTruthValuesAndLostCalls) {
  const dump::CallSlice slice{"Torch.equal.0", "{}", {}};
  const RowContext context{DeviceSide::kRun, "cpu"};
  MeasuredCall call;
  call.forward = {MeasuredLeaf{}};
  EXPECT_EQ(rows_of(slice, nullptr, call, context).front().message,
            "The Torch.equal.0 overflow is a normal overflow, out and npu_out is None.");
  call.forward.front().kind = LeafKind::kValue;
  for (const PythonValue& value : {PythonValue(true), PythonValue(std::int64_t{7})}) {
    call.forward.front().bench.value = value;
    for (const DeviceSide side :
         {DeviceSide::kRun, DeviceSide::kRecorded, DeviceSide::kProvenance}) {
      const OverflowRow exact = rows_of(slice, nullptr, call, {side, "cpu"}).front();
      EXPECT_EQ(exact.verdict, OverflowVerdict::kNotReproduced);
      EXPECT_EQ(exact.device, false);
      EXPECT_FALSE(exact.lost);
      EXPECT_FALSE(exact.expected);
      EXPECT_EQ(exact.message,
                "The Torch.equal.0 overflow is not reproduced: an int or a bool, which it returns, "
                "cannot overflow.");
    }
  }
  call.forward.front().device.value = kInf;  // the device returned a float instead
  EXPECT_EQ(rows_of(slice, nullptr, call, context).front().verdict, OverflowVerdict::kAbnormal);
  call.skip = Skip{SkipReason::kCrashed, "signal SIGSEGV"};
  const OverflowRow lost = rows_of(slice, nullptr, call, context).front();
  EXPECT_TRUE(lost.lost);
  EXPECT_EQ(lost.message, "Run Torch.equal.0 UT Error: signal SIGSEGV");
}

}  // namespace
}  // namespace msprobe::overflow
