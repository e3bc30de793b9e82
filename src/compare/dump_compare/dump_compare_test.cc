// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump_compare/compare_dumps.h"
#include "dump_compare/dumps_for_test.h"
#include "dump_compare/inputs.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ItemCell real(double number) { return {ItemCell::Kind::kReal, number, {}}; }
ItemCell text(std::string_view words) { return {ItemCell::Kind::kText, 0, words}; }
ItemCell integer(std::string_view digits) {
  return {ItemCell::Kind::kInteger, std::stod(std::string(digits)), digits};
}

std::string diff(const ItemCell& target, const ItemCell& golden) {
  std::string out;
  const Difference difference = difference_of(target, golden);
  append_difference(out, difference);
  out += ' ';
  append_relative(out, difference);
  return out;
}

TEST(Differences, FollowTheTable) {
  EXPECT_EQ(diff(real(3), real(2)), "1.0 50.0%");
  EXPECT_EQ(diff(real(-1), real(2)), "-3.0 150.0%");
  EXPECT_EQ(diff(real(1), real(0)), "1.0 inf");
  EXPECT_EQ(diff(real(0.0), real(-0.0)), "0 0");
  EXPECT_EQ(diff(real(NAN), real(NAN)), "0 0");
  EXPECT_EQ(diff(real(NAN), real(1)), "Nan Nan");
  EXPECT_EQ(diff(real(INFINITY), real(1)), "inf inf");
  EXPECT_EQ(diff(real(1), real(INFINITY)), "-inf -inf");
  EXPECT_EQ(diff(real(-INFINITY), real(INFINITY)), "-inf -inf");
  EXPECT_EQ(diff(text("None"), text("None")), "0 0");
  EXPECT_EQ(diff(text("True"), text("False")), "Diff Diff");
  EXPECT_EQ(diff(text("None"), real(1)), "Diff Diff");
  EXPECT_EQ(diff(text("npu:0"), text("cuda:0")), "N/A N/A");
  EXPECT_EQ(diff(ItemCell{}, real(1)), "N/A N/A");
  EXPECT_EQ(diff(integer("9223372036854775807"), integer("9223372036854775805")).substr(0, 3),
            "2.0");
}

TEST(Cells, MappingOfCells) {
  const CellMapping mapping({{"trunk.Conv2d", "stem.Convolution"}, {"a.", "b."}});
  EXPECT_EQ(mapping.entry("Cell.trunk.Conv2d.forward.0"), "Module.stem.Convolution.forward.0");
  EXPECT_EQ(mapping.entry("Module.x.a.LSTMCell.backward.1"), "Module.x.b.LSTMCell.backward.1");
  EXPECT_EQ(mapping.entry("Torch.a.0.forward"), "Torch.a.0.forward");
}

TEST_F(InScratch, ErrorsThatACallMakesAreFound) {
  DumpCompareOptions options;
  options.target = dump("t.json", call("Torch.f.0.forward", tensor(1), tensor(3)) + "," +
                                      call("Torch.g.0.forward", tensor(3), tensor(6)));
  options.golden = dump("g.json", call("Torch.f.0.forward", tensor(1), tensor(1)) + "," +
                                      call("Torch.g.0.forward", tensor(1), tensor(2)));
  EXPECT_THAT(compared(options).rows,
              ElementsAre("Torch.f.0.forward.input.0 Torch.f.0.forward.input.0 pass",
                          "Torch.f.0.forward.output.0 Torch.f.0.forward.output.0 error",
                          "Torch.g.0.forward.input.0 Torch.g.0.forward.input.0 pass",
                          "Torch.g.0.forward.output.0 Torch.g.0.forward.output.0 pass"));
}

TEST_F(InScratch, WhatOneSideLacksIsListed) {
  DumpCompareOptions options;
  options.target = dump("t.json", call("Torch.a.0.forward", tensor(1), tensor(1)) + "," +
                                      call("Torch.f.0.forward", tensor(1), tensor(1)));
  options.golden =
      dump("g.json", call("Torch.f.0.forward", tensor(1) + "," + tensor(2), tensor(1)) + "," +
                         call("Torch.z.0.forward", "null", "null"));
  const Outcome outcome = compared(options);
  EXPECT_THAT(
      outcome.rows,
      ElementsAre("Torch.a.0.forward.input.0 - unmatched", "Torch.a.0.forward.output.0 - unmatched",
                  "Torch.f.0.forward.input.0 Torch.f.0.forward.input.0 pass",
                  "Torch.f.0.forward.output.0 Torch.f.0.forward.output.0 pass",
                  "- Torch.f.0.forward.input.1 unmatched", "- Torch.z.0.forward.input.0 unmatched",
                  "- Torch.z.0.forward.output.0 unmatched"));
  EXPECT_EQ(outcome.totals.golden_only, 3U);
  EXPECT_EQ(outcome.totals.compared(), 2U);
}

TEST_F(InScratch, BackwardCallsPairByNumberThenByOrder) {
  const auto backward = [](int number, double norm) {
    return call("Torch.f." + std::to_string(number) + ".backward", "null", tensor(norm));
  };
  DumpCompareOptions options;
  options.target = dump("t.json", backward(5, 2) + "," + backward(4, 1) + "," + backward(0, 3));
  options.golden = dump("g.json", backward(2, 2) + "," + backward(1, 1) + "," + backward(0, 3));
  EXPECT_THAT(compared(options).rows,
              ::testing::Contains("Torch.f.4.backward.output.0 Torch.f.1.backward.output.0 pass"));
  // One more on a side: nothing says which one it is.
  options.golden = dump("h.json", backward(2, 2) + "," + backward(0, 3));
  EXPECT_THAT(compared(options).rows,
              ::testing::Contains("Torch.f.4.backward.output.0 - unmatched"));
}

TEST_F(InScratch, OtherDtypesAreErrorsWithBothSidesShown) {
  DumpCompareOptions options;
  options.target = dump("t.json", call("Torch.f.0.forward", tensor(1, "torch.int32"), "null"));
  options.golden = dump("g.json", call("Torch.f.0.forward", tensor(1, "torch.int64"), "null"));
  EXPECT_THAT(compared(options).rows,
              ::testing::Contains("Torch.f.0.forward.input.0 Torch.f.0.forward.input.0 error"));
}

TEST_F(InScratch, WhatCannotBeComparedIsRefused) {
  DumpCompareOptions options;
  options.target = put("t.json", R"({"task": "structure", "data": {"Torch.f.0.forward": {}}})");
  options.golden = dump("g.json", call("Torch.f.0.forward", "null", "null"));
  EXPECT_THAT(compared(options).fault, HasSubstr("structure"));
  options.target = put("t.json", R"({"task": "statistics", "data": {}})");
  EXPECT_THAT(compared(options).fault, HasSubstr("no recorded calls"));
  options.target = put("t.json", R"({"task": "tensor", "data": {"Torch.f.0.forward": {}}})");
  EXPECT_THAT(compared(options).fault, HasSubstr("different tasks"));
  options.target = put("t.json", "{");
  EXPECT_THAT(compared(options).fault, HasSubstr("t.json"));
}

TEST_F(InScratch, RanksAndStepsPairByNumber) {
  for (const char* name : {"t/step0/rank0", "t/step0/rank2", "t/step1/rank0", "g/step0/rank0",
                           "g/step1/rank0", "g/step1/rank1"}) {
    dump(fs::path(name) / "dump.json", "");
  }
  const auto found = find_dumps(directory_ / "t", directory_ / "g");
  ASSERT_TRUE(found) << found.error().message;
  std::vector<std::string> suffixes;
  for (const DumpPair& pair : found->pairs) suffixes.push_back(pair.suffix);
  EXPECT_THAT(suffixes, ElementsAre("_step0_rank0", "_step1_rank0"));
  EXPECT_EQ(found->left_out.size(), 2U);
  EXPECT_FALSE(find_dumps(directory_ / "t/step0", directory_ / "g/step1/rank1"));
  EXPECT_FALSE(find_dumps(directory_ / "t", directory_ / "g/step0/rank0/dump.json"));
  EXPECT_TRUE(find_dumps(directory_ / "t/step0/rank0", directory_ / "g/step1/rank1"));
}

}  // namespace
}  // namespace msprobe::dump_compare
