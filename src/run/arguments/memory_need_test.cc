// SPDX-License-Identifier: Apache-2.0
#include "arguments/memory_need.h"

#include <gtest/gtest.h>

namespace msprobe::arguments {
namespace {

dump::Value recorded(DType dtype, Shape shape) {
  dump::TensorRecord tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  return {tensor};
}

TEST(MemoryNeed, CountsEveryTensorOnBothSides) {
  dump::CallRecord call;
  call.forward.input_args = {recorded(DType::kFloat32, {10}),
                             {dump::List{recorded(DType::kInt64, {2})}}};
  call.forward.input_kwargs.push_back({"x", recorded(DType::kFloat16, {3, 2})});
  EXPECT_EQ(least_bytes(call, true), 10 * (4 + 8) + 2 * 8 + 6 * (2 + 8));
  EXPECT_EQ(least_bytes(call, false), 10 * 4 + 2 * 8 + 6 * 2);
  call.forward.output = {recorded(DType::kFloat64, {5})};
  call.backward = dump::BackwardRecord{{recorded(DType::kFloat64, {1})}, {}};
  EXPECT_EQ(least_bytes(call, false), 40 + 16 + 12 + 5 * 8 + 8);
}

TEST(MemoryNeed, HostileShapesDoNotOverflow) {
  dump::CallRecord call;
  call.forward.input_args = {recorded(DType::kFloat32, {INT64_MAX, INT64_MAX, INT64_MAX}),
                             recorded(DType::kFloat32, {-5, INT64_MAX}),
                             recorded(DType::kBool, {})};
  EXPECT_GT(least_bytes(call, true), 1e50);
}

}  // namespace
}  // namespace msprobe::arguments
