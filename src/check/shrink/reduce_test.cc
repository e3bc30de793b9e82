// SPDX-License-Identifier: Apache-2.0
#include "shrink/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/dump_json.h"
#include "shrink/call_json.h"

namespace msprobe::shrink {
namespace {

dump::TensorRecord tensor(Shape shape) {
  dump::TensorRecord record;
  record.dtype = DType::kFloat32;
  record.dtype_text = "torch.float32";
  record.shape = std::move(shape);
  record.min = {dump::Statistic::Kind::kReal, 0, -3};
  record.max = {dump::Statistic::Kind::kReal, 0, 5};
  return record;
}

dump::CallRecord matmul() {
  dump::CallRecord call;
  call.full_name = "Torch.matmul.0";
  call.forward.input_args = {{tensor({512, 512})}, {tensor({512, 512})}};
  call.backward = dump::BackwardRecord{{{tensor({512, 512})}}, {}};
  return call;
}

const Shape& shape_of(const dump::CallRecord& call, std::size_t i) {
  return call.forward.input_args[i].as<dump::TensorRecord>()->shape;
}

// A product that is wrong in every tile but those at the edges: rows and columns beyond 16.
Result<bool> fails_beyond_16(const dump::CallRecord& call) {
  const Shape& left = shape_of(call, 0);
  const Shape& right = shape_of(call, 1);
  return left[1] == right[0] && left[0] > 16 && right[1] > 16;
}

TEST(Reduce, FindsTheSmallestShapesAndTheSimplestData) {
  const auto reduced = reduce(matmul(), fails_beyond_16);
  ASSERT_TRUE(reduced);
  EXPECT_FALSE(reduced->call.backward);
  EXPECT_EQ(shape_of(reduced->call, 0), (Shape{17, 1}));
  EXPECT_EQ(shape_of(reduced->call, 1), (Shape{1, 17}));
  const auto* left = reduced->call.forward.input_args[0].as<dump::TensorRecord>();
  EXPECT_EQ(left->min.real, 1);
  EXPECT_EQ(left->max.real, 1);
}

TEST(Reduce, KeepsWhatIsNeededForTheFailure) {
  const Fails fails = [](const dump::CallRecord& call) -> Result<bool> {
    const auto* left = call.forward.input_args[0].as<dump::TensorRecord>();
    const auto* arriving =
        call.backward ? call.backward->input[0].as<dump::TensorRecord>() : nullptr;
    return arriving != nullptr && arriving->shape[0] == left->shape[0] && left->min.real < 0;
  };
  const auto reduced = reduce(matmul(), fails);
  ASSERT_TRUE(reduced);
  ASSERT_TRUE(reduced->call.backward);
  EXPECT_EQ(shape_of(reduced->call, 0), (Shape{1, 1}));
  EXPECT_EQ(reduced->call.forward.input_args[0].as<dump::TensorRecord>()->min.real, -1);
}

TEST(Reduce, AnErrorEndsTheSearch) {
  const auto reduced = reduce(matmul(), [](const dump::CallRecord&) -> Result<bool> {
    return fail(ErrorKind::kExecution, "no engine");
  });
  ASSERT_FALSE(reduced);
  EXPECT_EQ(reduced.error().message, "no engine");
}

TEST(CallJson, ReadsBackAsItWas) {
  dump::CallRecord call = matmul();
  call.forward.input_kwargs = {{"alpha", {2.5}}, {"dim", {std::int64_t{-1}}}, {"mode", {"a\"b"}}};
  const std::string forward = json_of(call.forward);
  const std::string backward = json_of(*call.backward);
  const auto read = dump::parse_call({call.full_name, forward, backward}, "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(json_of(read->forward), forward);
  EXPECT_EQ(json_of(*read->backward), backward);
}

}  // namespace
}  // namespace msprobe::shrink
