// SPDX-License-Identifier: Apache-2.0
#include "execute/side.h"

#include <fmt/format.h>

#include "execute/caught.h"
#include "execute/value_tree.h"
#include "libtorch/autocast.h"
#include "libtorch/device.h"
#include "low_precision/codes.h"

namespace msprobe::execute {
namespace {

// Builds a side out of what `change` makes of each leaf; `change` returns detached tensors.
template <class Change>
CallSide side_of(const PyCall& call, bool with_grad, const Change& change) {
  CallSide side;
  const auto copy = [&](bool of_keyword, bool in_list) {
    return [&, of_keyword, in_list](const PyValue& leaf) {
      PyValue changed = change(leaf);
      const auto* source = leaf.as<at::Tensor>();
      if (source == nullptr) return changed;
      Input input{of_keyword, in_list, {}};
      if (with_grad && source->requires_grad()) {
        input.edge = libtorch::watch(std::get<at::Tensor>(changed.data));
      }
      side.inputs.push_back(input);
      return changed;
    };
  };
  side.call.output_shape = call.output_shape;
  side.call.args.reserve(call.args.size());
  const auto is_leaf = [](const PyValue& value) {
    return value.as<PyList>() == nullptr && value.as<PyDict>() == nullptr;
  };
  for (const PyValue& value : call.args) {
    side.call.args.push_back(map_leaves(value, copy(false, !is_leaf(value))));
  }
  side.call.kwargs.reserve(call.kwargs.size());
  for (const auto& [name, value] : call.kwargs) {
    side.call.kwargs.emplace_back(name, map_leaves(value, copy(true, !is_leaf(value))));
  }
  return side;
}

at::Tensor raised_copy(const at::Tensor& tensor, const Precision& precision,
                       const TensorChange& change) {
  const libtorch::BelowAutograd below;
  at::Tensor copy = tensor.detach();
  const at::ScalarType type = copy.scalar_type();
  if (precision.round_inputs && type == at::kFloat) copy = copy.to(*precision.autocast);
  const at::ScalarType recorded = copy.scalar_type();
  if (low_precision::is_packed(recorded)) return copy.clone();  // what it is; it has no arithmetic
  copy = copy.to(precision.raised(type), /*non_blocking=*/false, /*copy=*/true);
  const bool floats = at::isFloatingType(recorded) || at::isComplexType(recorded);
  return change && floats ? change(copy, recorded) : copy;
}

// With the strides of `tensor`: a kernel may depend on them, and to() loses those that leave gaps.
at::Tensor moved_to(const at::Tensor& tensor, at::Device device) {
  const at::Tensor moved = tensor.to(device);
  if (moved.layout() != at::kStrided || moved.strides() == tensor.strides()) return moved;
  try {
    return at::empty_strided(tensor.sizes(), tensor.strides(), moved.options()).copy_(moved);
  } catch (const c10::Error&) {
    return moved;  // a back end without such strides, and elements that share memory
  }
}

at::Tensor moved_copy(const at::Tensor& tensor, at::Device device) {
  const libtorch::BelowAutograd below;
  return moved_to(tensor.detach(), device);
}

// The gradients that arrive are listed per output, or per tensor where outputs are nested.
std::vector<at::Tensor> leaves_for(const PyValue& output, std::size_t arriving) {
  std::vector<at::Tensor> leaves;
  const auto* list = output.as<PyList>();
  if (list != nullptr && list->size() == arriving) {
    for (const PyValue& item : *list) {
      const auto* tensor = item.as<at::Tensor>();
      leaves.push_back(tensor == nullptr ? at::Tensor() : *tensor);
    }
    return leaves;
  }
  for_each_tensor(output, [&](const at::Tensor& tensor) { leaves.push_back(tensor); });
  return leaves;
}

at::Tensor as_weight(const at::Tensor& gradient, const at::Tensor& output) {
  return moved_to(gradient.detach().to(output.scalar_type()), output.device());
}

// The outputs that are differentiated, and the gradients that arrive there.
struct Roots {
  std::vector<at::Tensor> outputs, weights;
};

// Throws BindError if there is none.
Roots roots_of(const PyValue& output, const PyList& arriving) {
  const std::vector<at::Tensor> leaves = leaves_for(output, arriving.size());
  Roots roots;
  for (std::size_t i = 0; i < std::min(leaves.size(), arriving.size()); ++i) {
    const auto* gradient = arriving[i].as<at::Tensor>();
    if (gradient == nullptr || !leaves[i].defined() || !leaves[i].requires_grad()) continue;
    roots.outputs.push_back(leaves[i]);
    roots.weights.push_back(as_weight(*gradient, leaves[i]));
  }
  if (roots.outputs.empty()) {
    throw BindError("no output with a recorded gradient can be differentiated");
  }
  return roots;
}

}  // namespace

CallSide bench_side(const PyCall& call, const Precision& precision, bool with_grad,
                    const TensorChange& change) {
  CallSide side = side_of(call, with_grad, [&](const PyValue& leaf) -> PyValue {
    if (const auto* tensor = leaf.as<at::Tensor>())
      return {raised_copy(*tensor, precision, change)};
    if (const auto* dtype = leaf.as<at::ScalarType>()) return {precision.raised(*dtype)};
    return leaf;
  });
  if (precision.raise) side.call.raised = precision.target;
  return side;
}

CallSide device_side(const PyCall& call, at::Device device, bool with_grad) {
  return side_of(call, with_grad, [&](const PyValue& leaf) -> PyValue {
    if (const auto* tensor = leaf.as<at::Tensor>()) return {moved_copy(*tensor, device)};
    if (leaf.as<at::Device>() != nullptr) return {device};
    return leaf;
  });
}

OrSkip<PyValue> run_forward(const Api& api, const CallSide& side, const SideOptions& options,
                            SkipReason reason) {
  return caught(reason, [&] {
    std::optional<libtorch::AutocastScope> autocast;
    if (options.autocast) autocast.emplace(options.device.type(), *options.autocast);
    libtorch::seed_generator(at::kCPU, options.seed);
    if (!options.device.is_cpu()) libtorch::seed_generator(options.device, options.seed);
    return api(side.call);
  });
}

OrSkip<std::vector<at::Tensor>> run_backward(const CallSide& side, const PyValue& output,
                                             const PyList& arriving, SkipReason reason,
                                             libtorch::LastNode* last) {
  return caught(reason, [&] {
    const Roots roots = roots_of(output, arriving);
    std::vector<libtorch::Edge> edges;
    for (const Input& input : side.inputs) {
      if (input.edge.is_valid()) edges.push_back(input.edge);
    }
    std::vector<at::Tensor> found;
    if (!edges.empty()) found = libtorch::gradients(roots.outputs, roots.weights, edges, last);
    std::vector<at::Tensor> gradients;
    std::size_t next = 0;
    for (const Input& input : side.inputs) {
      gradients.push_back(input.edge.is_valid() ? found[next++] : at::Tensor());
    }
    return gradients;
  });
}

}  // namespace msprobe::execute
