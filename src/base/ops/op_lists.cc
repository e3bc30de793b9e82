// SPDX-License-Identifier: Apache-2.0
#include "ops/op_lists.h"

#include "ops/op.h"

namespace msprobe::ops {
namespace {

struct Section {
  std::string_view title;
  std::string_view comment;
  Groups group;
};

constexpr std::string_view kPyTorchTop =
    "# The APIs that the collector records, by the module they belong to. A line that is removed "
    "(or made a comment) stops the recording of\n"
    "# that API; a name that is added is recorded from then on. Names that the installed PyTorch "
    "does not have are passed over.\n";
constexpr Section kPyTorch[] = {
    {"functional", "", kFunctional},
    {"tensor", "", kTensor},
    {"torch", "", kTorch},
    {"_VF", "", kVf},
    {"torch_npu", "", kTorchNpu},
    {"distributed", "", kDistributed},
    {"npu_distributed", "", kNpuDistributed},
};

constexpr std::string_view kPyTorchEnd =
    "\n# What no call of the groups above covers: functions and operators of PyTorch (Aten), and "
    "those "
    "that other packages and torch.library\n"
    "# register (Custom). Without a line nothing of its kind is recorded.\n"
    "aten:\n  - all\n\ncustom:\n  - all\n";

constexpr std::string_view kMindSporeTop =
    "# The APIs that msprobe.mindspore records. A line that is removed stops recording, a name "
    "that is added is recorded; names that the\n"
    "# installed MindSpore does not have are ignored. The groups *_more count only with "
    "\"wide_list\": true in config.json.\n";
constexpr Section kMindSpore[] = {
    {"mint", "mindspore.mint: entries Mint.*; the list of the public tool", kMint},
    {"mint_functional",
     "mindspore.mint.nn.functional: entries MintFunctional.*; the list of the public tool",
     kMintFunctional},
    {"tensor", "mindspore.Tensor: entries Tensor.*", kMsTensor},
    {"ops", "mindspore.ops: entries Functional.*", kMsOps},
    {"mint_more", "further functions of mindspore.mint", kMintMore},
    {"mint_functional_more", "further functions of mindspore.mint.nn.functional",
     kMintFunctionalMore},
    {"tensor_more", "further methods that the check knows", kMsTensorMore},
};

constexpr std::string_view kRiskTop =
    "# What config.json's risk_level leaves out: FOCUS the names of `low`; CORE every name but "
    "those of `core`, of torch_npu and of\n"
    "# communication.\n";

template <class Has>
void add_names(std::string& text, std::string_view indent, Has has) {
  for (const Op& op : all()) {
    if (has(op)) text.append(indent).append("- ").append(op.name).append("\n");
  }
}

std::string sections(std::string_view top, std::span<const Section> given,
                     std::string_view indent) {
  std::string text(top);
  for (const Section& section : given) {
    text += '\n';
    if (!section.comment.empty()) text.append("# ").append(section.comment).append("\n");
    text.append(section.title).append(":\n");
    add_names(text, indent, [&](const Op& op) { return (op.groups & section.group) != 0; });
  }
  return text;
}

std::string pytorch_list() { return sections(kPyTorchTop, kPyTorch, "  ").append(kPyTorchEnd); }

std::string mindspore_list() { return sections(kMindSporeTop, kMindSpore, ""); }

std::string risk_levels() {
  std::string text(kRiskTop);
  text += "\nlow:\n";
  add_names(text, "  ", [](const Op& op) { return op.traits.risk == Risk::kLow; });
  text += "\ncore:\n";
  add_names(text, "  ", [](const Op& op) { return op.traits.risk == Risk::kCore; });
  return text;
}

constexpr OpList kLists[] = {
    {"mindspore/hook_module/support_wrap_ops.yaml", &mindspore_list},
    {"pytorch/hook_module/risk_levels.yaml", &risk_levels},
    {"pytorch/hook_module/support_wrap_ops.yaml", &pytorch_list},
};

}  // namespace

std::span<const OpList> op_lists() { return kLists; }

}  // namespace msprobe::ops
