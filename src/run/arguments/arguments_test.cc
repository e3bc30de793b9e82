// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arguments/build.h"
#include "arguments/hf32.h"
#include "arguments/philox.h"
#include "arguments/random_tensor.h"
#include "core/stable_hash.h"

namespace msprobe::arguments {
namespace {

using dump::Statistic;
using dump::TensorRecord;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Statistic real(double value) { return {Statistic::Kind::kReal, 0, value}; }
Statistic integer(std::int64_t value) {
  return {Statistic::Kind::kInteger, value, static_cast<double>(value)};
}

TensorRecord record(DType dtype, Shape shape, Statistic low, Statistic high) {
  TensorRecord record;
  record.dtype = dtype;
  record.dtype_text = text(dtype);
  record.shape = std::move(shape);
  record.min = low;
  record.max = high;
  return record;
}

at::Tensor draw(const TensorRecord& record) {
  return *random_tensor(record, Philox(1234, "Torch.add.0", "forward.input.0"));
}

dump::CallRecord packed_call(const char* name, Shape data, Shape numbers, std::int64_t low,
                             std::int64_t high, std::int64_t output_rows) {
  dump::CallRecord call;
  call.full_name = name;
  call.forward.input_args = {
      {record(DType::kFloat32, std::move(data), real(-1), real(1))},
      {record(DType::kInt64, std::move(numbers), integer(low), integer(high))}};
  call.forward.output = {{record(DType::kFloat32, {output_rows, 3}, real(-1), real(1))}};
  return call;
}

at::Tensor second_argument(const dump::CallRecord& call, std::string_view bare_name) {
  const OrSkip<Arguments> built = build_arguments(call, bare_name, {});
  return *built->call.args[1].as<at::Tensor>();
}

TEST(BuildArguments, LengthsOfPackedSequencesFallAndAddUp) {
  const at::Tensor lengths = second_argument(
      packed_call("VF._pack_padded_sequence.0", {3, 5, 3}, {3}, 1, 5, 9), "_pack_padded_sequence");
  EXPECT_TRUE(lengths.equal(at::tensor({5, 3, 1}, at::kLong))) << lengths;
  const at::Tensor sizes = second_argument(packed_call("VF.lstm.0", {8, 3}, {5}, 1, 2, 8), "lstm");
  EXPECT_TRUE(sizes.equal(at::tensor({2, 2, 2, 1, 1}, at::kLong))) << sizes;
}

TEST(BuildArguments, EndsOfGroupsNeverFall) {
  dump::CallRecord call;
  call.full_name = "Aten._grouped_mm.1";
  call.forward.input_args = {{record(DType::kFloat32, {128, 8}, real(-1), real(1))},
                             {record(DType::kFloat32, {16, 8, 4}, real(-1), real(1))}};
  call.forward.input_kwargs = {{"offs", {record(DType::kInt32, {16}, integer(3), integer(128))}}};
  const OrSkip<Arguments> built = build_arguments(call, "_grouped_mm", {});
  const at::Tensor ends = *built->call.kwargs[0].second.as<at::Tensor>();
  EXPECT_TRUE(ends.diff().ge(0).all().item<bool>()) << ends;
  EXPECT_EQ(ends.scalar_type(), at::kInt);
  EXPECT_EQ(ends[0].item<int>(), 3);
  EXPECT_EQ(ends[15].item<int>(), 128);
}

TEST(Philox, AgreesWithThePublishedVectors) {  // Random123, kat_vectors, philox4x32 10
  EXPECT_EQ(Philox(0).block(0), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Philox, ManyWordsAreThoseOfSingleOnes) {
  Philox many(7);
  Philox single(7);
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 31, 32, 33, 64, 127, 1024, 6, 1}) {
    std::vector<std::uint32_t> words(count);
    many.next_words(words);
    for (const std::uint32_t word : words) ASSERT_EQ(word, single.next32()) << count;
  }
}

TEST(RandomTensor, LargeOnesHoldTheNumbersOfTheStream) {
  constexpr double kLow = -0.3;
  constexpr double kHigh = 1.7;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    const at::Tensor drawn = draw(record(dtype, {3001}, real(kLow), real(kHigh)));
    Philox random(1234, "Torch.add.0", "forward.input.0");
    random.next32();
    for (std::int64_t i = 1; i < 3000; ++i) {
      const double unit = static_cast<double>(random.next32() >> 8) * 0x1p-24;
      const at::Tensor wanted =
          at::full({}, static_cast<float>(unit * (kHigh - kLow) + kLow), at::kFloat);
      ASSERT_TRUE(drawn[i].equal(wanted.to(drawn.scalar_type()))) << i;
    }
  }
}

// The hash of every byte. Complex numbers are left out: their phases come from the system's sine.
TEST(RandomTensor, HasTheSameBytesOnEveryMachine) {
  const std::pair<DType, const char*> hashes[] = {
      {DType::kFloat64, "1f86a9cddee61db3dfdba9af1ec054cb"},
      {DType::kFloat32, "2bbf3905ea4b98c6e8d0574a2668f007"},
      {DType::kFloat16, "e33d94f4aa690f89b654020d1c97ce5e"},
      {DType::kBFloat16, "67f967e15cbad63ec4cfce14a892d5f7"},
      {DType::kFloat8E4M3, "e23f46d0538ccbe017cfa07efd50b4e7"},
      {DType::kInt64, "b4b46ec6da6040034cff6ac7b790a727"},
  };
  for (const auto& [dtype, hash] : hashes) {
    const at::Tensor tensor = draw(record(dtype, {10'007}, real(-3.7), real(2.9)));
    const std::string_view bytes(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
    EXPECT_EQ(text(StableHash().add(bytes).value()), hash) << text(dtype);
  }
}

TEST(Philox, StreamsDependOnSeedCallAndPath) {
  const auto first = [](std::uint64_t seed, const char* call, const char* path) {
    return Philox(seed, call, path).next64();
  };
  const std::uint64_t one = first(1, "a", "b");
  EXPECT_EQ(one, first(1, "a", "b"));
  EXPECT_NE(one, first(2, "a", "b"));
  EXPECT_NE(one, first(1, "b", "a"));
  EXPECT_NE(one, first(1, "ab", ""));
}

TEST(Philox, BoundIsIncluded) {
  Philox random(7);
  std::array<int, 3> seen{};
  for (int i = 0; i < 300; ++i) ++seen.at(random.next_upto(2));
  EXPECT_THAT(seen, testing::Each(testing::Gt(50)));
}

TEST(RandomTensor, EndsAreMinAndMax) {  // spec, V5
  const at::Tensor x = draw(record(DType::kFloat32, {4}, real(-1), real(2)));
  EXPECT_EQ(x[0].item<float>(), -1);
  EXPECT_EQ(x[3].item<float>(), 2);
  EXPECT_TRUE(((x.slice(0, 1, 3) >= -1) & (x.slice(0, 1, 3) < 2)).all().item<bool>());
  EXPECT_EQ(draw(record(DType::kFloat32, {1}, real(-1), real(2))).item<float>(), 2);
}

TEST(RandomTensor, NanKeepsItsPlace) {  // spec, V5
  TensorRecord with_nan = record(DType::kFloat32, {4}, real(kNan), real(kNan));
  with_nan.max_finite = real(2);
  with_nan.min_finite = real(-1);
  const at::Tensor x = draw(with_nan);
  EXPECT_EQ(x[0].item<float>(), -1);
  EXPECT_TRUE(std::isnan(x[1].item<float>()));
  EXPECT_TRUE(std::isfinite(x[2].item<float>()));
  EXPECT_EQ(x[3].item<float>(), 2);
  with_nan.shape = {2};
  EXPECT_TRUE(std::isnan(draw(with_nan)[0].item<float>()));
}

TEST(RandomTensor, NanWithoutFiniteBoundsLeavesTheRestFinite) {
  const at::Tensor x = draw(record(DType::kFloat32, {8}, real(kNan), real(kNan)));
  EXPECT_EQ(x.isnan().sum().item<std::int64_t>(), 1);
}

TEST(RandomTensor, InfinitiesStandAtTheEnds) {
  TensorRecord with_inf = record(DType::kFloat16, {4}, real(-kInf), real(kInf));
  with_inf.max_finite = real(2);
  with_inf.min_finite = real(-1);
  const at::Tensor x = draw(with_inf).to(at::kFloat);
  EXPECT_EQ(x[0].item<float>(), -kInf);
  EXPECT_EQ(x[3].item<float>(), kInf);
  EXPECT_TRUE(x.slice(0, 1, 3).isfinite().all().item<bool>());
  const at::Tensor open = draw(record(DType::kFloat16, {4}, real(0), real(kInf))).to(at::kFloat);
  EXPECT_TRUE(open.slice(0, 0, 3).isfinite().all().item<bool>());
}

TEST(RandomTensor, NothingFiniteRecorded) {
  TensorRecord all = record(DType::kFloat32, {}, real(kInf), real(kInf));
  all.max_finite = real(kInf);
  all.min_finite = real(kInf);
  EXPECT_EQ(draw(all).item<float>(), kInf);
  all.shape = {3};
  all.min_finite = real(-kInf);
  EXPECT_EQ(draw(all)[2].item<float>(), -kInf);
  all.max_finite = real(kNan);
  EXPECT_TRUE(draw(all).isnan().all().item<bool>());
}

TEST(RandomTensor, WholeRangeOfATypeDoesNotOverflow) {
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_TRUE(
      draw(record(DType::kFloat64, {64}, real(-kMax), real(kMax))).isfinite().all().item<bool>());
  const at::Tensor wide = draw(record(DType::kInt64, {64}, integer(INT64_MIN), integer(INT64_MAX)));
  EXPECT_EQ(wide[63].item<std::int64_t>(), INT64_MAX);
  EXPECT_NE(wide[1].item<std::int64_t>(), wide[2].item<std::int64_t>());
}

TEST(RandomTensor, IntegersAndTruthValuesIncludeBothEnds) {
  const at::Tensor x = draw(record(DType::kInt32, {1000}, integer(-2), integer(2)));
  EXPECT_EQ(x.scalar_type(), at::kInt);
  EXPECT_EQ(x.min().item<std::int64_t>(), -2);
  EXPECT_EQ(x.max().item<std::int64_t>(), 2);
  const at::Tensor mask = draw(record(DType::kBool, {2}, integer(0), integer(1)));
  EXPECT_FALSE(mask[0].item<bool>());
  EXPECT_TRUE(mask[1].item<bool>());
}

TEST(RandomTensor, EmptyNeedsNoStatistics) {
  EXPECT_EQ(draw(record(DType::kFloat32, {0, 3}, {}, {})).numel(), 0);
  const auto none = random_tensor(record(DType::kFloat32, {3}, {}, {}), Philox(0));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, SkipReason::kNoStatistics);
  EXPECT_EQ(none.error().text, "Data info Min: None , Max: None, info type must be int or float.");
}

TEST(Hf32, RoundsHalfAwayFromZero) {  // spec 2.8
  EXPECT_EQ(to_hf32(1 + 0x1p-12F), 1.00048828125F);
  EXPECT_EQ(to_hf32(1 + 0x1p-12F - 0x1p-23F), 1.0F);
  EXPECT_EQ(to_hf32(1.0F / 3), 0.3333740234375F);
  EXPECT_EQ(to_hf32(3.14159274F), 3.1416015625F);
  EXPECT_EQ(to_hf32(-1.0F / 3), -0.3333740234375F);
}

dump::CallRecord call_of(std::string name, dump::List args, dump::Dict kwargs = {}) {
  dump::CallRecord call;
  call.full_name = std::move(name);
  call.forward.input_args = std::move(args);
  call.forward.input_kwargs = std::move(kwargs);
  return call;
}

TEST(BuildArguments, RebuildsValues) {
  TensorRecord x = record(DType::kFloat32, {2}, real(0), real(1));
  x.requires_grad = true;
  const auto built = build_arguments(
      call_of("Torch.foo.0", {{x}, {dump::List{{std::int64_t{3}}}}},
              {{"dtype", {dump::DTypeValue{"torch.float16"}}},
               {"device", {dump::DeviceValue{"npu:3"}}},
               {"memory_format", {dump::MemoryFormatValue{"torch.channels_last"}}}}),
      "foo", {});
  ASSERT_TRUE(built) << built.error().text;
  EXPECT_TRUE(built->call.args[0].as<at::Tensor>()->requires_grad());
  EXPECT_EQ(*built->call.kwargs[0].second.as<at::ScalarType>(), at::kHalf);
  EXPECT_EQ(*built->call.kwargs[1].second.as<at::Device>(), at::Device(at::kCPU));
  EXPECT_EQ(*built->call.kwargs[2].second.as<at::MemoryFormat>(), at::MemoryFormat::ChannelsLast);
}

TEST(BuildArguments, ADeviceMayBeATextOrANumber) {
  const auto device_of = [](dump::Value value) {
    const auto built =
        build_arguments(call_of("Torch.ones.0", {}, {{"device", std::move(value)}}), "ones", {});
    const auto* device = built ? built->call.kwargs[0].second.as<at::Device>() : nullptr;
    return device == nullptr ? "none" : device->str();
  };
  for (const char* text : {"npu:0", "npu", "cuda", "cuda:7", "vendor_chip:2", "cpu"}) {
    EXPECT_EQ(device_of({std::string(text)}), "cpu") << text;
  }
  EXPECT_EQ(device_of({std::int64_t{1}}), "cpu");
  EXPECT_EQ(device_of({dump::None{}}), "none");
  const auto positional =
      build_arguments(call_of("Tensor.foo.0", {{std::string("npu:1")}}), "foo", {});
  EXPECT_NE(positional->call.args[0].as<at::Device>(), nullptr);
  for (const char* text : {"mean", "ij,jk->ik", "bicubic", "a:b", ":0", "fro"}) {
    const auto other = build_arguments(call_of("Torch.foo.0", {{std::string(text)}}), "foo", {});
    EXPECT_NE(other->call.args[0].as<std::string>(), nullptr) << text;
  }
}

TEST(BuildArguments, CodesThatAnOperatorIsAskedForAreTypes) {
  const auto built = build_arguments(
      call_of("NPU.npu_swiglu_quant.0", {{dump::DTypeValue{"torch.quint4x2"}}}), "x", {});
  ASSERT_TRUE(built) << built.error().text;
  EXPECT_EQ(*built->call.args[0].as<at::ScalarType>(), at::ScalarType::QUInt4x2);
}

TEST(BuildArguments, SaysWhatItCannotBuild) {
  const auto opaque =
      build_arguments(call_of("Torch.foo.0", {{dump::Opaque{"ProcessGroup"}}}), "foo", {});
  ASSERT_FALSE(opaque);
  EXPECT_EQ(opaque.error().reason, SkipReason::kArgument);
  EXPECT_THAT(opaque.error().text, testing::HasSubstr("ProcessGroup is not supported now"));
  const auto dtype =
      build_arguments(call_of("Torch.foo.0", {{dump::DTypeValue{"torch.float12"}}}), "foo", {});
  EXPECT_EQ(dtype.error().reason, SkipReason::kUnknownDType);
}

TEST(BuildArguments, AdjustsWhatSomeApisNeed) {  // spec 2.7
  const auto scores = record(DType::kFloat32, {2, 3}, real(0), real(1));
  const auto target = record(DType::kInt32, {2}, integer(-100), integer(2));
  const auto loss =
      build_arguments(call_of("F.cross_entropy.0", {{scores}, {target}}), "cross_entropy", {});
  EXPECT_EQ(loss->call.args[1].as<at::Tensor>()->scalar_type(), at::kLong);
  EXPECT_EQ(loss->call.args[1].as<at::Tensor>()->min().item<std::int64_t>(), 0);
  const auto histogram = build_arguments(
      call_of("Torch.histc.0", {{record(DType::kInt32, {4}, integer(0), integer(9))}}), "histc",
      {});
  EXPECT_EQ(histogram->call.args[0].as<at::Tensor>()->scalar_type(), at::kFloat);
  for (const bool hf32 : {false, true}) {  // only for a device that reads its inputs so
    const auto conv = build_arguments(
        call_of("F.conv2d.0", {{record(DType::kFloat32, {1}, real(0), real(1.0 / 3))}}), "conv2d",
        {.replay = {.hf32 = hf32}});
    EXPECT_EQ(conv->call.args[0].as<at::Tensor>()->item<float>(),
              hf32 ? 0.3333740234375F : 1.0F / 3);
  }
}

TEST(BuildArguments, SparseAttentionReadsItsTriangle) {  // spec 2.7
  const auto mask = [](std::int64_t mode) {
    const auto built = build_arguments(
        call_of("NPU.npu_fusion_attention.0", {},
                {{"atten_mask", {record(DType::kBool, {4, 4}, integer(0), integer(1))}},
                 {"sparse_mode", {mode}}}),
        "npu_fusion_attention", {});
    return *built->call.kwargs[0].second.as<at::Tensor>();
  };
  EXPECT_EQ(mask(0).numel(), 16);
  EXPECT_EQ(mask(3).sum().item<std::int64_t>(), 2048 * 2047 / 2);
}

}  // namespace
}  // namespace msprobe::arguments
