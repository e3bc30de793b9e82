// SPDX-License-Identifier: Apache-2.0
#include "report/error_maps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

constexpr std::string_view kMap =
    R"({"shape":[2,2],"plane":true,"rows":2,"columns":2,"cells":"00L0","counts":[3,0,0,0,0,1],)"
    R"("worst":[[2,"nan",1,"inf"]]})";

// As journal/map_lines.h writes it.
std::string map_line(std::string_view row, std::string_view map) {
  return fmt::format("{{\"row\":\"{}\",{}\n", row, map.substr(1));
}

TEST(ErrorMaps, RowsGetTheirMaps) {
  const ScratchDirectory scratch;
  ReportRun run;
  run.calls.emplace_back().name = "Torch.mm.0";
  run.calls.back().row_count = 2;
  run.rows.resize(2);
  run.rows[0].part = "forward.output.0";
  run.rows[1].part = "backward.output.0";
  const std::string line = map_line("Torch.mm.0.backward.output.0", kMap);
  const auto path = scratch.write(
      "accuracy_checking_maps_1.jsonl",
      line + map_line("Torch.other.0.forward.output.0", kMap) + "not json\n" + line.substr(0, 40));
  const Result<std::size_t> left_out = read_error_maps(run, path);
  ASSERT_TRUE(left_out.has_value()) << left_out.error().message;
  EXPECT_EQ(*left_out, 3U);
  EXPECT_EQ(run.rows[0].error_map, "");
  EXPECT_EQ(run.rows[1].error_map + "\n", line);
  EXPECT_FALSE(read_error_maps(run, scratch.path() / "nothing.jsonl").has_value());
}

TEST(ErrorMaps, WhatDoesNotHoldTogetherIsNoLine) {
  const std::string line = map_line("Torch.mm.0.forward.output.0", kMap);
  EXPECT_EQ(row_of_map_line(line), "Torch.mm.0.forward.output.0");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string other = line;
    return other.replace(other.find(from), from.size(), to);
  };
  EXPECT_FALSE(row_of_map_line(with("\"cells\":\"00L0\"", "\"cells\":\"00L\"")));
  EXPECT_FALSE(row_of_map_line(with("\"cells\":\"00L0\"", "\"cells\":\"00<0\"")));
  EXPECT_FALSE(row_of_map_line(with("\"rows\":2", "\"rows\":-2")));
  EXPECT_FALSE(row_of_map_line(with("\"rows\":2", "\"rows\":4611686018427387904")));
  EXPECT_FALSE(row_of_map_line(with("\"nan\"", "\"<b>\"")));
  EXPECT_FALSE(row_of_map_line(with("\"counts\":[3", "\"counts\":[\"3\"")));
  EXPECT_FALSE(row_of_map_line(with("\"plane\":true", "\"plane\":1")));
  EXPECT_FALSE(row_of_map_line(""));
}

TEST(ErrorMaps, TheFileIsFoundByTheNameOfTheDetails) {
  EXPECT_EQ(map_path("out/accuracy_checking_details_1.csv"), "out/accuracy_checking_maps_1.jsonl");
  EXPECT_EQ(map_path("mine.csv"), "mine_maps.jsonl");
}

}  // namespace
}  // namespace msprobe::report
