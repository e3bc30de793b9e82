// SPDX-License-Identifier: Apache-2.0
// Dumps of MindSpore beside those of PyTorch.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump_compare/compare_dumps.h"
#include "dump_compare/dumps_for_test.h"
#include "dump_compare/golden_names.h"

namespace msprobe::dump_compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// As MindSpore records it: no requires_grad.
std::string cell_tensor(double norm, const std::string& dtype = "Float32",
                        const std::string& more = "", const std::string& shape = "[2]") {
  const std::string number = std::to_string(norm);
  return R"({"type": "mindspore.Tensor", "dtype": ")" + dtype + R"(", "shape": )" + shape +
         R"(, "Max": )" + number + R"(, "Min": )" + number + R"(, "Mean": )" + number +
         R"(, "Norm": )" + number + more + "}";
}

std::string backward(const std::string& name, const std::string& input, const std::string& output) {
  return "\"" + name + R"(": {"input": [)" + input + R"(], "output": [)" + output + "]}";
}

class Across : public InScratch {
 protected:
  DumpCompareOptions pair(const std::string& target, const std::string& golden) const {
    DumpCompareOptions options;
    options.target = dump("t.json", target, "mindspore");
    options.golden = dump("g.json", golden, "pytorch");
    return options;
  }
};

TEST_F(Across, NamesDtypesAndClassesOfBothFrameworksPair) {
  const std::string half = cell_tensor(1, "Float16");
  const std::string torch_half = tensor(1, "torch.float16");
  const auto options =
      pair(call("Mint.add.0.forward", half, half) + "," +
               call("MintFunctional.dense.3.forward", half, half) + "," +
               call("Cell.head.Dense.forward.0", half, half) + "," +
               call("Tensor.__gt__.0.forward", half, cell_tensor(1, "Bool")),
           call("Torch.add.0.forward", torch_half, torch_half) + "," +
               call("Functional.linear.3.forward", torch_half, torch_half) + "," +
               call("Module.head.Linear.forward.0", torch_half, torch_half) + "," +
               call("Tensor.__gt__.0.forward", torch_half, tensor(1, "torch.bool")));
  EXPECT_THAT(compared(options).rows,
              ElementsAre("Mint.add.0.forward.input.0 Torch.add.0.forward.input.0 pass",
                          "Mint.add.0.forward.output.0 Torch.add.0.forward.output.0 pass",
                          "MintFunctional.dense.3.forward.input.0 "
                          "Functional.linear.3.forward.input.0 pass",
                          "MintFunctional.dense.3.forward.output.0 "
                          "Functional.linear.3.forward.output.0 pass",
                          "Cell.head.Dense.forward.0.input.0 "
                          "Module.head.Linear.forward.0.input.0 pass",
                          "Cell.head.Dense.forward.0.output.0 "
                          "Module.head.Linear.forward.0.output.0 pass",
                          "Tensor.__gt__.0.forward.input.0 Tensor.__gt__.0.forward.input.0 pass",
                          "Tensor.__gt__.0.forward.output.0 "
                          "Tensor.__gt__.0.forward.output.0 pass"));
}

TEST_F(Across, AnotherDtypeIsAnError) {
  const auto options = pair(call("Mint.add.0.forward", cell_tensor(1, "Float16"), "null"),
                            call("Torch.add.0.forward", tensor(1), "null"));
  EXPECT_THAT(compared(options).rows,
              Contains("Mint.add.0.forward.input.0 Torch.add.0.forward.input.0 error"));
}

TEST_F(Across, OperationsOfSeveralNamesCountTogether) {
  const auto of_target = [](const std::string& name) {
    return call(name + ".forward", cell_tensor(1), cell_tensor(1));
  };
  const auto of_golden = [](const std::string& name) {
    return call(name + ".forward", tensor(1), tensor(1));
  };
  auto options =
      pair(of_target("Mint.add.0") + "," + of_target("Mint.add.1") + "," + of_target("Mint.add.2"),
           of_golden("Torch.add.0") + "," + of_golden("Tensor.__add__.0") + "," +
               of_golden("Torch.add.1"));
  EXPECT_THAT(compared(options).rows,
              Contains("Mint.add.1.forward.input.0 Tensor.__add__.0.forward.input.0 pass"));
  EXPECT_THAT(compared(options).rows,
              Contains("Mint.add.2.forward.input.0 Torch.add.1.forward.input.0 pass"));
  // One more on a side: the numbers decide.
  options.golden =
      dump("h.json", of_golden("Torch.add.0") + "," + of_golden("Tensor.__add__.0") + "," +
                         of_golden("Torch.add.1") + "," + of_golden("Torch.add.2"));
  EXPECT_THAT(compared(options).rows,
              Contains("Mint.add.1.forward.input.0 Torch.add.1.forward.input.0 pass"));
}

TEST_F(Across, CallsInsideOneModuleBelongTogether) {
  const auto of_target = [](const std::string& name) {
    return call(name + ".forward", cell_tensor(1), cell_tensor(1));
  };
  const auto of_golden = [](const std::string& name) {
    return call(name + ".forward", tensor(1), tensor(1));
  };
  // The target adds once more in the first module; nothing shifts in the second.
  const auto options =
      pair(of_target("Mint.add.0") + "," + of_target("Mint.add.1") + "," + of_target("Mint.add.2"),
           of_golden("Torch.add.0") + "," + of_golden("Torch.add.1"));
  put("construct.json", R"({"Mint.add.0.forward": "Cell.a.A.forward.0", "Mint.add.1.forward":
      "Cell.a.A.forward.0", "Mint.add.2.forward": "Cell.b.B.forward.0",
      "Torch.add.0.forward": "Module.a.A.forward.0", "Torch.add.1.forward": "Module.b.B.forward.0"})");
  const auto rows = compared(options).rows;
  EXPECT_THAT(rows, Contains("Mint.add.0.forward.input.0 Torch.add.0.forward.input.0 pass"));
  EXPECT_THAT(rows, Contains("Mint.add.1.forward.input.0 - unmatched"));
  EXPECT_THAT(rows, Contains("Mint.add.2.forward.input.0 Torch.add.1.forward.input.0 pass"));
}

TEST_F(Across, ArgumentsMayBePositionalOnOneSide) {
  const auto options =
      pair(call("Mint.mean.0.forward", cell_tensor(1) + R"(, {"type": "int", "value": 1})", "null"),
           R"("Torch.mean.0.forward": {"input_args": [)" + tensor(1) +
               R"(], "input_kwargs": {"dim": {"type": "int", "value": 1}}, "output": [null]})");
  EXPECT_THAT(compared(options).rows,
              Contains("Mint.mean.0.forward.input.1 Torch.mean.0.forward.input.dim pass"));
}

TEST_F(Across, ArgumentsHaveTheNamesOfTheFunction) {
  const auto options = pair(
      call("Mint.mean.0.forward",
           cell_tensor(1) + R"(, {"type": "int", "value": 1}, {"type": "bool", "value": true})",
           "null"),
      R"("Torch.mean.0.forward": {"input_args": [)" + tensor(1) +
          R"(], "input_kwargs": {"keepdim": {"type": "bool", "value": true}, "dim": {"type": "int",
             "value": 1}, "dtype": null}, "output": [null]})");
  const auto rows = compared(options).rows;
  EXPECT_THAT(rows, Contains("Mint.mean.0.forward.input.1 Torch.mean.0.forward.input.dim pass"));
  EXPECT_THAT(rows,
              Contains("Mint.mean.0.forward.input.2 Torch.mean.0.forward.input.keepdim pass"));
}

TEST_F(Across, AnArgumentThatNamesADtypeIsTheSame) {
  const auto options = pair(
      call("Tensor.to.0.forward",
           cell_tensor(1) + R"(, {"type": "mindspore.dtype", "value": "Float16"})", "null") +
          "," +
          call("Mint.f.0.forward", R"({"type": "mindspore.dtype", "value": "Float16"})", "null"),
      call("Tensor.to.0.forward", tensor(1) + R"(, {"type": "torch.dtype", "value": "torch.half"})",
           "null") +
          "," +
          call("Torch.f.0.forward", R"({"type": "torch.dtype", "value": "torch.float16"})",
               "null"));
  EXPECT_THAT(compared(options).rows,
              Contains("Mint.f.0.forward.input.0 Torch.f.0.forward.input.0 pass"));
}

TEST_F(Across, GradientsPairInOrderWithOrWithoutNulls) {
  const auto options = pair(
      backward("Mint.where.0.backward", cell_tensor(1),
               "null, " + cell_tensor(1) + ", " + cell_tensor(2)) +
          "," +
          backward("Mint.matmul.0.backward", cell_tensor(1), cell_tensor(1) + "," + cell_tensor(2)),
      backward("Torch.where.0.backward", tensor(1), tensor(1) + ", " + tensor(2)) + "," +
          backward("Torch.matmul.0.backward", tensor(1), "null," + tensor(2)));
  const auto rows = compared(options).rows;
  EXPECT_THAT(rows,
              Contains("Mint.where.0.backward.output.1 Torch.where.0.backward.output.0 pass"));
  EXPECT_THAT(rows,
              Contains("Mint.where.0.backward.output.2 Torch.where.0.backward.output.1 pass"));
  EXPECT_THAT(rows, Contains("Mint.matmul.0.backward.output.0 - unmatched"));
  EXPECT_THAT(rows,
              Contains("Mint.matmul.0.backward.output.1 Torch.matmul.0.backward.output.1 pass"));
}

TEST_F(Across, GradientsOfANodeInsideAFunctionAreNotCompared) {
  const auto options = pair(
      backward("MintFunctional.linear.0.backward", cell_tensor(1),
               cell_tensor(1) + "," + cell_tensor(9)) +
          "," +
          backward("Mint.bmm.0.backward", cell_tensor(1), cell_tensor(5, "Float32", "", "[2, 3]")),
      backward("Functional.linear.0.backward", tensor(1), tensor(9) + "," + tensor(1)) + "," +
          backward("Torch.bmm.0.backward", tensor(1), tensor(7)));
  const Outcome outcome = compared(options);
  EXPECT_THAT(outcome.rows, Contains("MintFunctional.linear.0.backward.output.0 - unmatched"));
  EXPECT_THAT(outcome.rows, Contains("Mint.bmm.0.backward.output.0 - unmatched"));
  EXPECT_THAT(outcome.rows, Not(Contains(HasSubstr("error"))));
}

TEST_F(Across, ParametersKeepTheirOwnNames) {
  const auto module = [](const std::string& name, const std::string& parameter,
                         const std::string& value) {
    return "\"" + name + R"(": {"input_args": [], "output": [], "parameters": {")" + parameter +
           "\": " + value + "}}";
  };
  const auto options = pair(module("Cell.norm.LayerNorm.forward.0", "gamma", cell_tensor(1)),
                            module("Module.norm.LayerNorm.forward.0", "weight", tensor(1)));
  EXPECT_THAT(compared(options).rows,
              ElementsAre("Cell.norm.LayerNorm.forward.0.parameters.gamma "
                          "Module.norm.LayerNorm.forward.0.parameters.weight pass"));
}

TEST_F(Across, AMappingFileNamesApisAndPlaces) {
  auto options = pair(
      call("Functional.addcmul.0.forward", cell_tensor(1) + "," + cell_tensor(2), cell_tensor(3)),
      call("Torch.fused.0.forward", tensor(2) + "," + tensor(1), tensor(3)));
  ApiRule rule;
  rule.target = "Functional.addcmul";
  rule.golden = "Torch.fused";
  rule.inputs = {{0, 1}, {1, 0}};
  options.api_mapping.emplace(std::vector<ApiRule>{rule});
  EXPECT_THAT(compared(options).rows,
              ElementsAre("Functional.addcmul.0.forward.input.0 Torch.fused.0.forward.input.1 pass",
                          "Functional.addcmul.0.forward.input.1 Torch.fused.0.forward.input.0 pass",
                          "Functional.addcmul.0.forward.output.0 "
                          "Torch.fused.0.forward.output.0 pass"));
}

TEST_F(Across, ChecksumsOfTypesThatNumpyLacksAreNotCompared) {
  const auto with = [](const std::string& tensor_text, const std::string& md5) {
    return tensor_text.substr(0, tensor_text.size() - 1) + R"(, "md5": ")" + md5 + "\"}";
  };
  const auto options = pair(call("Mint.abs.0.forward", with(cell_tensor(1), "8ba71454"),
                                 with(cell_tensor(1, "BFloat16"), "00000001")),
                            call("Torch.abs.0.forward", with(tensor(1), "8ba71454"),
                                 with(tensor(1, "torch.bfloat16"), "00000002")));
  EXPECT_THAT(compared(options).rows,
              ElementsAre("Mint.abs.0.forward.input.0 Torch.abs.0.forward.input.0 pass",
                          "Mint.abs.0.forward.output.0 Torch.abs.0.forward.output.0 warning"));
}

TEST_F(Across, TheMindSporeDumpIsTheTarget) {
  DumpCompareOptions options;
  options.target = dump("t.json", call("Torch.abs.0.forward", tensor(1), "null"), "pytorch");
  options.golden = dump("g.json", call("Mint.abs.0.forward", cell_tensor(1), "null"), "MindSpore");
  EXPECT_THAT(compared(options).fault, HasSubstr("pass the MindSpore dump as the target (-tp)"));
  options.target = dump("t.json", call("Torch.abs.0.forward", tensor(1), "null"), "mindtorch");
  EXPECT_THAT(compared(options).fault, HasSubstr("is of mindtorch"));
  options.golden = dump("g.json", call("Torch.abs.0.forward", tensor(1), "null"), "tensorflow");
  EXPECT_THAT(compared(options).fault, HasSubstr("framework tensorflow"));
}

TEST_F(InScratch, WhatACollectiveHasNotFilledIsNotJudgedInAnyMode) {
  const auto with = [](const std::string& md5) {
    const std::string text = tensor(1);
    return md5.empty() ? text : text.substr(0, text.size() - 1) + R"(, "md5": ")" + md5 + "\"}";
  };
  for (const bool checksums : {false, true}) {
    DumpCompareOptions options;
    const auto one = [&](double norm, const std::string& md5) {
      return call("Distributed.all_to_all_single.0.forward", checksums ? with(md5) : tensor(norm),
                  with(checksums ? "8ba71454" : ""));
    };
    options.target = dump("t.json", one(1, "00000001"));
    options.golden = dump("g.json", one(7, "00000002"));
    EXPECT_THAT(compared(options).rows,
                ElementsAre("Distributed.all_to_all_single.0.forward.input.0 "
                            "Distributed.all_to_all_single.0.forward.input.0 pass",
                            "Distributed.all_to_all_single.0.forward.output.0 "
                            "Distributed.all_to_all_single.0.forward.output.0 pass"));
  }
}

TEST_F(InScratch, SavedValuesAreCompared) {
  const auto saved = [this](const char* name, double norm, int rank) {
    return put(name, R"({"task": "statistics", "level": "debug", "framework": "pytorch", "data": {)"
                     R"("hidden.0.debug": )" +
                         tensor(norm) + R"(, "shapes.0.debug": [{"type": "int", "value": )" +
                         std::to_string(rank) + "}]}}");
  };
  DumpCompareOptions options;
  options.target = saved("t.json", 1, 2);
  options.golden = saved("g.json", 3, 3);
  EXPECT_THAT(compared(options).rows, ElementsAre("hidden.0.debug hidden.0.debug error",
                                                  "shapes.0.debug.0 shapes.0.debug.0 error"));
  options.golden = dump("h.json", call("Torch.f.0.forward", tensor(1), "null"));
  EXPECT_THAT(compared(options).fault, HasSubstr("is of level debug"));
}

TEST(Layers, PathsAreMappedBelowTheirClasses) {
  const LayerMapping mapping({{"TopLayer", {{"network", "module"}}},
                              {"Encoder", {{"layers", "blocks.list"}, {"layers.0", "first"}}},
                              {"Layer", {{"attention", "attn"}}}});
  const auto class_of = [](std::string_view path) -> std::string_view {
    if (path == "network") return "Encoder";
    if (path == "network.layers.0" || path == "network.layers.7") return "Layer";
    return {};
  };
  EXPECT_EQ(mapping.path("network", class_of), "module");
  EXPECT_EQ(mapping.path("network.layers.7.attention.dense", class_of),
            "module.blocks.list.7.attn.dense");
  EXPECT_EQ(mapping.path("network.layers.0.attention", class_of), "module.first.attn");
  EXPECT_EQ(mapping.path("other.layers", class_of), "other.layers");
}

TEST(Layers, ApiRulesNamePlaces) {
  ApiRule rule;
  rule.inputs = {{0, 2}};
  rule.outputs = {{1, 0}};
  EXPECT_EQ(rule.place("input.0"), "input.2");
  EXPECT_EQ(rule.place("input.0.3"), "input.2.3");
  EXPECT_EQ(rule.place("output.1"), "output.0");
  EXPECT_EQ(rule.place("input.01"), "");
  EXPECT_EQ(rule.place("input.1"), "");
}

}  // namespace
}  // namespace msprobe::dump_compare
