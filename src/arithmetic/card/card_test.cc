// SPDX-License-Identifier: Apache-2.0
#include "card/card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "card/card_json.h"

namespace msprobe::card {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Line line(std::string field, std::string value) {
  const auto confidence = value.empty() ? Confidence::kNone : Confidence::kHigh;
  return {"products", "float32", std::move(field), std::move(value), confidence, "1 + 1 = \"2\"\n"};
}

Card sample() {
  return {
      "sim:0", "2.6", "0.1", {line("block", "8"), line("order", "")}, {{"exp float16", {0.5, -1}}}};
}

TEST(Card, ComesBackFromItsFile) {
  const auto back = parse_card(to_json(sample()), "card.json");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(find(*back, "products", "float32", "block")->value, "8");
  EXPECT_EQ(find(*back, "products", "float16", "block"), nullptr);
}

TEST(Card, ChangesAreValuesThatDiffer) {
  Card after = sample();
  EXPECT_TRUE(changes(sample(), after).empty());
  after.lines[0].evidence = "other";
  EXPECT_TRUE(changes(sample(), after).empty());
  after.lines = {line("order", "in order"), line("bits", "24")};
  EXPECT_THAT(changes(sample(), after),
              ElementsAre(Change{"products", "float32", "order", "cannot tell", "in order"},
                          Change{"products", "float32", "bits", "not on the card", "24"},
                          Change{"products", "float32", "block", "8", "not on the card"}));
}

std::string with_lines(const std::string& lines) {
  return R"({"schema":"msprobe device card","version":1,"device":"","torch":"","msprobe":"","lines":)" +
         lines + R"(,"curves":[]})";
}

TEST(Card, AFileThatIsNoneIsRefused) {
  const std::string good =
      R"({"section":"a","subject":"b","field":"c","value":"d","confidence":"high","evidence":""})";
  ASSERT_TRUE(parse_card(with_lines("[" + good + "]"), "x"));
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "not JSON"},
           {"[1]", "not a device card"},
           {R"({"schema":"other"})", "not a device card"},
           {R"({"schema":"msprobe device card","version":2})", "another version"},
           {R"({"schema":"msprobe device card","version":1})", "'device' must be a string"},
           {with_lines("{}"), "'lines' must be a list"},
           {with_lines("[3]"), "lines[0]: must be an object"},
           {with_lines("[" + good + "," + good + "]"), "duplicate line a / b / c"},
           {with_lines(R"([{"section":"a","subject":"b","field":"c","value":null,)"
                       R"("confidence":"high","evidence":""}])"),
            "belong together"},
           {with_lines(R"([{"section":"a","subject":"b","field":"c","value":"1",)"
                       R"("confidence":"sure","evidence":""}])"),
            "unknown confidence 'sure'"},
           {with_lines(R"([{"section":7}])"), "'section' must be a string"}}) {
    const auto read = parse_card(text, "card.json");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(part)) << text;
  }
}

}  // namespace
}  // namespace msprobe::card
