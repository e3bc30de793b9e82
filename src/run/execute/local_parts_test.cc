// SPDX-License-Identifier: Apache-2.0
#include "execute/local_parts.h"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "execute/overload.h"
#include "libtorch/operator_tags.h"

namespace msprobe::execute {
namespace {

const std::string kRows = R"([{"Shard":{"dim":0}}])";
const std::string kColumns = R"([{"Shard":{"dim":1}}])";
const std::string kNotAddedUp = R"([{"Partial":{"reduce_op":"sum"}}])";

dump::TensorRecord whole(Shape shape) {
  dump::TensorRecord tensor;
  tensor.shape = std::move(shape);
  return tensor;
}

dump::TensorRecord part(Shape shape, std::string placements = kRows) {
  dump::TensorRecord tensor = whole(std::move(shape));
  tensor.is_whole = false;
  tensor.placements = std::move(placements);
  return tensor;
}

bool needs(const std::string& full_name, dump::List args, dump::List output,
           std::optional<dump::BackwardRecord> backward = {}) {
  const dump::CallRecord record{
      full_name, {std::move(args), {}, std::move(output), {}}, std::move(backward)};
  return needs_other_parts(record, *parse_call_name(full_name));
}

// PyTorch before 2.1 does not say which operators are so.
class PartsOfDTensors : public testing::Test {
 protected:
  void SetUp() override {
    const OverloadSet sqrt = find_overloads("sqrt", OverloadStyle::kOperator);
    if (!libtorch::is_pointwise(sqrt.overloads.front().op)) {
      GTEST_SKIP() << "this PyTorch has no tag for pointwise operators";
    }
  }
};

TEST_F(PartsOfDTensors, AreEnoughForElementsOfTheirOwn) {
  EXPECT_FALSE(needs("Tensor.sqrt.0", {{part({4, 8})}}, {{part({4, 8})}}));
  EXPECT_FALSE(needs("Tensor.lerp_.0", {{part({4, 8})}, {part({4, 8})}, {0.1}}, {{part({4, 8})}}));
  EXPECT_FALSE(needs("Tensor.__truediv__.0", {{part({4})}, {part({4})}}, {{part({4})}}));
  EXPECT_FALSE(needs("Tensor.mul.0", {{part({4})}, {whole({})}}, {{part({4})}})) << "a number";
  EXPECT_FALSE(needs("Torch.zeros_like.0", {{part({4})}}, {{part({4})}}));
  EXPECT_FALSE(needs("Functional.gelu.0", {{part({4}, kColumns)}}, {{part({4}, kColumns)}},
                     dump::BackwardRecord{{{part({4}, kColumns)}}, {{part({4}, kColumns)}}}));
}

TEST_F(PartsOfDTensors, AreEnoughInLists) {
  const dump::List some = {{part({4, 8})}, {part({3})}};
  EXPECT_FALSE(needs("Aten._foreach_add.0", {{some}, {some}}, {{some}}));
  EXPECT_TRUE(
      needs("Aten._foreach_add.0", {{some}, {dump::List{{part({3})}, {part({4, 8})}}}}, {{some}}));
  EXPECT_TRUE(needs("Aten._foreach_norm.0", {{some}}, {{some}}));
}

TEST_F(PartsOfDTensors, AreNotEnoughWhereOtherProcessesHoldTerms) {
  const dump::Value square{part({4, 4})};
  EXPECT_TRUE(needs("Torch.matmul.0", {square, square}, {square}));
  EXPECT_TRUE(needs("Torch.sum.0", {square}, {{part({}, kNotAddedUp)}}));
}

TEST_F(PartsOfDTensors, AreNotEnoughWhereTheyAreCutInAnotherWay) {
  const dump::Value rows{part({4, 4})};
  EXPECT_TRUE(needs("Tensor.mul.0", {rows, {part({4, 4}, kColumns)}}, {rows}));
  EXPECT_TRUE(needs("Tensor.mul.0", {rows, {part({4})}}, {rows})) << "another dimension";
  EXPECT_TRUE(needs("Tensor.mul.0", {rows, {whole({4, 4})}}, {rows})) << "a part of it was used";
  EXPECT_TRUE(needs("Tensor.sqrt.0", {{part({4}, kNotAddedUp)}}, {{part({4}, kNotAddedUp)}}));
  EXPECT_TRUE(needs("Tensor.sqrt.0", {{part({4}, "")}}, {{part({4}, "")}})) << "not recorded";
  EXPECT_TRUE(needs("Tensor.sqrt.0", {rows}, {rows},
                    dump::BackwardRecord{{rows}, {{part({4, 4}, kColumns)}}}));
}

TEST(WholeTensors, NeedNothingElse) {
  EXPECT_FALSE(needs("Torch.matmul.0", {{whole({4, 4})}, {whole({4, 4})}}, {{whole({4, 4})}}));
}

}  // namespace
}  // namespace msprobe::execute
