// SPDX-License-Identifier: Apache-2.0
#include "report/card_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::report {
namespace {

using card::Confidence;
using testing::HasSubstr;
using testing::Not;

card::Card small_card() {
  card::Card card;
  card.device = "sim:0";
  card.lines = {{"products", "float32", "block", "8", Confidence::kHigh, "terms 0 and 1 meet"},
                {"products", "float32", "order", "", Confidence::kNone, "a <b> & \"c\""},
                {"functions", "exp float16", "largest error", "0.5 ulp", Confidence::kMedium, ""}};
  card.curves = {{"exp float16", {0.25, -1, 0.5, 8}}, {"exp float32", {1, 2}}};
  return card;
}

TEST(CardPage, HasEveryClaimWithItsEvidence) {
  const std::string page = card_page(small_card());
  EXPECT_THAT(page, HasSubstr("<summary class=\"sure-high\">8</summary><p>terms 0 and 1 meet</p>"));
  EXPECT_THAT(page, HasSubstr("<summary class=\"sure-none\">cannot tell</summary>"));
  EXPECT_THAT(page, HasSubstr("<summary class=\"sure-medium\">0.5 ulp (medium)</summary>"));
  EXPECT_THAT(page, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;")) << "a card is text, not HTML";
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(CardPage, DrawsACurveForEachFunctionOf16Bits) {
  const std::string page = card_page(small_card());
  EXPECT_THAT(page, HasSubstr("<figcaption>exp float16</figcaption>"));
  EXPECT_THAT(page, Not(HasSubstr("<figcaption>exp float32</figcaption>"))) << "not all of it";
  // 8 ulp, the largest, at the top; a gap where nothing is finite.
  EXPECT_THAT(page, HasSubstr("d=\"M44.0 88.0H141.5M239.0 72.0H336.5L336.5 8.0H434.0\""));
}

TEST(CardPage, TakesAnEmptyCard) { EXPECT_THAT(card_page({}), HasSubstr("</html>")); }

}  // namespace
}  // namespace msprobe::report
