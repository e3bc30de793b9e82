// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/mindspore_names.h"
#include "ops/op_lists.h"

namespace msprobe::ops {
namespace {

auto size_of(Groups group) {
  return std::ranges::count_if(all(), [&](const Op& op) { return (op.groups & group) != 0; });
}

TEST(OpTable, GroupsHoldAtLeastTheDocumentedNames) {
  EXPECT_GE(size_of(kFunctional), 126);
  EXPECT_GE(size_of(kTensor), 491);
  EXPECT_GE(size_of(kTorch), 506);
  EXPECT_GE(size_of(kVf), 1);
  EXPECT_GE(size_of(kTorchNpu), 235);
  EXPECT_GE(size_of(kAten), 723);
  EXPECT_GE(size_of(kDistributed), 18);
  EXPECT_GE(size_of(kNpuDistributed), 2);
  EXPECT_GE(size_of(kMindSpeed), 17);
}

TEST(OpTable, FindsEveryRowAndNothingElse) {
  for (const Op& op : all()) EXPECT_EQ(find(op.name), &op) << op.name;
  EXPECT_EQ(find(""), nullptr);
  EXPECT_EQ(find("Conv2d"), nullptr);
  EXPECT_EQ(find("zzz"), nullptr);
}

TEST(OpTable, ARowSaysAllThatIsKnown) {
  const Traits conv = traits_of("conv2d");
  EXPECT_EQ(conv.standard, Standard::kDual1000);
  EXPECT_EQ(conv.sums, Sums::kConvolution);
  EXPECT_EQ(conv.inputs, InputRule::kHf32);
  EXPECT_EQ(conv.risk, Risk::kCore);
  EXPECT_TRUE(conv.autocast);
  EXPECT_TRUE(is_product(conv));
  EXPECT_EQ(traits_of("__truediv__").aten, "div");
  EXPECT_TRUE(traits_of("npu_fusion_attention").first_output_only);
}

TEST(OpTable, OnlyAttentionIsBenchedInFloat64) {
  std::vector<std::string_view> found;
  for (const Op& op : all()) {
    if (op.traits.raise == Raise::kEvenToFloat64) found.push_back(op.name);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre(
                         "npu_fusion_attention", "npu_fusion_attention_grad",
                         "npu_fusion_attention_v2", "npu_sparse_flash_attention"));
}

TEST(OpTable, NamesWithoutARowAreTakenForTheirFamily) {
  EXPECT_EQ(traits_of("my_cross_entropy").sums, Sums::kAll);
  EXPECT_TRUE(traits_of("my_matmul").heavy);
  EXPECT_TRUE(is_product(traits_of("linalg.my_solver")));
  EXPECT_EQ(traits_of("my_dropout").drops, Drops::kPart);
  EXPECT_EQ(traits_of("my_alpha_dropout").drops, Drops::kScaled);
  EXPECT_EQ(traits_of("my_own").standard, Standard::kBenchmark);
  EXPECT_FALSE(traits_of("my_own").exact);
}

TEST(OpTable, OtherSpellingsNameAnOperationThatIsNoneOfThem) {
  for (const Op& op : all()) {
    const Op* const same = find(op.traits.operation);
    EXPECT_TRUE(same == nullptr || same->traits.operation.empty() || same == &op ||
                same->traits.operation == op.traits.operation)
        << op.name;
  }
}

TEST(OpTable, ListsMayNameWhatTheCollectorsRecord) {
  for (const auto* name :
       {"conv2d", "linalg.norm", "npu_swiglu", "view", "rms_norm", "linear_cross_entropy",
        "__getitem__", "__invert__", "contiguous", "zeros", "ones", "zeros_like", "gru",
        "_pack_padded_sequence", "lstm_cell", "flash_attention_score"}) {
    EXPECT_TRUE(may_be_listed(name)) << name;
  }
  for (const auto* name : {"all_reduce", "Conv2d", "", "gelu_backward"}) {
    EXPECT_FALSE(may_be_listed(name)) << name;
  }
}

TEST(OpTable, TheCollectorsListsAreCurrent) {
  for (const OpList& list : op_lists()) {
    const std::string path = std::string(MSPROBE_SOURCE_DIR "/python/msprobe/").append(list.path);
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(text == list.text()) << path << ": run make_op_lists python/msprobe";
  }
}

TEST(MindSporeNames, AreThoseOfPyTorch) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(torch_names_of("MintFunctional.dense").front(), "Functional.linear");
  EXPECT_EQ(torch_names_of("Mint.add"),
            (Names{"Torch.add", "Functional.add", "Tensor.add", "Aten.add"}));
  EXPECT_EQ(torch_names_of("MintDistributed.all_reduce"), Names{"Distributed.all_reduce"});
  EXPECT_EQ(torch_names_of("Functional.flash_attention_score").front(), "NPU.npu_fusion_attention");
  EXPECT_EQ(torch_names_of("Mint.add_ex")[4], "Torch.add");
  EXPECT_EQ(torch_names_of("Mint.special.erfc").back(), "Aten.special_erfc");
  EXPECT_TRUE(torch_names_of("Primitive.matmul.MatMul").empty());
}

}  // namespace
}  // namespace msprobe::ops
