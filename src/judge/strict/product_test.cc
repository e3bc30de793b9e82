// SPDX-License-Identifier: Apache-2.0
// A call taken apart into factors: their product is what the benchmark gives.
#include "strict/product.h"

#include <gtest/gtest.h>

#include "core/call_name.h"
#include "strict/calls_for_test.h"
#include "strict/product_terms.h"

namespace msprobe::strict {
namespace {

at::Tensor multiplied(const Product& product) {
  const Product wide = in_double(product);
  const at::Tensor result = at::matmul(wide.left, wide.right.all());
  return wide.added.defined() ? result + wide.added : result;
}

// The paths of the gradients that are a product; the others give none.
void expect_products(const dump::CallRecord& record, const std::vector<std::string>& wanted) {
  const RunCall run(record);
  const std::string name(parse_call_name(record.full_name)->bare_name);
  const auto expect_same = [&](const Product& product, const execute::LeafPair& pair) {
    const at::Tensor& bench = *pair.bench.as<at::Tensor>();
    for (const Product& given : {product, in_matrices(product)}) {
      const at::Tensor result = multiplied({given.left, given.right, {}});
      ASSERT_EQ(result.numel(), bench.numel()) << record.full_name << " " << pair.path;
    }
    EXPECT_TRUE(at::allclose(multiplied(product).reshape(bench.sizes()), bench, 1e-12, 1e-12))
        << record.full_name << " " << pair.path;
  };
  const auto& call = run.outcome.arguments.call;
  const auto forward = forward_product(name, call);
  ASSERT_TRUE(forward) << record.full_name;
  expect_same(*forward, run.outcome.forward[0]);
  std::vector<std::string> found;
  for (const execute::LeafPair& pair : run.outcome.backward) {
    const auto product = gradient_product(name, call, run.outcome.arriving, pair.path);
    if (!product) continue;
    found.push_back(pair.path);
    expect_same(*product, pair);
  }
  EXPECT_EQ(found, wanted) << record.full_name;
}

dump::CallRecord convolution(std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                             std::int64_t dilation) {
  const std::int64_t reach = dilation * (kernel - 1) + 1;
  const auto places = [&](std::int64_t extent) {
    return (extent + 2 * padding - reach) / stride + 1;
  };
  return with_backward(
      call("Functional.conv2d.0", {{tensor({2, 3, 9, 11}, DType::kFloat32, true)},
                                   {tensor({4, 3, kernel, kernel}, DType::kFloat32, true)},
                                   {tensor({4}, DType::kFloat32, true)},
                                   {stride},
                                   {padding},
                                   {dilation}}),
      {{tensor({2, 4, places(9), places(11)})}});
}

TEST(Product, OfConvolutionsIsTheBenchmark) {
  expect_products(convolution(1, 1, 0, 1), {"0", "1"});
  expect_products(convolution(3, 1, 1, 1), {"0", "1"});
  expect_products(convolution(3, 1, 0, 1), {"0", "1"});
  expect_products(convolution(3, 1, 2, 2), {"0", "1"});
  // Not every place of the input is seen.
  expect_products(convolution(1, 2, 0, 1), {"0", "1"});
  expect_products(convolution(3, 2, 1, 1), {"0", "1"});
  expect_products(convolution(2, 3, 0, 1), {"0", "1"});
  expect_products(convolution(5, 2, 2, 1), {"0", "1"});
  // The kernel looks at nothing but padding, or has gaps that meet those between its places.
  expect_products(convolution(1, 1, 1, 1), {"1"});
  expect_products(convolution(3, 2, 2, 2), {"1"});
}

// No element of a gradient gets more terms than the places of the kernel that see it.
TEST(Product, OfAGradientKnowsHowManyOfItsTermsCount) {
  struct Case {
    std::int64_t kernel, stride;
    double filled;
  };
  for (const auto& [kernel, stride, filled] :
       {Case{3, 1, 1}, Case{3, 2, 4.0 / 9}, Case{1, 2, 1}, Case{5, 2, 9.0 / 25}}) {
    const RunCall run(convolution(kernel, stride, 0, 1));
    const auto product =
        gradient_product("conv2d", run.outcome.arguments.call, run.outcome.arriving, "0");
    ASSERT_TRUE(product);
    EXPECT_DOUBLE_EQ(product->filled, filled);
    const double most = product->right.all().ne(0).sum(-2).max().item<double>();
    EXPECT_LE(most, filled * static_cast<double>(product->right.size(-2)));
  }
}

TEST(Product, OfLinearLayersIsTheBenchmark) {
  expect_products(
      with_backward(call("Functional.linear.0", {{tensor({2, 5, 7}, DType::kFloat32, true)},
                                                 {tensor({6, 7}, DType::kFloat32, true)},
                                                 {tensor({6}, DType::kFloat32, true)}}),
                    {{tensor({2, 5, 6})}}),
      {"0", "1", "2"});
  expect_products(with_backward(call("Torch.addmm.0", {{tensor({6}, DType::kFloat32, true)},
                                                       {tensor({5, 7}, DType::kFloat32, true)},
                                                       {tensor({7, 6}, DType::kFloat32, true)}}),
                                {{tensor({5, 6})}}),
                  {"0", "1", "2"});
}

// Of any part, what the product of the whole factors gives there.
TEST(ProductTerms, OfEachPartAreThoseOfTheWhole) {
  at::manual_seed(3);
  const at::Tensor left = at::randn({3, 10, 40});
  const at::Tensor right = at::randn({3, 40, 7});
  for (const Product& given : {Product{left, right, {}}, Product{left[0], right, {}},
                               Product{left, right[0], {}}, Product{left[0], right[0], {}}}) {
    const Product product = in_matrices(given);
    const at::Tensor sums = at::matmul(product.left, product.right.all()).to(at::kDouble).flatten();
    const at::Tensor squares = at::matmul(product.left.narrow(-1, 0, 13).square(),
                                          product.right.all().narrow(-2, 0, 13).square())
                                   .to(at::kDouble)
                                   .flatten();
    const ProductTerms terms(product, 13, /*walks=*/true, at::kDouble);
    const at::Tensor wander = terms.wander(terms.all(), sums);
    EXPECT_GT(wander.min().item<double>(), 0);
    for (const std::int64_t elements : {1, 7, 30, 100, 1000}) {
      std::int64_t next = 0;
      terms.for_parts(elements, [&](const ProductPart& part) {
        const at::Tensor found = terms.norms(part).square();
        EXPECT_EQ(part.start, next);
        next += found.numel();
        const auto here = [&](const at::Tensor& all) {
          return all.narrow(0, part.start, found.numel());
        };
        EXPECT_TRUE(at::allclose(found, here(squares), 1e-5));
        EXPECT_TRUE(at::allclose(terms.wander(part, here(sums)), here(wander), 1e-12));
        return true;
      });
      EXPECT_EQ(next, sums.numel()) << elements;
    }
  }
}

}  // namespace
}  // namespace msprobe::strict
