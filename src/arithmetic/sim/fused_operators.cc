// SPDX-License-Identifier: Apache-2.0
// Operators that PyTorch builds from others in a way that depends on the device. The CPU has fused
// kernels for them, and so has this device, as long as it computes products as the CPU does.
#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "libtorch/aten.h"
#include "sim/arithmetic.h"
#include "sim/session.h"

namespace msprobe::sim {
namespace {

using torch::jit::Stack;

constexpr auto kFused = std::to_array<std::string_view>(
    {"aten::dropout", "aten::group_norm", "aten::gru", "aten::gru_cell", "aten::lstm",
     "aten::lstm_cell", "aten::rnn_relu", "aten::rnn_relu_cell", "aten::rnn_tanh",
     "aten::rnn_tanh_cell", "aten::scaled_dot_product_attention"});

// Moves the tensors of a call, so that gradients find their way back.
class Move {
 public:
  explicit Move(c10::Device to) : to_(to) {}

  at::Tensor operator()(const at::Tensor& tensor) const {
    return tensor.defined() ? tensor.to(to_) : tensor;
  }
  void operator()(c10::IValue& value) const {
    if (value.isTensor()) value = (*this)(value.toTensor());
    if (!value.isTensorList()) return;
    c10::List<at::Tensor> moved;
    for (const at::Tensor& tensor : value.toTensorVector()) moved.push_back((*this)(tensor));
    value = moved;
  }

 private:
  c10::Device to_;
};

c10::Device place_of(const c10::IValue& value) {
  const at::Tensor tensor = value.isTensorList() ? value.toTensorVector().at(0) : value.toTensor();
  return tensor.device();
}

// Autocast of this device, on the CPU.
class AutocastOnCpu {
 public:
  AutocastOnCpu() : was_(at::autocast::is_autocast_enabled(at::kCPU)) {
    if (!at::autocast::is_autocast_enabled(at::kPrivateUse1)) return;
    at::autocast::set_autocast_dtype(at::kCPU, at::autocast::get_autocast_dtype(at::kPrivateUse1));
    at::autocast::set_autocast_enabled(at::kCPU, true);
  }
  ~AutocastOnCpu() { at::autocast::set_autocast_enabled(at::kCPU, was_); }
  AutocastOnCpu(const AutocastOnCpu&) = delete;
  AutocastOnCpu& operator=(const AutocastOnCpu&) = delete;

 private:
  bool was_;
};

void run_fused(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  if (!keeps_products(Session::get().arithmetic())) {
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);  // built from its parts
    return;
  }
  const auto arguments = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const c10::Device device = place_of(*(stack->end() - arguments));
  const auto on_device = [&](const at::Tensor& tensor) {
    TORCH_CHECK(!tensor.defined() || tensor.device() == device || tensor.dim() == 0,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                device, " and ", tensor.device(), "! (", op.schema().name(), ")");
  };
  for (std::ptrdiff_t i = 0; i < arguments; ++i) {
    const c10::IValue& value = *(stack->end() - arguments + i);
    // Those of a packed sequence are on the CPU for every device.
    if (op.schema().arguments()[static_cast<std::size_t>(i)].name() == "batch_sizes") continue;
    if (value.isTensor()) on_device(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) on_device(tensor);
  }
  std::for_each(stack->end() - arguments, stack->end(), Move(c10::Device(c10::kCPU)));
  {
    const AutocastOnCpu autocast;
    op.callBoxed(stack);
  }
  const auto results = static_cast<std::ptrdiff_t>(op.schema().returns().size());
  std::for_each(stack->end() - results, stack->end(), Move(device));
}

// Under autocast the bias is float32 still, and the gates are of the half type.
at::Tensor with_bias(const at::Tensor& gates, const std::optional<at::Tensor>& bias) {
  return bias && bias->defined() ? gates + bias->to(gates.scalar_type()) : gates;
}

// The parts that a device has to bring for the recurrent layers.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cell,
    const std::optional<at::Tensor>& input_bias, const std::optional<at::Tensor>& hidden_bias) {
  const auto gates =
      (with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias)).chunk(4, 1);
  const at::Tensor kept = gates[1].sigmoid() * cell.to(input_gates.scalar_type()) +
                          gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * kept.tanh(), kept, at::empty({0}, kept.options())};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates,
                                            const at::Tensor& hidden_gates,
                                            const at::Tensor& hidden,
                                            const std::optional<at::Tensor>& input_bias,
                                            const std::optional<at::Tensor>& hidden_bias) {
  const auto of_input = with_bias(input_gates, input_bias).chunk(3, 1);
  const auto of_hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const at::Tensor reset = (of_input[0] + of_hidden[0]).sigmoid();
  const at::Tensor update = (of_input[1] + of_hidden[1]).sigmoid();
  const at::Tensor fresh = (of_input[2] + reset * of_hidden[2]).tanh();
  return {fresh + update * (hidden.to(fresh.scalar_type()) - fresh),
          at::empty({0}, hidden.options())};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (std::ranges::find(kFused, name.name) == kFused.end()) continue;
    m.impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_fused>());
  }
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
}

}  // namespace msprobe::sim
