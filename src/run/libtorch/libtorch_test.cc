// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <gtest/gtest.h>

#include "core/aligned_memory.h"
#include "libtorch/broken_kernels.h"
#include "libtorch/dtypes.h"
#include "libtorch/errors.h"
#include "libtorch/indexing.h"
#include "libtorch/matrix_tiles.h"

namespace msprobe::libtorch {
namespace {

// Of 0, 1, 2, ... in aligned memory, `offset_bytes` behind its begin.
Tensor counted(Shape shape, std::size_t offset_bytes) {
  const auto count = static_cast<std::size_t>(*element_count(shape));
  const auto memory = aligned_memory(offset_bytes + count * sizeof(float));
  auto* numbers = reinterpret_cast<float*>(memory.get() + offset_bytes);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
  return {DType::kFloat32,
          std::move(shape),
          memory,
          {memory.get() + offset_bytes, count * sizeof(float)}};
}

TEST(TensorOf, KeepsTheMemoryThatNothingElseUses) {
  const at::Tensor wanted = at::arange(0, 6, at::kFloat).view({2, 3});
  Tensor alone = counted({2, 3}, 64);
  const std::byte* place = alone.bytes.data();
  at::Tensor kept = tensor_of(std::move(alone));
  EXPECT_EQ(kept.data_ptr(), place);
  EXPECT_TRUE(kept.equal(wanted));
  kept.resize_({40});
  EXPECT_TRUE(kept.narrow(0, 0, 6).equal(wanted.flatten()));

  const Tensor shared = counted({2, 3}, 0);
  const at::Tensor copy = tensor_of(shared);
  EXPECT_NE(copy.data_ptr(), shared.bytes.data());
  EXPECT_TRUE(copy.equal(wanted));

  EXPECT_TRUE(tensor_of(counted({2, 3}, 4)).equal(wanted));  // not aligned
  EXPECT_EQ(tensor_of(counted({2, 0}, 0)).sizes(), at::IntArrayRef({2, 0}));
  EXPECT_EQ(tensor_of(counted({}, 0)).dim(), 0);
  Tensor turned = counted({2, 3}, 0);
  turned.recorded_strides = {1, 2};
  const at::Tensor laid_out = tensor_of(std::move(turned));
  EXPECT_EQ(laid_out.strides(), at::IntArrayRef({1, 2}));
  EXPECT_TRUE(laid_out.equal(wanted));
}

TEST(MendKernels, DotProductsOfComplexVectors) {
  make_errors_short();
  patch_broken_kernels();
  const at::Tensor steps = at::arange(1, 6);
  for (const at::ScalarType dtype : {at::kComplexFloat, at::kComplexDouble}) {
    const at::Tensor a = steps.to(dtype) * c10::complex<double>(1, 2);
    const at::Tensor b = (steps + 1).to(dtype) * c10::complex<double>(3, -1);
    EXPECT_TRUE(at::dot(a, b).equal((a * b).sum()));
    EXPECT_TRUE(at::vdot(a, b).equal((a.conj() * b).sum()));
    EXPECT_TRUE(at::matmul(a, b).equal((a * b).sum()));
  }
  const at::Tensor real = steps.to(at::kDouble);
  EXPECT_EQ(at::dot(real, real).item<double>(), 55);
  EXPECT_EQ(at::vdot(real, real).item<double>(), 55);
}

TEST(MatrixTiles, AvoidedOnlyIfTheyCannotBeUsed) {
  constexpr const char* kVariable = "ONEDNN_MAX_CPU_ISA";
  const char* before = std::getenv(kVariable);
  const std::string kept = before == nullptr ? "" : before;
  ::unsetenv(kVariable);
  avoid_unusable_tiles();
  EXPECT_EQ(std::getenv(kVariable) != nullptr, tiles_are_unusable());
  ::setenv(kVariable, "AVX2", 1);
  avoid_unusable_tiles();
  EXPECT_STREQ(std::getenv(kVariable), "AVX2");
  before == nullptr ? ::unsetenv(kVariable) : ::setenv(kVariable, kept.c_str(), 1);
}

TEST(Slice, BoundsMayBeLeftOut) {
  at::Tensor x = at::arange(10);
  EXPECT_TRUE(x.index({slice(1, 9, 2)}).equal(x.slice(0, 1, 9, 2)));
  EXPECT_TRUE(x.index({slice({}, 4, {})}).equal(x.slice(0, 0, 4)));
  EXPECT_THROW(slice(1, 9, 0), c10::Error);
}

TEST(IndexTensor, OfEveryTypeThatNewVersionsTake) {
  const at::Tensor x = at::arange(10);
  const at::Tensor rows = at::tensor({3, 0}, at::kLong);
  for (const at::ScalarType dtype : {at::kInt, at::kLong}) {
    EXPECT_TRUE(x.index({index_tensor(rows.to(dtype))}).equal(x.index({rows})));
  }
  EXPECT_TRUE(x.index({index_tensor(x > 3)}).equal(x.masked_select(x > 3)));
}

}  // namespace
}  // namespace msprobe::libtorch
