// SPDX-License-Identifier: Apache-2.0
#include "libtorch/autograd.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
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

using torch::autograd::variable_list;

// Keeps what a node passes on, as the engine has checked and summed it up.
class Keeper : public torch::autograd::FunctionPostHook {
 public:
  explicit Keeper(std::shared_ptr<variable_list> kept) : kept_(std::move(kept)) {}

  variable_list operator()(const variable_list& leaving,
                           const variable_list& /*arriving*/) override {
    *kept_ = leaving;
    return leaving;
  }

 private:
  std::shared_ptr<variable_list> kept_;
};

}  // namespace

Edge watch(at::Tensor& tensor) {
  torch::autograd::create_gradient_edge(tensor, make_identity<decltype(Edge::function)>());
  return torch::autograd::impl::gradient_edge(tensor);
}

std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& outputs,
                                  const std::vector<at::Tensor>& weights,
                                  const std::vector<Edge>& edges, LastNode* last) {
  torch::autograd::edge_list roots;
  roots.reserve(outputs.size());
  for (const at::Tensor& output : outputs) {
    roots.push_back(torch::autograd::impl::gradient_edge(output));
  }
  const auto kept = std::make_shared<variable_list>();
  if (last != nullptr) {
    const auto node = outputs.front().grad_fn();
    node->add_post_hook(std::make_unique<Keeper>(kept));
    last->name = node->name();
    last->next = node->next_edges();
  }
  std::vector<at::Tensor> found = torch::autograd::Engine::get_default_engine().execute(
      roots, weights, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/false,
      edges);
  if (last != nullptr) last->gradients = *kept;
  return found;
}

}  // namespace msprobe::libtorch
