// SPDX-License-Identifier: Apache-2.0
#include "execute/bind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

PyValue run_api(std::string_view type, std::string_view name, PyList args, PyDict kwargs = {}) {
  const Api* api = find_api(type, name);
  if (api == nullptr) throw std::runtime_error("no such API");
  return (*api)({std::move(args), std::move(kwargs)});
}

at::Tensor tensor_in(const PyValue& value) { return *value.as<at::Tensor>(); }

PyValue integer(std::int64_t value) { return {value}; }

TEST(Bind, ChoosesTheOverloadPythonChooses) {
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  EXPECT_EQ(tensor_in(run_api("Torch", "max", {{x}})).item<float>(), 5);
  const PyValue by_dim = run_api("Torch", "max", {{x}, integer(1)});
  ASSERT_EQ(by_dim.as<PyList>()->size(), 2U);
  EXPECT_EQ(tensor_in((*by_dim.as<PyList>())[1]).scalar_type(), at::kLong);
  EXPECT_TRUE(tensor_in(run_api("Torch", "max", {{x}, {x + 1}})).equal(x + 1));
}

TEST(Bind, TakesNumpysNames) {
  const at::Tensor x = at::ones({2, 3});
  const PyValue sum =
      run_api("Torch", "sum", {}, {{"input", {x}}, {"axis", integer(1)}, {"keepdims", {true}}});
  EXPECT_EQ(tensor_in(sum).sizes(), (std::vector<std::int64_t>{2, 1}));
}

TEST(Bind, TakesAListOfIntsWrittenOut) {
  const at::Tensor x = at::ones({2, 3});
  EXPECT_EQ(tensor_in(run_api("Tensor", "view", {{x}, integer(3), integer(2)})).size(0), 3);
  EXPECT_EQ(tensor_in(run_api("Tensor", "permute", {{x}, integer(1), integer(0)})).size(0), 3);
  EXPECT_EQ(tensor_in(run_api("Tensor", "view", {{x}, {dump::SizeValue{{6}}}})).dim(), 1);
}

TEST(Bind, ANumberStandsForATensorWherePythonAllowsIt) {
  const at::Tensor x = at::ones({2}, at::kInt);
  const at::Tensor sum = tensor_in(run_api("Torch", "add", {{x}, {2.5}}));
  EXPECT_EQ(sum.scalar_type(), at::kFloat);  // a number does not make it double
  EXPECT_THROW(run_api("Torch", "maximum", {{x}, {2.5}}), BindError);
}

TEST(Bind, TakesDeprecatedOrders) {
  const at::Tensor x = at::ones({2, 2});
  const at::Tensor sum = tensor_in(run_api("Torch", "addmm", {{2.0}, {x}, {3.0}, {x}, {x}}));
  EXPECT_EQ(sum[0][0].item<float>(), 2 + 3 * 2);
  EXPECT_EQ(tensor_in(run_api("Tensor", "add", {{x}, {2.0}, {x}}))[0][0].item<float>(), 3);
}

TEST(Bind, WritesIntoOut) {
  const at::Tensor x = at::ones({2});
  const at::Tensor out = at::zeros({2});
  run_api("Torch", "add", {{x}, {x}}, {{"out", {out}}});
  EXPECT_EQ(out[0].item<float>(), 2);
  const at::Tensor values = at::zeros({1});
  const at::Tensor indices = at::zeros({1}, at::kLong);
  run_api("Torch", "topk", {{x}, integer(1)}, {{"out", {PyList{{values}, {indices}}}}});
  EXPECT_EQ(values[0].item<float>(), 1);
}

TEST(Bind, RefusesWhatNoOverloadTakes) {
  try {
    run_api("Torch", "add", {{std::string("x")}, integer(1)});
    FAIL();
  } catch (const BindError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("add() received an invalid combination"));
    EXPECT_THAT(error.what(), testing::HasSubstr("(str, int)"));
  }
}

TEST(Bind, FindsNamespacesAndNamedOverloads) {
  const at::Tensor x = at::eye(2);
  EXPECT_EQ(tensor_in(run_api("Torch", "linalg.det", {{x}})).item<float>(), 1);
  EXPECT_EQ(tensor_in(run_api("Aten", "add.Tensor", {{x}, {x}}))[0][0].item<float>(), 2);
  EXPECT_EQ(tensor_in(run_api("Aten", "add", {{x}, {x}}))[0][0].item<float>(), 2);
  EXPECT_EQ(find_api("Torch", "no_such_name"), nullptr);
  EXPECT_EQ(find_api("Jit", "add"), nullptr);
}

TEST(Operators, ReflectedAndCompared) {
  const at::Tensor x = at::full({2}, 3.0F);
  EXPECT_EQ(tensor_in(run_api("Tensor", "__rpow__", {{x}, integer(2)}))[0].item<float>(), 8);
  EXPECT_EQ(tensor_in(run_api("Tensor", "__rsub__", {{x}, integer(2)}))[0].item<float>(), -1);
  EXPECT_FALSE(*run_api("Tensor", "__eq__", {{x}, {dump::None{}}}).as<bool>());
  EXPECT_TRUE(*run_api("Tensor", "__bool__", {{x[0]}}).as<bool>());
  EXPECT_EQ(*run_api("Tensor", "__len__", {{x}}).as<std::int64_t>(), 2);
}

at::Tensor item(const at::Tensor& x, PyValue key, std::optional<Shape> shape = {}) {
  return tensor_in(
      (*find_api("Tensor", "__getitem__"))({{{x}, std::move(key)}, {}, std::move(shape)}));
}

TEST(Index, EveryKindOfKey) {
  const at::Tensor x = at::arange(24).view({4, 6});
  EXPECT_TRUE(item(x, integer(-1)).equal(x[3]));
  EXPECT_TRUE(item(x, {dump::Slice{1, 3, {}}}).equal(x.slice(0, 1, 3)));
  EXPECT_TRUE(item(x, {dump::Ellipsis{}}).equal(x));
  EXPECT_TRUE(item(x, {dump::None{}}).equal(x.unsqueeze(0)));
  EXPECT_TRUE(item(x, {PyList{{dump::Ellipsis{}}, integer(1)}}).equal(x.select(1, 1)));
  EXPECT_TRUE(item(x, {x > 3}).equal(x.masked_select(x > 3)));
  EXPECT_TRUE(item(x, {true}).equal(x.unsqueeze(0)));
  const at::Tensor rows = at::tensor({3, 0});
  EXPECT_TRUE(item(x, {rows}).equal(x.index_select(0, rows)));
}

TEST(Index, TheRecordedOutputTellsATupleFromAList) {
  const at::Tensor x = at::arange(24).view({4, 6});
  const PyValue key{PyList{integer(0), integer(2)}};
  EXPECT_EQ(item(x, key, Shape{}).item<std::int64_t>(), 2);
  EXPECT_EQ(item(x, key, Shape{2, 6}).sizes(), (std::vector<std::int64_t>{2, 6}));
}

TEST(Index, SetsInPlace) {
  const at::Tensor x = at::zeros({2, 3});
  (*find_api("Tensor", "__setitem__"))(
      {{{x}, {PyList{{dump::Ellipsis{}}, integer(1)}}, integer(7)}});
  EXPECT_EQ(x.sum().item<float>(), 14);
}

}  // namespace
}  // namespace msprobe::execute
