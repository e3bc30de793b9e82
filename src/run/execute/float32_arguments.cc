// SPDX-License-Identifier: Apache-2.0
#include "execute/float32_arguments.h"

#include <algorithm>
#include <string_view>

namespace msprobe::execute {
namespace {

struct Float32Row {
  std::string_view operators;  // how their names begin
  std::string_view parameter;
};
constexpr Float32Row kFloat32Rows[] = {
    {"_amp_", "found_inf"},        {"_amp_", "inv_scale"},        {"_amp_update_scale_", "self"},
    {"_fused_ada", "grad_scale"},  {"_fused_ada", "state_steps"}, {"_fused_ada", "found_inf"},
    {"_fused_sgd_", "grad_scale"}, {"_fused_sgd_", "found_inf"},
};

bool takes_float32(std::string_view op, std::string_view parameter) {
  return std::ranges::any_of(kFloat32Rows, [&](const Float32Row& row) {
    return op.starts_with(row.operators) && parameter == row.parameter;
  });
}

}  // namespace

Float32Arguments::Float32Arguments(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  std::string_view name = schema.name();
  name.remove_prefix(std::min(name.size(), name.find("::") + 2));
  if (!name.starts_with("_amp_") && !name.starts_with("_fused_")) return;
  const std::size_t count = std::min(stack.size(), schema.arguments().size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!takes_float32(name, schema.arguments()[i].name())) continue;
    if (stack[i].isTensor()) {
      stack[i] = lowered(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      std::vector<at::Tensor> tensors = stack[i].toTensorVector();
      for (at::Tensor& tensor : tensors) tensor = lowered(tensor);
      stack[i] = tensors;
    }
  }
}

at::Tensor Float32Arguments::lowered(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble) return tensor;
  copied_.push_back({tensor, tensor.to(at::kFloat)});
  return copied_.back().lowered;
}

void Float32Arguments::write_back() const {
  for (const Copied& copy : copied_) copy.raised.copy_(copy.lowered);
}

}  // namespace msprobe::execute
