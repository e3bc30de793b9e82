// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision as the CPU does it: of the operators that it casts the inputs of, some
// get the lower precision, some the widest of their inputs, all others float32.
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "libtorch/aten.h"

namespace msprobe::sim {
namespace {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
constexpr auto kLower = std::to_array<std::string_view>({"aten::_addmm_activation",
                                                         "aten::_convolution",
                                                         "aten::_native_multi_head_attention",
                                                         "aten::addbmm",
                                                         "aten::addmm",
                                                         "aten::baddbmm",
                                                         "aten::bmm",
                                                         "aten::conv1d",
                                                         "aten::conv2d",
                                                         "aten::conv3d",
                                                         "aten::conv_tbc",
                                                         "aten::conv_transpose1d",
                                                         "aten::conv_transpose2d",
                                                         "aten::conv_transpose3d",
                                                         "aten::linalg_vecdot",
                                                         "aten::linear",
                                                         "aten::matmul",
                                                         "aten::mkldnn_rnn_layer",
                                                         "aten::mm",
                                                         "aten::prelu",
                                                         "aten::scaled_dot_product_attention"});
constexpr auto kWidest =
    std::to_array<std::string_view>({"aten::cat", "aten::index_copy", "aten::stack"});

template <class Names>
bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

template <class Use>
void for_each_tensor(std::span<c10::IValue> arguments, const Use& use) {
  for (c10::IValue& value : arguments) {
    if (value.isTensor()) {
      value = use(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(use(tensor));
      value = list;
    }
  }
}

void run_cast(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
              torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(c10::DispatchKey::AutocastPrivateUse1);
  const std::span arguments = std::span(*stack).last(op.schema().arguments().size());
  const std::string& name = op.schema().name();
  const bool widest = contains(kWidest, name);
  at::ScalarType type =
      widest || contains(kLower, name) ? at::autocast::get_autocast_dtype(kDevice) : at::kFloat;
  if (widest) {
    for_each_tensor(arguments, [&](const at::Tensor& tensor) {
      type = at::autocast::prioritize(type, tensor, kDevice);
      return tensor;
    });
  }
  for_each_tensor(arguments, [&](const at::Tensor& tensor) {
    return at::autocast::cached_cast(type, tensor, kDevice);
  });
  op.callBoxed(stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!name.name.starts_with("aten::") || !op || !op->hasSchema()) continue;
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::AutocastCPU)) continue;
    m.impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_cast>());
  }
}

}  // namespace msprobe::sim
