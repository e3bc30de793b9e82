// SPDX-License-Identifier: Apache-2.0
// Every encoding of an argument, and what a broken one costs.
#include <cmath>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/dump_json.h"

namespace msprobe::dump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<CallRecord> parse(const std::string& forward, const std::string& backward = "") {
  return parse_call({"Torch.f.0", forward, backward, 100, 200}, "dump.json");
}

// The value of a single positional argument.
Result<Value> argument(const std::string& json) {
  auto call = parse(R"({"input_args": [)" + json + "]}");
  if (!call) return propagate(call);
  EXPECT_EQ(call->forward.input_args.size(), 1U);
  return std::move(call->forward.input_args.front());
}

template <class T>
T value(const std::string& json) {
  const auto found = argument(json);
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  if (!found || found->as<T>() == nullptr) {
    ADD_FAILURE() << json << " has another type";
    return {};
  }
  return *found->as<T>();
}

std::string fault(const std::string& json) {
  const auto found = argument(json);
  if (found) return "no fault";
  EXPECT_EQ(found.error().kind, ErrorKind::kFormat);
  return found.error().message;
}

TEST(ParseCall, ReadsForwardAndBackward) {
  const auto call = parse(
      R"({"input_args": [{"type": "int", "value": 1}, null],
          "input_kwargs": {"a": {"type": "str", "value": "x"}, "b": null},
          "is_nan": 0, "is_recompute": false, "output": [null]})",
      R"({"input": [null, null], "output": [null]})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->full_name, "Torch.f.0");
  EXPECT_EQ(call->forward.input_args.size(), 2U);
  ASSERT_EQ(call->forward.input_kwargs.size(), 2U);
  EXPECT_EQ(call->forward.input_kwargs[0].first, "a");
  EXPECT_EQ(*call->forward.input_kwargs[0].second.as<std::string>(), "x");
  EXPECT_NE(call->forward.input_kwargs[1].second.as<None>(), nullptr);
  EXPECT_EQ(call->forward.output.size(), 1U);
  ASSERT_TRUE(call->backward);
  EXPECT_EQ(call->backward->input.size(), 2U);
  EXPECT_EQ(call->backward->output.size(), 1U);
}

TEST(ParseCall, PartsThatWereNotRecordedAreEmpty) {
  const auto call = parse(R"({"input_args": [], "input_kwargs": null})", "{}");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_TRUE(call->forward.output.empty());
  EXPECT_TRUE(call->backward->input.empty());
  EXPECT_THAT(parse(R"({"output": []})").error().message, HasSubstr("neither input_args nor"));
}

TEST(ParseCall, ReadsTensors) {
  const auto tensor = value<TensorRecord>(R"({
      "type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [2, 0, 3],
      "Max": 3.25, "Min": -Infinity, "Mean": NaN, "Norm": null, "Max_except_inf_nan": 2,
      "Min_except_inf_nan": -1.5e-3, "requires_grad": true,
      "device_mesh": {"a": [[1]]}, "data_name": "T.f.0.forward.input.0.pt", "md5": "8ba71454"})");
  EXPECT_EQ(tensor.dtype_text, "torch.bfloat16");
  EXPECT_EQ(tensor.dtype, DType::kBFloat16);
  EXPECT_THAT(tensor.shape, ElementsAre(2, 0, 3));
  EXPECT_EQ(tensor.max.kind, Statistic::Kind::kReal);
  EXPECT_EQ(tensor.max.real, 3.25);
  EXPECT_EQ(tensor.min.real, -HUGE_VAL);
  EXPECT_TRUE(std::isnan(tensor.mean.real));
  EXPECT_EQ(tensor.norm.kind, Statistic::Kind::kNull);
  EXPECT_EQ(tensor.max_finite.integer, 2);
  EXPECT_EQ(tensor.min_finite.real, -1.5e-3);
  EXPECT_TRUE(tensor.requires_grad);
  EXPECT_EQ(tensor.data_name, "T.f.0.forward.input.0.pt");
  EXPECT_EQ(tensor.md5, "8ba71454");
}

TEST(ParseCall, ReadsTensorsWhoseMembersStandInAnyOrder) {
  const auto tensor = value<TensorRecord>(
      R"({"md5": 1.5, "shape": [], "Max": true, "Min": false, "data_name": "a.pt",
          "datapath": "b.pt", "dtype": "torch.bool", "type": "torch.nn.parameter.Parameter"})");
  EXPECT_EQ(tensor.max.kind, Statistic::Kind::kInteger);
  EXPECT_EQ(tensor.max.integer, 1);
  EXPECT_EQ(tensor.min.integer, 0);
  EXPECT_EQ(tensor.mean.kind, Statistic::Kind::kAbsent);
  EXPECT_EQ(tensor.data_name, "b.pt");
  EXPECT_EQ(tensor.md5, "1.5");
  EXPECT_FALSE(tensor.requires_grad);
}

TEST(ParseCall, StatisticsKeepAllBits) {
  const auto tensor = value<TensorRecord>(
      R"({"type": "torch.Tensor", "dtype": "torch.int64", "shape": [1], "Max": 9223372036854775807,
          "Min": -9223372036854775808, "Mean": 18446744073709551615, "Norm": 1e999})");
  EXPECT_EQ(tensor.max.integer, INT64_MAX);
  EXPECT_EQ(tensor.min.integer, INT64_MIN);
  EXPECT_EQ(tensor.mean.kind, Statistic::Kind::kReal);
  EXPECT_EQ(tensor.mean.real, 18446744073709551616.0);
  EXPECT_EQ(tensor.norm.real, HUGE_VAL);
}

TEST(ParseCall, TensorsOfOldRecordingsNameOnlyAFile) {
  const auto tensor = value<TensorRecord>(
      R"({"type": "torch.Tensor", "datapath": "x.pt", "requires_grad": false})");
  EXPECT_EQ(tensor.data_name, "x.pt");
  EXPECT_EQ(tensor.dtype, std::nullopt);
}

TEST(ParseCall, TensorsOfAnUnknownDTypeKeepItsName) {
  const auto tensor = value<TensorRecord>(
      R"({"type": "torch.Tensor", "dtype": "torch.qint8", "shape": [4], "Max": "?"})");
  EXPECT_EQ(tensor.dtype_text, "torch.qint8");
  EXPECT_EQ(tensor.dtype, std::nullopt);
  EXPECT_EQ(tensor.max.kind, Statistic::Kind::kOther);
}

TEST(ParseCall, ReadsMindSporeValues) {
  EXPECT_EQ(value<TensorRecord>(R"({"type": "mindspore.Tensor", "dtype": "BFloat16",
                                    "shape": [2]})")
                .dtype,
            DType::kBFloat16);
  EXPECT_EQ(value<DTypeValue>(R"({"type": "mindspore.dtype", "value": "Float32"})").text,
            "Float32");
}

TEST(ParseCall, ReadsPlainValues) {
  EXPECT_EQ(value<std::int64_t>(R"({"type": "int", "value": -3})"), -3);
  EXPECT_EQ(value<double>(R"({"type": "float", "value": 2.0})"), 2.0);
  EXPECT_EQ(value<double>(R"({"type": "float", "value": 2})"), 2.0);
  EXPECT_EQ(value<double>(R"({"type": "float", "value": -Infinity})"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(value<double>(R"({"type": "float", "value": NaN})")));
  EXPECT_EQ(value<bool>(R"({"type": "bool", "value": true})"), true);
  EXPECT_EQ(value<std::string>(R"({"type": "str", "value": "NaN\u00e9\n"})"), "NaNé\n");
  value<None>(R"({"type": "NoneType", "value": null})");
  value<None>(R"({"type": "int", "value": null})");
  value<None>("null");
}

TEST(ParseCall, ReadsBareValues) {
  EXPECT_EQ(value<std::int64_t>("7"), 7);
  EXPECT_EQ(value<double>("Infinity"), HUGE_VAL);
  EXPECT_EQ(value<std::string>("\"x\""), "x");
  EXPECT_EQ(value<bool>("false"), false);
}

TEST(ParseCall, ReadsNumpyScalarsAsPlainValues) {
  EXPECT_EQ(value<double>(R"({"type": "numpy.float32", "value": 1.5})"), 1.5);
  EXPECT_EQ(value<double>(R"({"type": "float32", "value": 1})"), 1.0);
  EXPECT_EQ(value<std::int64_t>(R"({"type": "numpy.uint8", "value": 255})"), 255);
  EXPECT_EQ(value<std::int64_t>(R"({"type": "int64", "value": 5})"), 5);
  EXPECT_EQ(value<bool>(R"({"type": "numpy.bool_", "value": true})"), true);
  EXPECT_EQ(value<std::string>(R"({"type": "numpy.str_", "value": "a"})"), "a");
  EXPECT_EQ(value<std::complex<double>>(R"({"type": "numpy.complex64", "value": "2j"})"),
            std::complex<double>(0, 2));
  EXPECT_EQ(value<Opaque>(R"({"type": "numpy.ndarray", "value": [1]})").type, "numpy.ndarray");
}

TEST(ParseCall, ReadsNumpyArraysWithRecordedElementsAsTensors) {
  const auto array = value<TensorRecord>(
      R"({"type": "numpy.ndarray", "dtype": "float16", "shape": [6], "Max": 1, "data_name": "a.npy"})");
  EXPECT_EQ(array.dtype, DType::kFloat16);
  EXPECT_EQ(array.data_name, "a.npy");
  EXPECT_EQ(value<Opaque>(R"({"type": "numpy.ndarray", "dtype": "float16", "shape": [6]})").type,
            "numpy.ndarray");
}

TEST(ParseCall, ReadsComplexNumbers) {
  using Complex = std::complex<double>;
  const auto complex = [](const std::string& payload) {
    return R"({"type": "complex", "value": )" + payload + "}";
  };
  EXPECT_EQ(value<Complex>(complex("\"(1+2j)\"")), Complex(1, 2));
  EXPECT_EQ(value<Complex>(complex("\"-0.5-1e-3j\"")), Complex(-0.5, -1e-3));
  EXPECT_EQ(value<Complex>(complex("[1, -2.5]")), Complex(1, -2.5));
  EXPECT_EQ(value<Complex>(complex("3")), Complex(3, 0));
  EXPECT_EQ(value<Complex>(complex("\"(inf-infj)\"")).imag(), -HUGE_VAL);
  EXPECT_THAT(fault(complex("\"1+2\"")), HasSubstr("complex number"));
  EXPECT_THAT(fault(complex("\"1+-2j\"")), HasSubstr("complex number"));
  EXPECT_THAT(fault(complex("[1]")), HasSubstr("complex number"));
}

TEST(ParseCall, ReadsSlices) {
  const auto slice = value<Slice>(R"({"type": "slice", "value": [null, -2, 3]})");
  EXPECT_EQ(slice.start, std::nullopt);
  EXPECT_EQ(slice.stop, -2);
  EXPECT_EQ(slice.step, 3);
  EXPECT_THAT(fault(R"({"type": "slice", "value": [1, 2]})"), HasSubstr("a list of three"));
  EXPECT_THAT(fault(R"({"type": "slice", "value": [1, 2, 0.5]})"), HasSubstr("a list of three"));
}

TEST(ParseCall, ReadsTheTypesOfTorch) {
  value<Ellipsis>(R"({"type": "ellipsis", "value": "..."})");
  EXPECT_THAT(value<SizeValue>(R"({"type": "torch.Size", "value": [2, 3]})").extents,
              ElementsAre(2, 3));
  EXPECT_EQ(value<DTypeValue>(R"({"type": "torch.dtype", "value": "torch.float16"})").text,
            "torch.float16");
  EXPECT_EQ(value<DeviceValue>(R"({"type": "torch.device", "value": "npu:0"})").text, "npu:0");
  EXPECT_EQ(value<DeviceValue>(R"({"type": "torch.device", "value": 3})").text, "3");
  value<None>(R"({"type": "torch.device", "value": "None"})");
  value<None>(R"({"type": "torch.dtype", "value": null})");
  EXPECT_EQ(
      value<MemoryFormatValue>(R"({"type": "torch.memory_format", "format": "channels_last"})")
          .text,
      "torch.channels_last");
}

TEST(ParseCall, KeepsTheValueOfTypesItDoesNotKnow) {
  EXPECT_EQ(
      value<std::string>(R"({"type": "torch.distributed.ReduceOp", "value": "RedOpType.SUM"})"),
      "RedOpType.SUM");
  EXPECT_EQ(value<Opaque>(R"({"type": "torch.ProcessGroup", "group_ranks": [0, 1],
                              "group_id": "77849d8c"})")
                .type,
            "torch.ProcessGroup");
  const auto part = value<TensorRecord>(R"({"type": "torch.distributed.tensor.DTensor", "dtype":
      "torch.float32", "shape": [2], "Max": NaN, "device_mesh": [0, 1]})");
  EXPECT_EQ(part.shape, Shape{2}) << "the local part of a DTensor";
  EXPECT_FALSE(part.is_whole);
  EXPECT_EQ(value<TensorRecord>(R"({"type": "torch.distributed.tensor.DTensor", "dtype":
      "torch.float32", "shape": [2], "placements": [ {"Shard": {"dim": 0}}, {"Replicate": {} } ]})")
                .placements,
            R"([{"Shard":{"dim":0}},{"Replicate":{}}])");
  EXPECT_TRUE(value<TensorRecord>(R"({"type": "torch.distributed.tensor.DTensor", "dtype":
      "torch.float32", "shape": [2], "is_whole": true})")
                  .is_whole);
  EXPECT_EQ(value<Opaque>("{}").type, "");
  EXPECT_EQ(value<std::int64_t>(R"({"value": 3})"), 3);
}

TEST(ParseCall, ReadsListsAndDictionaries) {
  const auto list = value<List>(R"([[1, {"type": "float", "value": 0.5}], [], null])");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].as<List>()->size(), 2U);
  EXPECT_TRUE(list[1].as<List>()->empty());
  const auto dict =
      value<Dict>(R"({"type": {"type": "str", "value": "x"}, "k\u0041": [1], "value": null})");
  ASSERT_EQ(dict.size(), 3U);
  EXPECT_EQ(*dict[0].second.as<std::string>(), "x");
  EXPECT_EQ(dict[1].first, "kA");
  const auto typed =
      value<Dict>(R"({"type": "dict", "value": {"a": {"type": "int", "value": 1}}})");
  EXPECT_EQ(*typed[0].second.as<std::int64_t>(), 1);
}

TEST(ParseCall, FaultsNameCallByteAndPlace) {
  const auto call = parse(R"({"input_args": [null, {"type": "torch.Tensor", "shape": [4, "x"]}]})");
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().message,
            "dump.json: Torch.f.0.forward: byte 160: input_args[1].shape[1]: found \"x\", expected "
            "an extent of at least 0");
  const auto backward = parse(R"({"input_args": []})", R"({"input": 3})");
  ASSERT_FALSE(backward);
  EXPECT_EQ(backward.error().message,
            "dump.json: Torch.f.0.backward: byte 210: input: found 3, expected a list");
}

TEST(ParseCall, RefusesValuesThatContradictTheirType) {
  EXPECT_THAT(fault(R"({"type": "int", "value": 1.5})"), HasSubstr("not an integer"));
  EXPECT_THAT(fault(R"({"type": "int"})"), HasSubstr("a int without value"));
  EXPECT_THAT(fault(R"({"type": "bool", "value": 1})"), HasSubstr("not true or false"));
  EXPECT_THAT(fault(R"({"type": "str", "value": 1})"), HasSubstr("not a string"));
  EXPECT_THAT(fault(R"({"type": "float", "value": "x"})"), HasSubstr("not a number"));
  EXPECT_THAT(fault(R"({"type": "torch.Size", "value": 3})"), HasSubstr("list of integers"));
  EXPECT_THAT(fault(R"({"type": "torch.Size", "value": [3, "x"]})"), HasSubstr("list of integers"));
  EXPECT_THAT(fault(R"({"type": "torch.device", "value": [1]})"), HasSubstr("a name or a number"));
  EXPECT_THAT(fault(R"({"type": "int", "value": 9223372036854775808})"), HasSubstr("64 bits"));
  EXPECT_THAT(fault(R"({"type": "int", "value": 1, "value": 2})"), HasSubstr("duplicate key"));
  EXPECT_THAT(fault(R"({"type": "int", "type": "int", "value": 2})"), HasSubstr("duplicate key"));
  EXPECT_THAT(fault(R"({"a": 1, "b": 2, "a": 3})"), HasSubstr("duplicate key a"));
}

TEST(ParseCall, RefusesBrokenTensors) {
  const auto tensor = [](const std::string& members) {
    return fault(R"({"type": "torch.Tensor", )" + members + "}");
  };
  EXPECT_THAT(tensor(R"("shape": [1])"), HasSubstr("without dtype"));
  EXPECT_THAT(tensor(R"("dtype": "torch.float32")"), HasSubstr("without shape"));
  EXPECT_THAT(tensor(R"("dtype": 3, "shape": [])"), HasSubstr("found 3, expected a string"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": [-1])"), HasSubstr("at least 0"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": 4)"), HasSubstr("a list of extents"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": [1.0])"), HasSubstr("found 1.0"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": [4294967296, 4294967296])"),
              HasSubstr("more elements than 64 bits"));
  EXPECT_THAT(tensor(R"("dtype": "torch.float64", "shape": [1152921504606846976, 1])"),
              HasSubstr("more bytes than 64 bits"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": [1], "shape": [2])"),
              HasSubstr("duplicate key"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": [1], "requires_grad": 1)"),
              HasSubstr("true or false"));
  EXPECT_THAT(tensor(R"("dtype": "torch.int8", "shape": [1], "data_name": 1)"),
              HasSubstr("data_name: found 1, expected a string"));
}

TEST(ParseCall, RefusesWhatIsNotJson) {
  for (const char* json :
       {"01",   "1.",         ".5",        "+1",          "1e",         "--1",      "nan",
        "Nan",  "NaNs",       "-NaN",      "Infinit",     "True",       "tru",      "nul",
        "'x'",  "\"x",        "\"\\x\"",   "\"\\ud800\"", "\"\\u12\"",  "\"\x01\"", "\"\xff\"",
        "1 2",  "1,",         ",",         "[1 2]",       "[1,]",       "[",        "]",
        "{",    "{\"a\"}",    "{\"a\" 1}", "{\"a\":}",    "{\"a\":1,}", "{a:1}",    "[}",
        "{]",   "{\"a\"x:1}", "\"a\"b",    "\"a\": 1",    "[\"a\": 1]", "@",        "/* */ 1",
        "0x10", "1_000"}) {
    EXPECT_NE(fault(json), "no fault") << json;
  }
  EXPECT_FALSE(parse("[]"));
  EXPECT_FALSE(parse("null"));
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse("{} {}"));
  EXPECT_FALSE(parse(R"({"input_args": []} x)"));
  EXPECT_FALSE(parse(R"({"input_args": [], "input_args": []})"));
  EXPECT_FALSE(parse(R"({"input_args": [], "unknown": [1, 2}})"));
  EXPECT_FALSE(parse(R"({"input_args": [], "unknown": [01]})"));
}

TEST(ParseCall, NestingHasALimit) {
  const auto nested = [](int depth) {
    const auto count = static_cast<std::size_t>(depth);
    return std::string(count, '[') + std::string(count, ']');
  };
  EXPECT_TRUE(argument(nested(398)));
  EXPECT_THAT(fault(nested(399)), HasSubstr("nested deeper than 400"));
  EXPECT_THAT(fault(nested(100000)), HasSubstr("nested deeper than 400"));
  EXPECT_THAT(parse(R"({"input_args": [], "unknown": )" + nested(500) + "}").error().message,
              HasSubstr("nested deeper than 400"));
}

}  // namespace
}  // namespace msprobe::dump
