// SPDX-License-Identifier: Apache-2.0
// Tests the parts of a script that depend on the call alone.
#include "shrink/script.h"

#include <gtest/gtest.h>

#include "shrink/accepted_shapes.h"
#include "shrink/call_text.h"
#include "shrink/script_run.h"

namespace msprobe::shrink {
namespace {

dump::Value of_shape(Shape shape, DType dtype = DType::kFloat32) {
  dump::TensorRecord record;
  record.dtype = dtype;
  record.shape = std::move(shape);
  return {record};
}

dump::CallRecord call_of(std::string name, dump::List args, dump::Dict kwargs = {}) {
  dump::CallRecord call;
  call.full_name = std::move(name);
  call.forward.input_args = std::move(args);
  call.forward.input_kwargs = std::move(kwargs);
  return call;
}

TEST(PythonName, OfEveryKindOfApi) {
  EXPECT_EQ(python_name("Functional.linear.0"), "torch.nn.functional.linear");
  EXPECT_EQ(python_name("Torch.linalg.norm.3"), "torch.linalg.norm");
  EXPECT_EQ(python_name("Tensor.__add__.12"), "torch.Tensor.__add__");
}

TEST(CallText, IsWhatAPersonWrites) {
  EXPECT_EQ(call_text(call_of("Functional.linear.0", {of_shape({2, 3}), of_shape({4, 3})}), "t")
                .expression,
            "torch.nn.functional.linear(t[0], t[1])");
  EXPECT_EQ(call_text(call_of("Tensor.addcdiv_.3", {of_shape({2}), of_shape({2}), of_shape({2})},
                              {{"value", {-0.5}}}),
                      "c")
                .expression,
            "c[0].addcdiv_(c[1], c[2], value=-0.5)");
  const dump::List index{{dump::Slice{}}, {std::int64_t{0}}};
  EXPECT_EQ(call_text(call_of("Tensor.__getitem__.0", {of_shape({2, 3}), {index}}), "t").expression,
            "t[0].__getitem__((slice(None, None, None), 0,))");
}

TEST(CallText, LeavesAreNumberedAsTheirFilesAre) {
  const dump::List states{of_shape({1}), of_shape({1})};
  const dump::CallRecord call =
      call_of("VF.lstm.0", {of_shape({3}), {states}, {true}, of_shape({4})});
  const CallText text = call_text(call, "t");
  EXPECT_EQ(text.expression, "torch._VF.lstm(t[0], [t[1], t[2]], True, t[3])");
  ASSERT_EQ(text.tensors.size(), 4U);
  EXPECT_EQ(text.tensors[3].second, 4U);
}

TEST(ChangesArguments, WhereThePythonNameOrTheRecordingSaysSo) {
  EXPECT_TRUE(changes_arguments(call_of("Tensor.add_.0", {of_shape({2})})));
  EXPECT_TRUE(changes_arguments(call_of("Tensor.__iadd__.0", {of_shape({2})})));
  EXPECT_TRUE(
      changes_arguments(call_of("Functional.relu.0", {of_shape({2})}, {{"inplace", {true}}})));
  EXPECT_FALSE(
      changes_arguments(call_of("Functional.relu.0", {of_shape({2})}, {{"inplace", {false}}})));
  EXPECT_FALSE(changes_arguments(call_of("Tensor.__add__.0", {of_shape({2})})));
  dump::CallRecord call = call_of("Torch._foreach_mul.0", {of_shape({2})});
  call.forward.mutated = {{"0", of_shape({2})}};
  EXPECT_TRUE(changes_arguments(call));
}

TEST(PythonAccepts, MoreThanOneValuePerChannel) {
  const auto group_norm = [](Shape shape, std::int64_t groups) {
    return python_accepts(
        call_of("Functional.group_norm.0", {of_shape(std::move(shape)), {groups}}));
  };
  EXPECT_FALSE(group_norm({1, 4, 1, 1}, 4));
  EXPECT_TRUE(group_norm({1, 4, 1, 1}, 2));
  EXPECT_TRUE(group_norm({1, 4, 2, 1}, 4));
  const auto batch_norm = [](Shape shape, bool training) {
    return python_accepts(call_of("Functional.batch_norm.0", {of_shape(std::move(shape))},
                                  {{"training", {training}}}));
  };
  EXPECT_FALSE(batch_norm({1, 3}, true));
  EXPECT_TRUE(batch_norm({1, 3}, false));
  EXPECT_TRUE(batch_norm({2, 3}, true));
  EXPECT_FALSE(python_accepts(call_of("Functional.instance_norm.0", {of_shape({4, 3, 1})})));
}

TEST(PythonAccepts, RecurrentLayersWhosePartsFit) {
  const auto lstm = [](std::int64_t rows, std::int64_t layers) {
    const dump::List states{of_shape({1, 2, 5}), of_shape({1, 2, 5})};
    const dump::List weights{of_shape({rows, 3}), of_shape({rows, 5})};
    return python_accepts(call_of("VF.lstm.0", {of_shape({7, 2, 3}),
                                                {states},
                                                {weights},
                                                {false},
                                                {layers},
                                                {0.0},
                                                {true},
                                                {false},
                                                {false}}));
  };
  EXPECT_TRUE(lstm(20, 1));
  EXPECT_FALSE(lstm(5, 1));
  EXPECT_FALSE(lstm(20, 2));
}

TEST(ScriptRun, TellsAFailureOfTheCallFromOneOfThePython) {
  using End = ScriptRun::End;
  const auto exited = [](int status, const std::string& output) {
    return script_run_of(status << 8, output);
  };
  EXPECT_EQ(exited(1, "3 of 8 elements are wrong\n  at [0]: 1\n").said,
            "3 of 8 elements are wrong");
  EXPECT_EQ(exited(0, "0 of 8 elements are wrong\n").end, End::kAgrees);
  const ScriptRun raised = exited(2,
                                  "Traceback (most recent call last):\n"
                                  "  File \"a.py\", line 3, in <module>\n    result()\n"
                                  "  File \"a.py\", line 1, in result\n    f()\n"
                                  "ValueError: no: not so\nmore\n");
  EXPECT_EQ(raised.end, End::kRaised);
  EXPECT_EQ(raised.said, "ValueError: no: not so");
  EXPECT_EQ(exited(2,
                   "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n"
                   "ModuleNotFoundError: No module named 'torch'\n")
                .end,
            End::kCannotRun);
  EXPECT_EQ(script_run_of(11, "").end, End::kDied);
}

}  // namespace
}  // namespace msprobe::shrink
