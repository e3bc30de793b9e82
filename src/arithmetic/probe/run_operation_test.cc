// SPDX-License-Identifier: Apache-2.0
#include "probe/run_operation.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::probe {
namespace {

Numbers floats(std::vector<float> values, Shape shape) {
  Numbers numbers{DType::kFloat32, std::move(shape), std::string(values.size() * 4, '\0')};
  std::memcpy(numbers.bytes.data(), values.data(), numbers.bytes.size());
  return numbers;
}

float first_of(const Numbers& numbers) {
  float value = 0;
  std::memcpy(&value, numbers.bytes.data(), sizeof value);
  return value;
}

TEST(RunOperation, GivesTheResultAsBytes) {
  const auto product =
      run_operation(at::kCPU, {"matmul", {floats({1, 2}, {1, 2}), floats({3, 4}, {2, 1})}});
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->shape, (Shape{1, 1}));
  EXPECT_EQ(first_of(*product), 11);
  const auto cast = run_operation(at::kCPU, {"cast", {floats({1.5F}, {1})}, DType::kInt8});
  ASSERT_TRUE(cast);
  EXPECT_EQ(cast->bytes, std::string(1, '\1'));
  const Numbers ones = floats(std::vector<float>(8, 1), {1, 1, 2, 4});
  const auto attended = run_operation(at::kCPU, {"attention", {ones, ones, ones}});
  EXPECT_TRUE(!attended || first_of(*attended) == 1);  // PyTorch 1.13 cannot
}

// Of float8 numbers, in float32; an error says which part of it this PyTorch does not have.
TEST(RunOperation, MultipliesFloat8) {
  const Numbers left = floats(std::vector<float>(16 * 32, 1.5F), {16, 32});
  const Numbers right = floats(std::vector<float>(32 * 16, 0.625F), {32, 16});
  const auto product = run_operation(at::kCPU, {"scaled_mm", {left, right}, DType::kFloat8E4M3});
  if (!product) {
    EXPECT_THAT(product.error().message, testing::HasSubstr("this PyTorch has no"));
    return;
  }
  EXPECT_EQ(product->dtype, DType::kFloat32);
  EXPECT_EQ(product->shape, (Shape{16, 16}));
  EXPECT_EQ(first_of(*product), 30);
}

TEST(RunOperation, SaysWhatCannotBe) {
  for (const Operation& operation :
       {Operation{"matmul", {floats({1}, {1, 1})}}, Operation{"no such operator", {}},
        Operation{"exp", {floats({1, 2}, {3})}}, Operation{"exp", {floats({1}, {-1})}}}) {
    const auto run = run_operation(at::kCPU, operation);
    ASSERT_FALSE(run) << operation.name;
    EXPECT_FALSE(run.error().message.empty());
  }
}

}  // namespace
}  // namespace msprobe::probe
