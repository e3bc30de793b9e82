// SPDX-License-Identifier: Apache-2.0
// Damaged files of one token directory: every tensor the graph text lists is a row with the reason.
#include "torchair/unit_pairing.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"
#include "torchair/op_flow.h"

namespace msprobe::torchair {
namespace {

using testing::Each;
using testing::Field;
using testing::Not;
using testing::SizeIs;

// Container A: Add_2 with an input of two float16 and an output of two float32.
std::string add_file() {
  constexpr std::string_view kHex =
      "49000000000000000a03322e301095c9e5f5c08484031a18080110021a030a010230083a030a010248808880"
      "8984d8042218080210021a030a0102280432030a0102408080808984d80432054164645f32003c00c00000c0"
      "3f000000c0";
  std::string bytes;
  for (std::size_t i = 0; i < kHex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

class Damage : public testing::Test {
 protected:
  Damage() {
    fs::create_directories(root_ / "ge");
    fs::create_directories(root_ / "fx");
  }

  // The rows of a directory that holds one file, or also a sound one of Add_2.
  std::vector<TensorRow> rows(const std::string& name, const std::string& content,
                              const fs::path& beside = {}) {
    fs::remove_all(root_ / "ge");
    fs::create_directories(root_ / "ge");
    if (!beside.empty()) fs::copy_file(beside, root_ / "ge" / "Add.Add_2.44.6.16");
    std::ofstream(root_ / "ge" / name, std::ios::binary) << content;
    ge::Graph graph;
    graph.ops = {{"x", "Data", {}, {""}},
                 {"Add_2", "Add", {{"x", 0, ""}}, {"add-aten.add.Tensor.OUTPUT.0"}},
                 {"a/b.1", "Add", {{"x", 0, ""}}, {"b-aten.add.Tensor.OUTPUT.0"}}};
    const UnitPair unit{0, 1, 0, std::nullopt, root_ / "ge", root_ / "fx"};
    std::vector<TensorRow> all;
    DumpFiles files;
    for (const OpRows& op : pair_unit(unit, true, GraphIndex(graph), {}, 1, files).ops) {
      all.insert(all.end(), op.rows.begin(), op.rows.end());
    }
    return all;
  }

  ScratchDirectory scratch_;
  const fs::path root_ = scratch_.path();
};

const auto kUnreadableWithReason = testing::AllOf(Field(&TensorRow::outcome, Outcome::kSkipped),
                                                  Field(&TensorRow::reason, Not("")));

TEST_F(Damage, AFileCutAtAnyByteIsOneRowForEveryTensorOfTheGraph) {
  const std::string whole = add_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto found = rows("Add.Add_2.44.6.1706596912161941", whole.substr(0, size));
    EXPECT_THAT(found, SizeIs(2)) << size;
    EXPECT_THAT(found, Each(kUnreadableWithReason)) << size;
  }
}

TEST_F(Damage, AFileTheGraphDoesNotKnowIsOneRow) {
  const std::string whole = add_file();
  for (const auto* name : {"TransData.trans_TransData_3.44.6.17", "Cast.trans_Cast_1.44.6.17",
                           "MemSet.atomic_1.44.6.17", "Other.other.44.6.17"}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto found = rows(name, whole.substr(0, size));
      EXPECT_THAT(found, SizeIs(1)) << name << size;
      EXPECT_THAT(found, Each(kUnreadableWithReason)) << name << size;
    }
  }
}

TEST_F(Damage, AChangedByteNeverLosesATensor) {
  const std::string whole = add_file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x5a, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      EXPECT_FALSE(rows("Add.Add_2.44.6.1706596912161941", changed).empty()) << at;
      // What GE inserted is not called without counterpart because it cannot be read.
      for (const TensorRow& row : rows("TransData.trans_TransData_3.44.6.17", changed)) {
        EXPECT_EQ(row.reason.find("; "), std::string::npos) << at << row.reason;
      }
    }
  }
}

TEST_F(Damage, WhatNamesAnOperatorThatIsThereItselfIsNotIt) {
  const auto alone = rows("AddV2.Add_2_to_v2.44.6.17", "");
  EXPECT_THAT(alone, SizeIs(2));  // renamed: the tensors of Add_2
  std::ofstream(root_ / "beside", std::ios::binary) << add_file();
  const auto both = rows("AddV2.Add_2_to_v2.44.6.17", "", root_ / "beside");
  EXPECT_THAT(both, SizeIs(2 + 1));
}

TEST_F(Damage, ALostNameIsThatOfTheGraph) {
  EXPECT_THAT(rows("Add.a_b_1.44.6.17", ""), Each(Field(&TensorRow::op, "a/b.1")));
  EXPECT_THAT(rows("Add.a_b_1Add_2.44.6.17", ""), Each(Field(&TensorRow::op, "a/b.1Add_2")));
  EXPECT_THAT(rows("Add.a_b_2.44.6.17", ""), Each(Field(&TensorRow::op, "a_b_2")));
}

TEST_F(Damage, ContentThatNeverWasADumpIsNoDamage) {
  const std::string garbage = "this is a text that somebody left here";
  const auto inserted = rows("TransData.trans_TransData_3.44.6.17", garbage);
  EXPECT_THAT(inserted, SizeIs(2));
  EXPECT_THAT(inserted, Each(Field(&TensorRow::outcome, Outcome::kUnmatched)));
  EXPECT_THAT(rows("Add.Add_2.44.6.17", garbage), Each(kUnreadableWithReason));
}

// x -> a -> hidden -> b; c is a and b fused: what was not dumped is passed through.
TEST(OpFlow, EdgesPassThroughWhatWasNotDumped) {
  ge::Graph text;
  text.ops = {{"x", "Data", {}, {}},
              {"a", "Add", {{"x", 0, ""}}, {}},
              {"hidden", "Cast", {{"a", 0, ""}}, {}},
              {"b", "Mul", {{"hidden", 0, ""}, {"a", 0, ""}}, {}},
              {"c", "Sub", {{"b", 0, ""}, {"x", 0, ""}}, {}}};
  const GraphIndex graph(text);
  Members a, b, c;
  a.ops = {1};
  b.ops = {3};
  c.ops = {4};
  const Members made_by_ge;
  const std::vector<const Members*> ops{&a, &made_by_ge, &b, &c};
  const std::vector<std::vector<std::uint32_t>> wanted{{}, {}, {0}, {2}};
  EXPECT_EQ(sources_of(ops, graph), wanted);
}

}  // namespace
}  // namespace msprobe::torchair
