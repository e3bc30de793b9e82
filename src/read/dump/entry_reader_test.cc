// SPDX-License-Identifier: Apache-2.0
#include "dump/entry_reader.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/construct_json.h"
#include "dump/entry_index.h"
#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string tensor(const std::string& more = "") {
  return R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.5,
      "Min": -Infinity, "Mean": null, "Norm": NaN, "requires_grad": true)" +
         more + "}";
}

Result<EntryIndex> entries_of(const std::string& data, const std::string& head = "") {
  return index_entries(file_of("{" + head + R"("data": {)" + data + "}}"), "dump.json");
}

struct ReadEntry {
  EntryIndex index;
  Entry entry;
  std::string fault;

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const Item& item : entry.items) found.push_back(item_name(entry, item));
    return found;
  }
};

ReadEntry read_of(const std::string& name, const std::string& json) {
  ReadEntry read;
  auto index = entries_of("\"" + name + "\": " + json);
  if (!index) {
    read.fault = index.error().message;
    return read;
  }
  read.index = *std::move(index);
  const auto done = EntryReader().read(read.index.entries.at(0), "dump.json", read.entry);
  if (!done) read.fault = done.error().message;
  return read;
}

TEST(EntryNames, OfCallsModulesAndGradients) {
  const auto call = parse_entry_name("Torch.linalg.norm.12.backward");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->owner, "Torch.linalg.norm");
  EXPECT_EQ(call->number, "12");
  EXPECT_EQ(call->kind, EntryKind::kBackward);
  EXPECT_FALSE(call->is_module);
  EXPECT_EQ(call->module_path(), "");

  const auto module = parse_entry_name("Module.blocks.0.fc.Linear.forward.1");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->owner, "Module.blocks.0.fc.Linear");
  EXPECT_EQ(module->number, "1");
  EXPECT_EQ(module->kind, EntryKind::kForward);
  EXPECT_EQ(module->module_path(), "blocks.0.fc");
  EXPECT_EQ(module->module_class(), "Linear");

  const auto gradient = parse_entry_name("Module.fc.Linear.parameters_grad");
  ASSERT_TRUE(gradient);
  EXPECT_EQ(gradient->owner, "Module.fc.Linear");
  EXPECT_EQ(gradient->number, "");
  EXPECT_EQ(gradient->kind, EntryKind::kParametersGrad);

  EXPECT_FALSE(parse_entry_name("Torch.add.0"));
  EXPECT_FALSE(parse_entry_name("forward"));
  EXPECT_FALSE(parse_entry_name("forward.0"));
  EXPECT_FALSE(parse_entry_name(""));
}

TEST(EntryIndex, KeepsTheOrderAndTheLastOfRepeatedKeys) {
  const auto index = entries_of(
      R"("Module.a.Linear.forward.0": {}, "Torch.add.0.forward": 1, "odd": {},
         "Torch.add.0.backward": {}, "Torch.add.0.forward": {"x": 2})",
      R"("task": "statistics", "framework": "pytorch", )");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->task, "statistics");
  std::vector<std::string> names;
  for (const EntrySlice& entry : index->entries) names.emplace_back(entry.name);
  EXPECT_THAT(names, ElementsAre("Module.a.Linear.forward.0", "Torch.add.0.forward",
                                 "Torch.add.0.backward"));
  EXPECT_EQ(index->entries[1].json, R"({"x": 2})");
  EXPECT_THAT(index->odd_keys, ElementsAre("odd"));
  EXPECT_THAT(index->repeated_keys, ElementsAre("Torch.add.0.forward"));
}

TEST(EntryIndex, RefusesWhatIsNotADump) {
  EXPECT_THAT(index_entries(file_of("{"), "dump.json").error().message, HasSubstr("dump.json"));
  EXPECT_THAT(index_entries(file_of("{}"), "dump.json").error().message, HasSubstr("no data"));
  EXPECT_FALSE(entries_of(R"("Torch.add.0.forward": [)"));
}

TEST(EntryReader, NamesItemsByTheirPlace) {
  const ReadEntry read =
      read_of("Torch.f.0.forward",
              R"({"output": [)" + tensor() + R"(, [null]], "input_kwargs": {"bias": )" +
                  tensor(R"(, "data_name": "Torch.f.0.forward.kwargs.bias.pt")") +
                  R"(, "p": {"type": "float", "value": 0.10}}, "input_args": [)" + tensor() +
                  R"(, [{"type": "int", "value": 3}, {"a": null}], [], {}], "unknown": [1]})");
  EXPECT_EQ(read.fault, "");
  EXPECT_THAT(read.names(),
              ElementsAre("Torch.f.0.forward.input.0", "Torch.f.0.forward.input.1.0",
                          "Torch.f.0.forward.input.1.1.a", "Torch.f.0.forward.kwargs.bias",
                          "Torch.f.0.forward.input.p", "Torch.f.0.forward.output.0",
                          "Torch.f.0.forward.output.1.0"));
  EXPECT_EQ(read.entry.items[3].place, "input.bias");
  EXPECT_EQ(read.entry.items[4].value.text, "0.10");
  EXPECT_EQ(read.entry.items[4].value.real, 0.1);
  EXPECT_EQ(read.entry.items[6].kind, ItemKind::kNull);
}

TEST(EntryReader, ReadsTensors) {
  const ReadEntry read =
      read_of("Torch.f.0.backward", R"({"input": [)" + tensor(R"(, "md5": "00ff")") + "]}");
  EXPECT_EQ(read.fault, "");
  ASSERT_EQ(read.entry.items.size(), 1U);
  const Item& item = read.entry.items[0];
  EXPECT_EQ(item.kind, ItemKind::kTensor);
  EXPECT_EQ(item.dtype, "torch.float32");
  EXPECT_THAT(item.shape, ElementsAre(2, 3));
  EXPECT_EQ(item.max.real, 1.5);
  EXPECT_EQ(item.min.real, -INFINITY);
  EXPECT_EQ(item.mean.kind, ItemValue::Kind::kNull);
  EXPECT_TRUE(std::isnan(item.norm.real));
  EXPECT_EQ(item.requires_grad, true);
  EXPECT_EQ(item.md5.text, "00ff");
  EXPECT_EQ(item.data_name, "");
}

TEST(EntryReader, ReadsWhatIsNotATensor) {
  const ReadEntry read = read_of("Torch.f.0.forward", R"({"input_args": [
      {"type": "torch.Size", "value": [2, 3]}, {"type": "slice", "value": [1, null, 2]},
      {"type": "ellipsis", "value": "..."}, {"type": "str", "value": "a\"b"},
      {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "77849d8c"},
      {"class_type": "torch.distributed.P2POp", "tensor": )" +
                                                          tensor() + R"(, "op": "isend", "peer": 1},
      {"type": "bool", "value": true}, 7]})");
  EXPECT_EQ(read.fault, "");
  ASSERT_EQ(read.entry.items.size(), 8U);
  EXPECT_EQ(read.entry.items[0].kind, ItemKind::kSize);
  EXPECT_EQ(read.entry.items[0].value.text, "[2, 3]");
  EXPECT_EQ(read.entry.items[1].value.text, "[1, None, 2]");
  EXPECT_EQ(read.entry.items[2].kind, ItemKind::kEllipsis);
  EXPECT_EQ(read.entry.items[3].value.text, "a\"b");
  EXPECT_EQ(read.entry.items[4].kind, ItemKind::kGroup);
  EXPECT_EQ(read.entry.items[4].value.text, "[0, 1]");
  EXPECT_EQ(read.entry.items[5].kind, ItemKind::kTensor);
  EXPECT_EQ(read.entry.items[5].transfer, "isend");
  EXPECT_EQ(read.entry.items[5].peer, 1);
  EXPECT_EQ(read.entry.items[6].peer, -1);
  EXPECT_EQ(read.entry.items[5].place, "input.5");
  EXPECT_EQ(read.entry.items[6].value.kind, ItemValue::Kind::kBool);
  EXPECT_EQ(read.entry.items[7].value.real, 7);
}

TEST(EntryReader, ReadsModulesAndGradients) {
  const ReadEntry module =
      read_of("Module.fc.Linear.forward.0",
              R"({"input_args": [null], "input_kwargs": {}, "output": [)" + tensor() +
                  R"(], "parameters": {"weight": )" + tensor() + "}}");
  EXPECT_THAT(module.names(), ElementsAre("Module.fc.Linear.forward.0.input.0",
                                          "Module.fc.Linear.forward.0.parameters.weight",
                                          "Module.fc.Linear.forward.0.output.0"));
  const ReadEntry gradients =
      read_of("Module.fc.Linear.parameters_grad.0",
              R"({"bias": [)" + tensor() + R"(], "weight": [)" + tensor() + "," + tensor() + "]}");
  EXPECT_THAT(gradients.names(), ElementsAre("Module.fc.Linear.parameters_grad.0.bias",
                                             "Module.fc.Linear.parameters_grad.0.weight",
                                             "Module.fc.Linear.parameters_grad.0.weight.1"));
  EXPECT_EQ(gradients.entry.items[0].part, ItemPart::kGradient);
}

TEST(EntryReader, RefusesBrokenEntriesAlone) {
  const auto fault = [](const std::string& json) {
    return read_of("Torch.f.0.forward", json).fault;
  };
  EXPECT_THAT(fault("7"), HasSubstr("Torch.f.0.forward: byte"));
  EXPECT_THAT(fault(R"({"output": [{"type": "torch.Tensor", "dtype": "d", "shape": 3}]})"),
              HasSubstr("output[0].shape: found 3, expected a list of extents"));
  EXPECT_THAT(fault(R"({"output": [{"type": "torch.Tensor", "dtype": "d", "shape": [-1]}]})"),
              HasSubstr("expected an extent of at least 0"));
  EXPECT_THAT(fault(R"({"output": [{"type": "t", "requires_grad": 1}]})"),
              HasSubstr("expected true or false"));
  EXPECT_THAT(fault(R"({"output": [], "output": []})"), HasSubstr("duplicate key"));
}

TEST(ConstructJson, KnowsTheModulesAroundACall) {
  const auto index = index_construct(
      file_of(R"({"Torch.add.0.forward": "Module.a.A.forward.0", "Module.a.A.forward.0":
          ["Module.b.B.forward.0", 1], "Module.b.B.forward.0": null, "x": "y", "y": "x"})"),
      "construct.json");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->parent("Torch.add.0.forward"), "Module.a.A.forward.0");
  EXPECT_THAT(index->parents("Torch.add.0.forward"),
              ElementsAre("Module.b.B.forward.0", "Module.a.A.forward.0"));
  EXPECT_THAT(index->parents("Torch.none.0.forward"), IsEmpty());
  EXPECT_LE(index->parents("x").size(), 400U);
  EXPECT_FALSE(index_construct(file_of("[1]"), "construct.json"));
}

}  // namespace
}  // namespace msprobe::dump
