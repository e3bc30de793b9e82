// SPDX-License-Identifier: Apache-2.0
#include "libtorch/autograd.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/variable.h>

namespace msprobe::libtorch {
namespace {

// Nodes are held by shared_ptr, in later versions by an intrusive one.
template <class Pointer>
Pointer make_identity() {
  using torch::autograd::Identity;
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    return std::make_shared<Identity>();
  } else {
    return c10::make_intrusive<Identity>();
  }
}

}  // namespace

Edge watch(at::Tensor& tensor) {
  torch::autograd::create_gradient_edge(tensor, make_identity<decltype(Edge::function)>());
  return torch::autograd::impl::gradient_edge(tensor);
}

std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& outputs,
                                  const std::vector<at::Tensor>& weights,
                                  const std::vector<Edge>& edges, bool keep_graph) {
  torch::autograd::edge_list roots;
  roots.reserve(outputs.size());
  for (const at::Tensor& output : outputs) {
    roots.push_back(torch::autograd::impl::gradient_edge(output));
  }
  return torch::autograd::Engine::get_default_engine().execute(roots, weights, keep_graph,
                                                               /*create_graph=*/false,
                                                               /*accumulate_grad=*/false, edges);
}

std::vector<at::Tensor> node_gradients(const std::vector<at::Tensor>& outputs,
                                       const std::vector<at::Tensor>& weights) {
  const auto node = outputs.front().grad_fn();
  torch::autograd::variable_list arriving(node->num_inputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].grad_fn() != node) continue;
    arriving[static_cast<std::size_t>(outputs[i].output_nr())] = weights[i];
  }
  const at::NoGradGuard no_grad;
  return (*node)(std::move(arriving));
}

}  // namespace msprobe::libtorch
