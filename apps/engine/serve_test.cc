// SPDX-License-Identifier: Apache-2.0
// The engine's answers to whole streams of frames, read from a file and written to one.
#include "serve.h"

#include <cstdio>
#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "protocol/frames.h"
#include "scratch_directory_for_test.h"

namespace msprobe::engine {
namespace {

namespace fs = std::filesystem;
using protocol::CallRequest;
using protocol::CallResponse;
using protocol::RunOptions;
using testing::ElementsAre;
using testing::HasSubstr;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File temporary_file() { return {std::tmpfile(), &std::fclose}; }

std::string tensor(const std::string& shape, const std::string& more = "") {
  return fmt::format(
      R"({{"type": "torch.Tensor", "dtype": "torch.float32", "shape": {}, "Max": 1.0, "Min": -1.0,)"
      R"( "Mean": 0.0, "Norm": 1.0, "requires_grad": false{}}})",
      shape, more);
}

CallRequest call_of(std::uint64_t id, std::string name, const std::vector<std::string>& inputs) {
  CallRequest request;
  request.id = id;
  request.full_name = std::move(name);
  request.forward_json = fmt::format(
      R"({{"input_args": [{}], "input_kwargs": {{}}, "output": []}})", fmt::join(inputs, ", "));
  return request;
}

class ServeTest : public testing::Test {
 protected:
  // Serves one stream to its end.
  Result<Served> serve(const std::string& requests) {
    const File input = temporary_file();
    std::fwrite(requests.data(), 1, requests.size(), input.get());
    std::rewind(input.get());
    output_ = temporary_file();
    Result<Served> served = engine::serve(fileno(input.get()), fileno(output_.get()), options_);
    ::lseek(fileno(output_.get()), 0, SEEK_SET);
    return served;
  }
  void for_each_answer(const std::function<void(const protocol::Frame&)>& take) {
    protocol::FrameReader reader(protocol::Sender::kEngine);
    while (reader.fill(fileno(output_.get())).value_or(false)) {
      while (true) {
        const auto frame = reader.next();
        ASSERT_TRUE(frame) << frame.error().message;
        if (!*frame) break;
        take(**frame);
      }
    }
  }
  std::vector<CallResponse> calls() {
    std::vector<CallResponse> all;
    for_each_answer([&](const protocol::Frame& frame) {
      if (frame.kind != protocol::FrameKind::kCallResponse) return;
      all.push_back(*protocol::decode_call_response(frame));
    });
    return all;
  }
  CallResponse one_call(const RunOptions& run, const CallRequest& request) {
    const Result<Served> served = serve(encode(run) + encode(request));
    EXPECT_TRUE(served) << served.error().message;
    std::vector<CallResponse> all = calls();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? CallResponse() : std::move(all.front());
  }

  ServeOptions options_{.device_name = "cpu"};
  File output_ = temporary_file();
};

TEST_F(ServeTest, SaysHelloAndEndsWithItsInput) {
  const Result<Served> served = serve("");
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_EQ(*served, Served::kAll);
  std::vector<protocol::Hello> hellos;
  for_each_answer([&](const protocol::Frame& frame) {
    hellos.push_back(protocol::decode_hello(frame).value());
  });
  ASSERT_EQ(hellos.size(), 1U);
  EXPECT_EQ(hellos[0].wire_version, protocol::kWireVersion);
  EXPECT_EQ(hellos[0].device, "cpu");
  EXPECT_THAT(hellos[0].devices, testing::Contains("recorded"));
}

TEST_F(ServeTest, MeasuresACallAndFindsItsStrictStatus) {
  const CallResponse response =
      one_call({.replay = {.strict = true}},
               call_of(7, "Torch.add.0", {tensor("[2, 3]"), tensor("[2, 3]")}));
  EXPECT_EQ(response.id, 7U);
  EXPECT_EQ(response.call.full_name, "Torch.add.0");
  EXPECT_FALSE(response.call.skip);
  ASSERT_EQ(response.call.forward.size(), 1U);
  const protocol::MeasuredLeaf& leaf = response.call.forward[0];
  EXPECT_EQ(leaf.kind, protocol::LeafKind::kTensor);
  EXPECT_EQ(leaf.device.dtype, DType::kFloat32);
  EXPECT_EQ(leaf.metrics.count, 6U);
  ASSERT_TRUE(leaf.strict);
  EXPECT_EQ(leaf.strict->status, Verdict::kPass) << leaf.strict->reason;
}

TEST_F(ServeTest, WithoutTheStrictStatusNoneIsFound) {
  const CallResponse response = one_call({}, call_of(0, "Torch.exp.0", {tensor("[4]")}));
  ASSERT_EQ(response.call.forward.size(), 1U);
  EXPECT_FALSE(response.call.forward[0].strict);
}

TEST_F(ServeTest, AnswersInTheOrderOfTheRequestsWhateverBecomesOfThem) {
  CallRequest broken = call_of(2, "Torch.mul.0", {});
  broken.forward_json = "{";
  const Result<Served> served =
      serve(encode(RunOptions()) + encode(call_of(5, "Torch.exp.0", {tensor("[4]")})) +
            encode(broken) + encode(call_of(9, "Torch.no_such_api.0", {tensor("[4]")})) +
            encode(call_of(1, "Torch.neg.0", {tensor("[4]")})));
  ASSERT_TRUE(served) << served.error().message;
  std::vector<std::uint64_t> ids;
  std::vector<SkipReason> reasons;
  for (const CallResponse& response : calls()) {
    ids.push_back(response.id);
    reasons.push_back(response.call.skip ? response.call.skip->reason : SkipReason::kNone);
  }
  EXPECT_THAT(ids, ElementsAre(5, 2, 9, 1));
  EXPECT_THAT(reasons, ElementsAre(SkipReason::kNone, SkipReason::kBrokenRecord,
                                   SkipReason::kUnknownApi, SkipReason::kNone));
}

TEST_F(ServeTest, ACallBeyondItsMemoryIsSkippedBeforeAnyIsTaken) {
  const RunOptions run{.replay = {.memory_bytes = std::uint64_t{64} << 20}};
  const CallResponse response = one_call(run, call_of(0, "Torch.exp.0", {tensor("[1073741824]")}));
  ASSERT_TRUE(response.call.skip);
  EXPECT_EQ(response.call.skip->reason, SkipReason::kOutOfMemory);
  EXPECT_THAT(response.call.skip->text, HasSubstr("--worker-memory allows 0.0625 GB"));
}

TEST_F(ServeTest, TheRecordedDeviceNeedsARecordedOutput) {
  options_.recorded = true;
  options_.device_name = "recorded";
  const CallResponse response = one_call({}, call_of(0, "Torch.exp.0", {tensor("[4]")}));
  ASSERT_TRUE(response.call.skip);
  EXPECT_EQ(response.call.skip->reason, SkipReason::kNothingRecorded);
}

TEST_F(ServeTest, InputsAndOutputsAreSavedWhereTheRequestSays) {
  const ScratchDirectory scratch;
  CallRequest request = call_of(0, "Torch.exp.0", {tensor("[4]")});
  request.save_directory = (scratch.path() / "saved").string();
  const CallResponse response = one_call({.replay = {.saved_device = "npu"}}, request);
  EXPECT_EQ(response.call.note, "");
  EXPECT_TRUE(fs::exists(scratch.path() / "saved/Torch.exp.0.forward.input.0.pt"));
  EXPECT_TRUE(fs::exists(scratch.path() / "saved/Torch.exp.0.forward.output.npu.0.pt"));
  EXPECT_TRUE(fs::exists(scratch.path() / "saved/Torch.exp.0.forward.output.bench.0.pt"));
}

TEST_F(ServeTest, ARunThatCannotBeStartedIsAnError) {
  const Result<Served> dialect = serve(encode(RunOptions{.replay = {.dialect = "jax"}}));
  ASSERT_FALSE(dialect);
  EXPECT_EQ(dialect.error().message, "unknown dialect jax");
  const Result<Served> data =
      serve(encode(RunOptions{.replay = {.data_directory = "/no/such/directory"}}));
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().message, HasSubstr("/no/such/directory"));
}

TEST_F(ServeTest, BytesThatAreNoFrameAreAnError) {
  EXPECT_FALSE(serve(std::string(64, '\xff')));
  std::string cut = encode(RunOptions());
  cut[sizeof(std::uint64_t)] = '\0';  // the kind of a message that only engines send
  EXPECT_FALSE(serve(cut));
}

TEST_F(ServeTest, OperationsRunOnTheDeviceAlone) {
  Numbers numbers{DType::kFloat32, {2}, std::string(8, '\0')};
  const Result<Served> served =
      serve(encode(protocol::OperationRequest{3, {"exp", {numbers}}}) +
            encode(protocol::OperationRequest{4, {"no_such_operation", {numbers}}}));
  ASSERT_TRUE(served) << served.error().message;
  std::vector<protocol::OperationResponse> all;
  for_each_answer([&](const protocol::Frame& frame) {
    if (frame.kind != protocol::FrameKind::kOperationResponse) return;
    all.push_back(*protocol::decode_operation_response(frame));
  });
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, 3U);
  EXPECT_EQ(all[0].error, "");
  const float one = 1;
  EXPECT_EQ(all[0].result.bytes.substr(0, 4), std::string(reinterpret_cast<const char*>(&one), 4));
  EXPECT_EQ(all[1].id, 4U);
  EXPECT_NE(all[1].error, "");
}

TEST_F(ServeTest, ARecordedDeviceCannotBeProbed) {
  options_.recorded = true;
  options_.device_name = "recorded";
  ASSERT_TRUE(serve(encode(protocol::OperationRequest{3, {"exp", {}}})));
  std::string error;
  for_each_answer([&](const protocol::Frame& frame) {
    if (frame.kind != protocol::FrameKind::kOperationResponse) return;
    error = protocol::decode_operation_response(frame)->error;
  });
  EXPECT_EQ(error, "device recorded cannot be probed");
}

class NoDevice : public execute::ForeignDevice {
  OrSkip<arguments::PyValue> forward(const dump::CallRecord& /*record*/,
                                     const arguments::PyCall& /*call*/) override {
    return skip(SkipReason::kDeviceFailed, "asked");
  }
  OrSkip<arguments::PyList> backward(const dump::CallRecord& /*record*/,
                                     const arguments::PyCall& /*call*/,
                                     const arguments::PyList& /*arriving*/) override {
    return skip(SkipReason::kDeviceFailed, "asked");
  }
};

TEST_F(ServeTest, ADeviceOfMindSporeRefusesDumpsOfPyTorch) {
  options_.foreign = std::make_shared<NoDevice>();
  options_.device_name = "mindspore";
  const Result<Served> served = serve(encode(RunOptions()));
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().message, HasSubstr("device mindspore is for MindSpore dumps"));
}

}  // namespace
}  // namespace msprobe::engine
