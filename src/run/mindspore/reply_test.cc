// SPDX-License-Identifier: Apache-2.0
// Replies of a runner that is broken, or not ours.
#include "mindspore/reply.h"

#include <random>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace msprobe::mindspore {
namespace {

constexpr std::uint64_t kMemory = 64;

bool is_read(std::string_view text) { return read_reply_text(text, kMemory).has_value(); }

TEST(ReplyText, ValuesAreThoseOfTheMessage) {
  const Result<ReplyText> reply = read_reply_text(
      R"({"result": [{"t": ["float32", [2, 4], 32]}, {"c": [1.0, 2.0]}, null, "x"], "own_ns": 12})",
      kMemory);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->own_nanos, 12U);
  const auto& values = std::get<ReplyList>(reply->result.data);
  ASSERT_EQ(values.size(), 4U);
  const auto& tensor = std::get<ReplyTensor>(values[0].data);
  EXPECT_EQ(tensor.shape, (Shape{2, 4}));
  EXPECT_EQ(tensor.offset, 32U);
  EXPECT_EQ(tensor.bytes, 32U);
  EXPECT_EQ(std::get<std::complex<double>>(values[1].data), std::complex<double>(1, 2));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(values[2].data));
  EXPECT_EQ(read_reply_text(R"({"error": "no"})", kMemory)->error, "no");
  EXPECT_EQ(read_greeting(R"({"ready": "2.7"})")->version, "2.7");
}

TEST(ReplyText, WhatNoRunnerOfOursSendsIsRefused) {
  for (const char* text : {"", "[]", "{}", "nonsense", R"({"result": {"t": ["nothing", [1], 0]}})",
                           R"({"result": {"t": ["object", [1], 0]}})", R"({"result": {"t": [1]}})",
                           R"({"result": {"z": 1}})"}) {
    EXPECT_FALSE(is_read(text)) << text;
  }
  EXPECT_FALSE(is_read(std::string(1'000'000, '[')));
  EXPECT_FALSE(is_read(R"({"result": )" + std::string(200, '[') + std::string(200, ']') + "}"));
}

TEST(ReplyText, TensorsLieInTheSharedMemory) {
  const auto tensor = [](std::string_view place) {
    return fmt::format(R"({{"result": {{"t": [{}]}}}})", place);
  };
  EXPECT_TRUE(is_read(tensor(R"("float32", [16], 0)")));
  EXPECT_FALSE(is_read(tensor(R"("float32", [17], 0)")));
  EXPECT_FALSE(is_read(tensor(R"("float32", [1], 61)")));
  EXPECT_FALSE(is_read(tensor(R"("float32", [1], 18446744073709551615)")));
  EXPECT_FALSE(is_read(tensor(R"("float32", [4611686018427387904, 4], 0)")));
  EXPECT_FALSE(is_read(tensor(R"("float32", [-1], 0)")));
}

// A message of some megabytes could name one large tensor a hundred thousand times.
TEST(ReplyText, TensorsTogetherAreNoMoreThanTheSharedMemory) {
  const std::string half = R"({"t": ["float32", [8], 0]})";
  const auto all = [](const std::string& values) { return R"({"result": [)" + values + "]}"; };
  EXPECT_TRUE(is_read(all(half + "," + half)));
  EXPECT_FALSE(is_read(all(half + "," + half + "," + half)));
}

// A few bytes changed, lost or repeated. fuzz/fuzz_replies.cc does the same for longer.
TEST(ReplyText, DamagedRepliesAreRefusedOrRead) {
  const std::string replies[] = {
      R"({"result": {"t": ["float32", [2, 8], 0]}, "own_ns": 12, "cpu_ns": 3, "size": 64})",
      R"({"result": [{"t": ["int64", [3], 8]}, null, true, 1.5, "x"], "own_ns": 1, "size": 64})",
      R"({"result": [{"c": [1, 2]}, {"f": "inf"}, {"t": ["bfloat16", [], 62]}], "own_ns": 4})",
      R"({"error": "ValueError: not this time"})"};
  constexpr std::string_view kBytes = R"({}[]",:0123456789-.etfbn)";
  std::mt19937 random(7);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = replies[random() % std::size(replies)];
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t place = random() % text.size();
      const std::size_t kind = random() % 4;
      if (kind == 0) text[place] = kBytes[random() % kBytes.size()];
      if (kind == 1) text[place] = static_cast<char>(random() % 256);
      if (kind == 2) text.erase(place, 1 + random() % 4);
      if (kind == 3) text.insert(place, text, place, 1 + random() % 8);
      if (text.empty()) text = "{";
    }
    const Result<ReplyText> reply = read_reply_text(text, kMemory);
    static_cast<void>(read_greeting(text));
    if (!reply) continue;
    ++read;
    if (const auto* tensor = std::get_if<ReplyTensor>(&reply->result.data)) {
      EXPECT_LE(tensor->offset + tensor->bytes, kMemory) << text;
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace msprobe::mindspore
