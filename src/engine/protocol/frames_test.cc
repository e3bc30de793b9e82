// SPDX-License-Identifier: Apache-2.0
#include "protocol/frames.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace msprobe::protocol {
namespace {

CallResponse sample_response() {
  MeasuredLeaf leaf;
  leaf.path = "1.0";
  leaf.kind = LeafKind::kTensor;
  leaf.bench.dtype = DType::kFloat64;
  leaf.device.dtype = DType::kFloat32;
  leaf.bench.shape = {2, 3};
  leaf.device.shape = {2, 3};
  leaf.metrics.count = 6;
  leaf.metrics.cosine = 0.5;
  leaf.dropout = {.bench_zeros = 3, .device_zeros = 4, .probability = 0.25};
  leaf.strict = {Verdict::kError, "2 of 6 elements", "saturation", "{\"cells\":\"0y\"}"};
  CallResponse response;
  response.id = 7;
  response.call.full_name = "Functional.dropout.0";
  response.call.forward = {leaf, MeasuredLeaf{}};
  response.call.backward_skip = {SkipReason::kOutArgument, "out"};
  response.call.note = "note";
  response.call.backward_note = "backward";
  return response;
}

Frame only_frame(FrameReader& reader, const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_TRUE(write_all(ends[1], bytes));
  close(ends[1]);
  while (reader.fill(ends[0]).value()) {
  }
  close(ends[0]);
  const auto frame = reader.next();
  EXPECT_TRUE(frame.has_value() && frame->has_value());
  return **frame;
}

TEST(Wire, OperationComesBackAsItWas) {
  const Numbers numbers{DType::kFloat16, {2, 1}, "abcd"};
  FrameReader reader(Sender::kMsprobe);
  const auto request = decode_operation_request(
      only_frame(reader, encode(OperationRequest{3, {"cast", {numbers, numbers}, DType::kInt8}})));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->id, 3U);
  EXPECT_EQ(request->operation.name, "cast");
  EXPECT_EQ(request->operation.result, DType::kInt8);
  ASSERT_EQ(request->operation.inputs.size(), 2U);
  EXPECT_EQ(request->operation.inputs[1].shape, (Shape{2, 1}));
  EXPECT_EQ(request->operation.inputs[1].bytes, "abcd");
  FrameReader other(Sender::kEngine);
  const auto response = decode_operation_response(
      only_frame(other, encode(OperationResponse{4, "no such device", numbers})));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->error, "no such device");
  EXPECT_EQ(response->result.bytes, "abcd");
}

TEST(Wire, ResponseComesBackAsItWas) {
  FrameReader reader(Sender::kEngine);
  const auto back = decode_call_response(only_frame(reader, encode(sample_response())));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->id, 7U);
  EXPECT_EQ(back->call.full_name, "Functional.dropout.0");
  EXPECT_FALSE(back->call.skip);
  ASSERT_EQ(back->call.forward.size(), 2U);
  const MeasuredLeaf& leaf = back->call.forward[0];
  EXPECT_EQ(leaf.path, "1.0");
  EXPECT_EQ(leaf.bench.dtype, DType::kFloat64);
  EXPECT_EQ(leaf.device.dtype, DType::kFloat32);
  EXPECT_EQ(leaf.device.shape, (Shape{2, 3}));
  EXPECT_FALSE(leaf.device.value);
  EXPECT_EQ(leaf.metrics.cosine, 0.5);
  EXPECT_EQ(leaf.dropout->probability, 0.25);
  EXPECT_EQ(leaf.strict->status, Verdict::kError);
  EXPECT_EQ(leaf.strict->reason, "2 of 6 elements");
  EXPECT_EQ(leaf.strict->cause, "saturation");
  EXPECT_EQ(leaf.strict->map, "{\"cells\":\"0y\"}");
  EXPECT_FALSE(back->call.forward[1].strict);
  EXPECT_EQ(back->call.backward_skip->text, "out");
  EXPECT_EQ(back->call.note, "note");
  EXPECT_EQ(back->call.backward_note, "backward");
}

TEST(Wire, ValuesKeepTheirTypes) {
  const std::vector<PythonValue> values = {std::monostate(),    true,
                                           std::int64_t{-3},    1e-05,
                                           std::string(),       std::complex<double>(1, -2e-05),
                                           std::string("True"), OtherValue{"<class 'torch.Size'>"}};
  for (const PythonValue& value : values) {
    CallResponse response;
    response.call.forward.emplace_back().device.value = value;
    FrameReader reader(Sender::kEngine);
    const auto back = decode_call_response(only_frame(reader, encode(response)));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->call.forward[0].device.value, value) << value.index();
    EXPECT_EQ(back->call.forward[0].device.type(), python_type(value));
    EXPECT_EQ(back->call.forward[0].bench.type(), "");
  }
}

TEST(Wire, AValueOfNoKnownTypeIsRefused) {
  CallResponse response;
  response.call.forward.emplace_back().device.value = std::string("here");
  std::string bytes = encode(response);
  const std::size_t text = bytes.find("here");
  bytes[text - sizeof(std::uint64_t) - 1] = 7;  // the index of the type
  FrameReader reader(Sender::kEngine);
  EXPECT_FALSE(decode_call_response(only_frame(reader, bytes)));
}

TEST(Wire, OtherMessagesComeBackAsTheyWere) {
  FrameReader hellos(Sender::kEngine);
  const auto hello = decode_hello(only_frame(
      hellos, encode(Hello{.torch_version = "2.13", .device = "cpu", .devices = {"cpu"}})));
  EXPECT_EQ(hello->devices, std::vector<std::string>{"cpu"});
  EXPECT_EQ(hello->metrics_bytes, sizeof(measure::Metrics));

  RunOptions options;
  options.replay.seed = 5;
  options.replay.strict = true;
  for (const ReplayFlag& flag : kReplayFlags) options.replay.*flag.value = true;
  options.products = {
      {.dtype = DType::kFloat16, .units = {{.block = 4}, {.block = 8}}, .certain = true}};
  FrameReader runs(Sender::kMsprobe);
  const auto run = decode_run_options(only_frame(runs, encode(options)));
  EXPECT_EQ(run->replay.seed, 5U);
  EXPECT_TRUE(run->replay.strict);
  for (const ReplayFlag& flag : kReplayFlags) EXPECT_TRUE(run->replay.*flag.value) << flag.option;
  ASSERT_EQ(run->products.size(), 1U);
  EXPECT_EQ(run->products[0].dtype, DType::kFloat16);
  EXPECT_EQ(run->products[0].units, options.products[0].units);
  EXPECT_TRUE(run->products[0].certain);
  options.products[0].units[1].bits = units::kMostBits + 1;
  FrameReader wide(Sender::kMsprobe);
  EXPECT_FALSE(decode_run_options(only_frame(wide, encode(options))));
  options.products[0].units.clear();
  FrameReader none(Sender::kMsprobe);
  EXPECT_FALSE(decode_run_options(only_frame(none, encode(options))));

  CallRequest asked;
  asked.id = 3;
  asked.forward_json = "{}";
  asked.thresholds[1].rtol = 0.25;
  FrameReader requests(Sender::kMsprobe);
  const auto request = decode_call_request(only_frame(requests, encode(asked)));
  EXPECT_EQ(request->id, 3U);
  EXPECT_EQ(request->forward_json, "{}");
  EXPECT_EQ(request->thresholds[1].rtol, 0.25);

  FrameReader fatals(Sender::kEngine);
  EXPECT_EQ(decode_fatal(only_frame(fatals, encode(Fatal{"no npu"})))->message, "no npu");
}

TEST(Wire, CutPayloadIsAnError) {
  FrameReader reader(Sender::kEngine);
  Frame frame = only_frame(reader, encode(sample_response()));
  for (std::size_t size = 0; size < frame.payload.size(); ++size) {
    EXPECT_FALSE(decode_call_response({frame.kind, frame.payload.substr(0, size)})) << size;
  }
  EXPECT_FALSE(decode_hello(frame));
}

TEST(Wire, SeveralFramesInOneRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(write_all(ends[1], encode(Fatal{"a"}) + encode(Fatal{"b"})));
  FrameReader reader(Sender::kEngine);
  ASSERT_TRUE(reader.fill(ends[0]).value());
  EXPECT_EQ(decode_fatal(**reader.next())->message, "a");
  EXPECT_EQ(decode_fatal(**reader.next())->message, "b");
  EXPECT_FALSE(*reader.next());
  close(ends[0]), close(ends[1]);
}

TEST(Wire, NonsenseIsAnError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(write_all(ends[1], std::string(64, '\xff')));
  FrameReader reader(Sender::kEngine);
  ASSERT_TRUE(reader.fill(ends[0]).value());
  EXPECT_FALSE(reader.next());
  close(ends[0]), close(ends[1]);
}

// The first frame of `bytes` alone.
Result<std::optional<Frame>> first_of(const std::string& bytes, Sender sender) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_TRUE(write_all(ends[1], bytes));
  FrameReader reader(sender);
  EXPECT_TRUE(reader.fill(ends[0]).value());
  close(ends[0]), close(ends[1]);
  const auto frame = reader.next();
  return frame && *frame ? std::optional<Frame>(Frame{(*frame)->kind, {}})
                         : Result<std::optional<Frame>>(frame);
}

TEST(Wire, EachSideTakesWhatTheOtherMaySend) {
  const std::string request = encode(CallRequest{});
  EXPECT_TRUE(*first_of(request, Sender::kMsprobe));
  EXPECT_FALSE(first_of(request, Sender::kEngine));
  EXPECT_TRUE(*first_of(encode(Hello{}), Sender::kEngine));
  EXPECT_FALSE(first_of(encode(Hello{}), Sender::kMsprobe));
}

TEST(Wire, LengthsAreLimitedByKind) {
  for (const std::string& frame : {encode(Hello{}), encode(Fatal{"x"}), encode(CallResponse{})}) {
    const auto kind = static_cast<FrameKind>(frame[sizeof(std::uint64_t)]);
    std::string announced = frame;
    std::uint64_t size = most_bytes(kind);
    std::memcpy(announced.data(), &size, sizeof size);
    const auto waits = first_of(announced, Sender::kEngine);
    EXPECT_TRUE(waits && !*waits);
    ++size;
    std::memcpy(announced.data(), &size, sizeof size);
    EXPECT_FALSE(first_of(announced, Sender::kEngine));
  }
}

// An engine whose memory is spoiled, or which is not ours, may send any byte anywhere.
TEST(Wire, AnyByteChangedIsAnErrorOrAValue) {
  const std::string whole = encode(sample_response());
  const std::size_t head = sizeof(std::uint64_t) + 1;
  const std::string payload = whole.substr(head);
  for (std::size_t at = 0; at < payload.size(); ++at) {
    std::string changed = payload;
    changed[at] = '\xee';
    const auto back = decode_call_response({FrameKind::kCallResponse, changed});
    if (!back) continue;
    for (const MeasuredLeaf& leaf : back->call.forward) {
      EXPECT_LE(leaf.kind, LeafKind::kKeysDiffer);
      if (leaf.bench.dtype) {
        EXPECT_FALSE(name(*leaf.bench.dtype).empty());
      }
      if (leaf.strict) {
        EXPECT_FALSE(name(leaf.strict->status).empty());
      }
    }
    if (back->call.backward_skip) {
      EXPECT_FALSE(name(back->call.backward_skip->reason).empty());
    }
  }
}

TEST(Wire, EveryVerdictArrives) {
  const std::size_t head = sizeof(std::uint64_t) + 1;
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    CallResponse response = sample_response();
    response.call.forward[0].strict->status = static_cast<Verdict>(i);
    const std::string frame = encode(response);
    const auto back = decode_call_response({FrameKind::kCallResponse, frame.substr(head)});
    ASSERT_TRUE(back) << name(static_cast<Verdict>(i));
    EXPECT_EQ(back->call.forward[0].strict->status, static_cast<Verdict>(i));
  }
}

TEST(Wire, NumbersHaveTheBytesOfTheirShape) {
  const Numbers numbers{DType::kFloat32, {3}, "abcd"};
  const std::string request = encode(OperationRequest{3, {"exp", {numbers}, DType::kFloat32}});
  const std::string response = encode(OperationResponse{3, "", numbers});
  const std::size_t head = sizeof(std::uint64_t) + 1;
  EXPECT_FALSE(decode_operation_request({FrameKind::kOperationRequest, request.substr(head)}));
  EXPECT_FALSE(decode_operation_response({FrameKind::kOperationResponse, response.substr(head)}));
}

}  // namespace
}  // namespace msprobe::protocol
