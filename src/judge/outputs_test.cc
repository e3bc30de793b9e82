// SPDX-License-Identifier: Apache-2.0
#include "judge/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::judge {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Output number(std::int64_t value) { return {PythonValue{value}}; }
Output tensor() { return {Tensor{}}; }
Output list(OutputList items) { return {std::move(items)}; }
Output dict(std::string key, Output value) {
  return {OutputDict{{std::move(key), std::move(value)}}};
}

TEST(PairOutputs, TakesListsApartDepthFirst) {
  const Output bench = list({number(0), list({number(1), number(2)}), dict("p", number(3))});
  const auto pairs = pair_outputs(bench, bench, Profile::kDocumented);
  ASSERT_TRUE(pairs);
  ASSERT_THAT(*pairs, SizeIs(4));
  for (std::int64_t i = 0; i < 4; ++i) {
    const PairedOutput& pair = (*pairs)[static_cast<std::size_t>(i)];
    EXPECT_THAT(pair.problem, IsEmpty());
    EXPECT_EQ(std::get<std::int64_t>(std::get<PythonValue>(pair.bench->data)), i);
  }
}

TEST(PairOutputs, ReferenceDoesNotTakeInnerListsApart) {
  const Output bench = list({number(0), list({number(1)}), dict("p", number(3))});
  const auto pairs = pair_outputs(bench, bench, Profile::kReference);
  ASSERT_TRUE(pairs);
  ASSERT_THAT(*pairs, SizeIs(3));
  EXPECT_THAT((*pairs)[0].problem, IsEmpty());
  EXPECT_EQ((*pairs)[1].problem, "Unexpected output type in compare_core: <class 'list'>");
  EXPECT_EQ((*pairs)[2].problem, "Unexpected output type in compare_core: <class 'list'>");
}

TEST(PairOutputs, MissingDeviceOutputIsAnErrorAndSurplusIsIgnored) {
  const Output one = list({number(0)});
  const Output two = list({number(0), number(1)});
  const auto missing = pair_outputs(two, one, Profile::kDocumented);
  ASSERT_TRUE(missing);
  ASSERT_THAT(*missing, SizeIs(2));
  EXPECT_EQ((*missing)[1].problem, "bench and npu output structure is different.");
  EXPECT_FALSE(pair_outputs(two, one, Profile::kReference));
  EXPECT_THAT(*pair_outputs(one, two, Profile::kDocumented), SizeIs(1));
  EXPECT_THAT(*pair_outputs(one, two, Profile::kReference), SizeIs(1));
}

TEST(PairOutputs, NamesDifferentTypesAndKeys) {
  for (const Profile profile : {Profile::kDocumented, Profile::kReference}) {
    EXPECT_EQ(pair_outputs(number(1), tensor(), profile)->front().problem,
              "bench and npu output type is different.");
    EXPECT_EQ(pair_outputs(dict("p", tensor()), dict("q", tensor()), profile)->front().problem,
              "bench and npu output dict keys are different.");
  }
}

}  // namespace
}  // namespace msprobe::judge
