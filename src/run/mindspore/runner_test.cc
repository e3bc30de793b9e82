// SPDX-License-Identifier: Apache-2.0
#include "mindspore/runner.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mindspore/messages.h"
#include "mindspore/runner_process.h"

namespace msprobe::mindspore {
namespace {

using testing::HasSubstr;

at::Tensor floats(std::initializer_list<float> values) {
  return at::tensor(std::vector<float>(values));
}

PyCall call_of(PyList args, arguments::PyDict kwargs = {}) {
  return {std::move(args), std::move(kwargs)};
}

const at::Tensor& tensor_in(const PyValue& value) { return *value.as<at::Tensor>(); }

// The real runner.py, on a stand-in for MindSpore.
class WithFakeMindSpore : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PYTHONPATH", MSPROBE_SOURCE_DIR "/tests/data/fake_mindspore", 1);
    ::unsetenv(kPythonVariable);
    if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) {
      GTEST_SKIP() << "python3 has no numpy";
    }
  }
  void TearDown() override { ::unsetenv("FAKE_MINDSPORE_BROKEN"); }

  static std::unique_ptr<Runner> started() {
    Result<std::unique_ptr<Runner>> runner = Runner::start({});
    EXPECT_TRUE(runner) << runner.error().message;
    return *std::move(runner);
  }
};

TEST_F(WithFakeMindSpore, SaysWhichMindSporeItRuns) {
  const auto runner = started();
  EXPECT_EQ(runner->greeting().version, "0.0-fake");
  EXPECT_EQ(runner->greeting().target, "CPU");
  EXPECT_TRUE(is_installed());
}

TEST_F(WithFakeMindSpore, RunsFunctionsOfEveryGroup) {
  const auto runner = started();
  const auto product = runner->forward("Mint.mul", call_of({{floats({1, 2, 3})}, {2.0}}));
  ASSERT_TRUE(product) << product.error().text;
  EXPECT_TRUE(tensor_in(*product).equal(floats({2, 4, 6})));
  const auto relu = runner->forward("MintFunctional.relu", call_of({{floats({-1, 2})}}));
  EXPECT_TRUE(tensor_in(*relu).equal(floats({0, 2})));
  const auto inner = runner->forward("Mint.special.expm1", call_of({{floats({0})}}));
  EXPECT_TRUE(tensor_in(*inner).equal(floats({0})));
  const auto method = runner->forward("Tensor.add_", call_of({{floats({1})}, {floats({2})}}));
  EXPECT_TRUE(tensor_in(*method).equal(floats({3})));
  const auto cat = runner->forward(
      "Mint.cat", call_of({{PyList{{floats({1})}, {floats({2})}}}}, {{"dim", {std::int64_t{0}}}}));
  EXPECT_TRUE(tensor_in(*cat).equal(floats({1, 2})));
  const auto two =
      runner->forward("Mint.max", call_of({{floats({1, 5, 2})}}, {{"dim", {std::int64_t{0}}}}));
  const auto* list = two->as<PyList>();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(tensor_in(list->at(1)).item<std::int64_t>(), 1);
  EXPECT_EQ(runner->times().messages, 6U);
  EXPECT_GE(runner->times().total_nanos, runner->times().own_nanos);
}

TEST_F(WithFakeMindSpore, TensorsOfEveryTypeAndSizeArrive) {
  const auto runner = started();
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kLong,
                                    at::kInt, at::kByte, at::kBool, at::kComplexFloat}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {0, 3}, {2, 3}, {1 << 19}}) {
      const at::Tensor tensor = at::ones(shape, at::TensorOptions().dtype(type));
      const auto same = runner->forward("Mint.cat", call_of({{PyList{{tensor.reshape({-1})}}}}));
      ASSERT_TRUE(same) << same.error().text;
      EXPECT_TRUE(tensor_in(*same).equal(tensor.reshape({-1}))) << type;
    }
  }
}

TEST_F(WithFakeMindSpore, PlainValuesArriveAsPythonHasThem) {
  const auto runner = started();
  const auto told = runner->forward("Mint.echo", call_of({{dump::None{}},
                                                          {true},
                                                          {std::int64_t{3}},
                                                          {2.0},
                                                          {HUGE_VAL},
                                                          {std::string("a\"b")},
                                                          {dump::Ellipsis{}},
                                                          {dump::Slice{1, std::nullopt, 2}},
                                                          {PyList{{std::int64_t{1}}}},
                                                          {at::kFloat},
                                                          {std::complex<double>(1, 2)}},
                                                         {{"keyword", {std::int64_t{1}}}}));
  ASSERT_TRUE(told) << told.error().text;
  const auto& list = *told->as<PyList>();
  EXPECT_EQ(*list.at(0).as<std::string>(),
            "(None, True, 3, 2.0, inf, 'a\"b', Ellipsis, slice(1, None, 2), (1,), 'Float32', "
            "(1+2j))");
  EXPECT_EQ(*list.at(1).as<std::string>(), "[('keyword', 1)]");
  EXPECT_TRUE(std::isnan(*list.at(2).as<double>()));
  EXPECT_EQ(*list.at(3).as<std::int64_t>(), 2);
  EXPECT_TRUE(list.at(4).is_none());
  // A list of numbers is one result.
  const auto numbers = runner->forward("Mint.numbers", call_of({{floats({1, 2})}}));
  ASSERT_TRUE(numbers) << numbers.error().text;
  ASSERT_EQ(numbers->as<PyList>()->size(), 1U);
  EXPECT_EQ(numbers->as<PyList>()->front().as<PyList>()->size(), 2U);
}

TEST_F(WithFakeMindSpore, GradientsFollowTheLastCall) {
  const auto runner = started();
  ASSERT_TRUE(runner->forward("Mint.mul", call_of({{floats({1, 2})}, {floats({3, 4})}})));
  const auto both = runner->backward({{floats({1, 10})}});
  ASSERT_TRUE(both) << both.error().text;
  EXPECT_TRUE(tensor_in(both->at(0)).equal(floats({3, 40})));
  EXPECT_TRUE(tensor_in(both->at(1)).equal(floats({1, 20})));
  // Tensors in lists count; integers, and what no gradient reaches, have none.
  ASSERT_TRUE(runner->forward("Mint.cat", call_of({{PyList{{floats({1})}, {floats({2})}}}})));
  const auto of_list = runner->backward({{floats({5, 6})}});
  ASSERT_TRUE(of_list) << of_list.error().text;
  EXPECT_TRUE(tensor_in(of_list->at(1)).equal(floats({6})));
  ASSERT_TRUE(runner->forward("Mint.mul", call_of({{floats({1})}, {at::ones({1}, at::kShort)}})));
  const auto of_float = runner->backward({{floats({2})}});
  ASSERT_TRUE(of_float) << of_float.error().text;
  EXPECT_TRUE(tensor_in(of_float->at(0)).equal(floats({2})));
  EXPECT_TRUE(of_float->at(1).is_none());
}

TEST_F(WithFakeMindSpore, ResultsThatNeedMoreMemoryThanTheArguments) {
  const auto runner = started();
  const PyList size{{std::int64_t{3000}}, {std::int64_t{1000}}};
  const auto full = runner->forward("Mint.full", call_of({{size}, {2.0}}));
  ASSERT_TRUE(full) << full.error().text;
  EXPECT_EQ(tensor_in(*full).sum().item<float>(), 6e6F);
}

TEST_F(WithFakeMindSpore, WhatACallRaisesBelongsToThatCall) {
  const auto runner = started();
  const auto raised = runner->forward("Mint.raises", call_of({{floats({1})}}));
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().reason, SkipReason::kDeviceFailed);
  EXPECT_EQ(raised.error().text, "ValueError: not this time");
  const auto unknown = runner->forward("Mint.nothing_like_it", call_of({}));
  EXPECT_THAT(unknown.error().text, HasSubstr("has no Mint.nothing_like_it"));
  const auto other = runner->forward("Torch.add", call_of({}));
  EXPECT_THAT(other.error().text, HasSubstr("not Torch.add"));
  EXPECT_TRUE(runner->forward("Mint.mul", call_of({{floats({1})}, {2.0}})));
}

TEST_F(WithFakeMindSpore, ACrashCostsOneCall) {
  const auto runner = started();
  const auto crashed = runner->forward("Mint.crashes", call_of({{floats({1})}}));
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().reason, SkipReason::kCrashed);
  EXPECT_THAT(crashed.error().text, HasSubstr("Segmentation fault"));
  EXPECT_FALSE(runner->backward({}));
  const auto next = runner->forward("Mint.mul", call_of({{floats({1})}, {2.0}}));
  ASSERT_TRUE(next) << next.error().text;
  const auto left = runner->forward("Mint.exits", call_of({{floats({1})}}));
  EXPECT_THAT(left.error().text, HasSubstr("exit status 3"));
  EXPECT_TRUE(runner->forward("Mint.mul", call_of({{floats({1})}, {2.0}})));
}

TEST_F(WithFakeMindSpore, APythonThatCannotIsNamed) {
  ::setenv("FAKE_MINDSPORE_BROKEN", "1", 1);
  const auto broken = Runner::start({});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("ImportError: this MindSpore is broken"));
  EXPECT_THAT(broken.error().message, HasSubstr("MSPROBE_MINDSPORE_PYTHON=PATH"));
  ::setenv(kPythonVariable, "/nowhere/python", 1);
  const auto missing = Runner::start({});
  ::unsetenv(kPythonVariable);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/python cannot run MindSpore"));
  EXPECT_FALSE(is_installed({"/nowhere/python", "0"}));
}

TEST(RunnerReply, ValuesAndTensorsAreThoseOfTheMessage) {
  std::vector<std::byte> memory(128);
  const float two = 2;
  std::memcpy(memory.data() + 64, &two, sizeof two);
  const Result<Reply> reply =
      read_reply(R"({"result": [{"t": ["float32", [1], 64]}, null, true, 3, "x", [1.5]]})", memory);
  ASSERT_TRUE(reply) << reply.error().message;
  const PyList& values = *reply->result.as<PyList>();
  ASSERT_EQ(values.size(), 6U);
  EXPECT_EQ(values[0].as<at::Tensor>()->item<float>(), 2);
  EXPECT_TRUE(values[1].is_none());
  EXPECT_TRUE(*values[2].as<bool>());
  EXPECT_EQ(*values[3].as<std::int64_t>(), 3);
  EXPECT_EQ(*values[4].as<std::string>(), "x");
  EXPECT_EQ(values[5].as<PyList>()->size(), 1U);
}

// A program in place of the runner.
TEST(HostileRunner, IsAnErrorWhateverItSends) {
  const auto answer_of = [](const std::string& code) -> Result<std::string> {
    ProcessOptions options;
    options.python = "python3";
    options.program =
        "import os, sys, socket, struct\n"
        "s = socket.socket(fileno=int(sys.argv[1]))\n"
        "memory = int(sys.argv[2])\n" +
        code;
    Result<RunnerProcess> process = RunnerProcess::start(options);
    if (!process) return propagate(process);
    return process->receive();
  };
  EXPECT_TRUE(answer_of("s.sendall(struct.pack('<I', 2) + b'{}')"));
  const Result<std::string> long_one = answer_of("s.sendall(b'\\xff' * 4)\ninput()");
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().message, HasSubstr("impossible length"));
  EXPECT_FALSE(answer_of("s.sendall(struct.pack('<I', 100) + b'cut')"));
  EXPECT_FALSE(answer_of("sys.exit(3)"));
  EXPECT_FALSE(answer_of("os.kill(os.getpid(), 9)"));
  // Memory that both have mapped cannot be taken away.
  const Result<std::string> shrunk = answer_of(
      "os.ftruncate(memory, 4096)\n"
      "try:\n  os.ftruncate(memory, 0)\n  said = b'shrunk'\n"
      "except OSError:\n  said = b'refused'\n"
      "s.sendall(struct.pack('<I', len(said)) + said)");
  ASSERT_TRUE(shrunk) << shrunk.error().message;
  EXPECT_EQ(*shrunk, "refused");
}

}  // namespace
}  // namespace msprobe::mindspore
