// SPDX-License-Identifier: Apache-2.0
// Every operator that is not about memory: the CPU's kernel, run on what the device holds, with the
// arithmetic and the faults that the session has.
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include "core/stable_hash.h"
#include "sim/arithmetic.h"
#include "sim/convolution.h"
#include "sim/device_memory.h"
#include "sim/scaled_product.h"
#include "sim/session.h"
#include "sim/spoil.h"
#include "sim/unit_product.h"

namespace msprobe::sim {
namespace {

using torch::jit::Stack;

// One operator on its way: its arguments come from the device, its results go back there.
class Operation {
 public:
  Operation(const c10::OperatorHandle& op, Stack& stack)
      : op_(op),
        stack_(stack),
        name_(op.schema().name()),
        first_(stack.size() - op.schema().arguments().size()),
        given_(stack.begin() + static_cast<std::ptrdiff_t>(first_), stack.end()) {}

  void run() {
    Session& session = Session::get();
    const at::AutoDispatchBelowADInplaceOrView below;
    take_arguments();
    const bool backward = torch::autograd::get_current_node() != nullptr;
    const std::string bare = bare_name();
    const std::vector<const FaultRule*> rules = session.struck_operator(bare, backward);
    ProductFaults faults;
    for (const FaultRule* rule : rules) {
      if (ends_call(rule->fault)) {
        note_fault(session, *rule, backward);
        end_call(rule->fault);
      }
      if (strikes_product(rule->fault, op_, stack_)) note_fault(session, *rule, backward);
      if (strikes_scaled(rule->fault, op_, stack_)) {
        note_fault(session, *rule, backward);
        faults.of_codes.push_back(rule->fault);
      }
      faults.lost_block = faults.lost_block || rule->fault == Fault::kLostBlock;
      faults.lost_terms = faults.lost_terms || rule->fault == Fault::kLostTerms;
      faults.coarse_sums = faults.coarse_sums || rule->fault == Fault::kCoarseSums;
    }
    change_arguments(session.arithmetic(), op_, stack_, faults);
    compute(session.arithmetic(), faults);
    results_ = results();
    for (at::Tensor& result : results_) {
      if (result.defined()) result = changed_result(session.arithmetic(), result);
    }
    for (const FaultRule* rule : rules) spoil_results(*rule, session, backward);
    give_results();
  }

 private:
  std::string bare_name() const {
    std::string bare = name_.substr(name_.find("::") + 2);
    if (bare == "convolution_overrideable") return "convolution";
    if (bare == "convolution_backward_overrideable") return "convolution_backward";
    if (bare.ends_with('_') && !bare.ends_with("__")) bare.pop_back();
    return bare;
  }

  void note_fault(Session& session, const FaultRule& rule, bool backward) const {
    session.note(fmt::format("fault\t{}\t{}\t{}\t{}", session.call(),
                             backward ? "backward" : "forward", row_of(rule.fault).name,
                             rule.number));
  }

  bool is_written(std::size_t place) const {
    const auto* alias = op_.schema().arguments()[place].alias_info();
    return alias != nullptr && alias->isWrite();
  }

  // Worked on in place and given back as a result.
  bool is_returned(std::size_t place) const {
    const auto* alias = op_.schema().arguments()[place].alias_info();
    return is_written(place) &&
           std::ranges::any_of(op_.schema().returns(), [&](const c10::Argument& result) {
             return result.alias_info() != nullptr && *result.alias_info() == *alias;
           });
  }

  // An unmoved tensor is an error, but for numbers, and for the positions of an indexing.
  void check_place(const at::Tensor& tensor, std::size_t place) const {
    if (tensor.device().type() == c10::DeviceType::PrivateUse1) return;
    const bool position = op_.schema().arguments()[place].name() == "indices";
    TORCH_CHECK((tensor.dim() == 0 && !is_written(place)) || position,
                "Expected all tensors to be on the same device, but found at least two devices, "
                "sim and ",
                tensor.device(), "! (argument ", op_.schema().arguments()[place].name(), " of ",
                name_, ")");
  }

  at::Tensor taken(const at::Tensor& tensor, std::size_t place) {
    if (!tensor.defined()) return tensor;
    check_place(tensor, place);
    if (tensor.device().is_cpu()) return tensor;
    if (!device_) device_ = tensor.device();
    TORCH_CHECK(tensor.device() == *device_,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                *device_, " and ", tensor.device(), "!");
    // What is given for a result may be resized.
    if (op_.schema().arguments()[place].is_out()) {
      return at::empty_strided(tensor.sizes(), tensor.strides(),
                               at::TensorOptions(tensor.scalar_type()));
    }
    const at::Tensor seen = seen_by_cpu(tensor).resolve_conj().resolve_neg();
    return is_returned(place) ? seen.clone() : seen;
  }

  void take_arguments() {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      c10::IValue& value = stack_[first_ + i];
      if (value.isTensor()) {
        value = taken(value.toTensor(), i);
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(taken(tensor, i));
        value = list;
      } else if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorList()) {
          list.push_back(tensor ? std::optional(taken(*tensor, i)) : std::nullopt);
        }
        value = list;
      } else if (value.isDevice()) {
        if (!device_) device_ = value.toDevice();
        value = c10::Device(c10::kCPU);
      }
    }
  }

  void compute(const ProfileRow& arithmetic, const ProductFaults& faults) {
    const SimProfile profile = arithmetic.profile;
    const bool unit = profile == SimProfile::kMatrixUnit;
    if (name_ == "aten::convolution_overrideable") {
      if (unit && unit_convolve(arithmetic, stack_)) return;
      return convolve(profile, stack_);
    }
    if (name_ == "aten::convolution_backward_overrideable") {
      if (unit && unit_convolve_backward(arithmetic, stack_)) return;
      return convolve_backward(profile, stack_);
    }
    if (compute_scaled(arithmetic, op_, stack_, faults.of_codes)) return;
    if (unit && compute_unit_product(arithmetic, op_, stack_)) return;
    if (!compute_product(profile, op_, stack_, faults)) op_.callBoxed(&stack_);
  }

  std::size_t first_result() const { return stack_.size() - op_.schema().returns().size(); }

  // Flat: lists are taken apart.
  std::vector<at::Tensor> results() const {
    std::vector<at::Tensor> found;
    for (std::size_t i = first_result(); i < stack_.size(); ++i) {
      if (stack_[i].isTensor()) found.push_back(stack_[i].toTensor());
      if (!stack_[i].isTensorList()) continue;
      for (const at::Tensor& tensor : stack_[i].toTensorVector()) found.push_back(tensor);
    }
    return found;
  }

  void spoil_results(const FaultRule& rule, Session& session, bool backward) {
    const std::uint64_t key =
        StableHash().add(session.call()).add(name_).add(session.seed()).value().low;
    if (spoil(rule, results_, key)) note_fault(session, rule, backward);
  }

  // The argument that a result is, where an operator works in place or on what it was given for it.
  const at::Tensor* written_argument(const c10::Argument& result) const {
    if (result.alias_info() == nullptr || !result.alias_info()->isWrite()) return nullptr;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const auto* alias = op_.schema().arguments()[i].alias_info();
      if (alias != nullptr && *alias == *result.alias_info() && given_[i].isTensor()) {
        return &given_[i].toTensor();
      }
    }
    return nullptr;
  }

  // The argument that a result is a view of, as long as nothing has replaced the result.
  const at::Tensor* viewed_argument(const c10::Argument& declared, const at::Tensor& result) const {
    if (declared.alias_info() == nullptr || !result.defined() || !result.has_storage())
      return nullptr;
    for (const c10::IValue& given : given_) {
      if (!given.isTensor() || !given.toTensor().defined()) continue;
      if (result.storage().data() == given.toTensor().data_ptr()) return &given.toTensor();
    }
    return nullptr;
  }

  at::Tensor given_back(const at::Tensor& result, const at::Tensor* argument) {
    if (!result.defined()) return result;
    if (argument != nullptr) {
      if (argument->sizes() != result.sizes()) {
        argument->resize_(result.sizes());
        if (result.is_non_overlapping_and_dense()) {
          argument->as_strided_(result.sizes(), result.strides());
        }
      }
      seen_by_cpu(*argument).copy_(result);
      return *argument;
    }
    const c10::DeviceIndex index = device_ && device_->has_index() ? device_->index() : 0;
    return result.to(c10::Device(c10::DeviceType::PrivateUse1, index));
  }

  void give_results() {
    std::size_t next = 0;
    for (std::size_t i = first_result(), k = 0; i < stack_.size(); ++i, ++k) {
      const c10::Argument& result = op_.schema().returns()[k];
      if (stack_[i].isTensor()) {
        const at::Tensor& found = results_[next++];
        const at::Tensor* written = written_argument(result);
        const at::Tensor* viewed = written == nullptr ? viewed_argument(result, found) : nullptr;
        stack_[i] = viewed == nullptr ? given_back(found, written) : view_like(*viewed, found);
      } else if (stack_[i].isTensorList()) {
        c10::List<at::Tensor> list;
        for (std::size_t n = stack_[i].toTensorVector().size(); n > 0; --n) {
          list.push_back(given_back(results_[next++], nullptr));
        }
        stack_[i] = list;
      }
    }
    give_written();
  }

  // Operators without results that write to their arguments, as those over lists do, wrote to the
  // device's memory itself.
  void give_written() {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!op_.schema().returns().empty() || !op_.schema().arguments()[i].is_out()) continue;
      TORCH_CHECK(false, "sim: ", name_, " is not known to this device");
    }
  }

  const c10::OperatorHandle& op_;
  Stack& stack_;
  const std::string& name_;
  std::size_t first_;
  std::vector<c10::IValue> given_;
  std::vector<at::Tensor> results_;
  std::optional<c10::Device> device_;
};

// PyTorch composes some operators for devices that have no kernel of their own. Where the CPU has
// one, it is the CPU's kernel that counts.
bool has_two_ways(const c10::OperatorHandle& op) {
  using enum c10::DispatchKey;
  const auto has = [&](c10::DispatchKey key) { return op.hasKernelForDispatchKey(key); };
  return has(CPU) && (has(CompositeImplicitAutograd) || has(CompositeExplicitAutograd) ||
                      has(CompositeExplicitAutogradNonFunctional));
}

void run_operator(const c10::OperatorHandle& op, Stack* stack) { Operation(op, *stack).run(); }

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_operator>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!op || !op->hasSchema() || !has_two_ways(*op)) continue;
    m.impl(toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_operator>());
  }
  m.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&run_operator>());
  m.impl("convolution_backward_overrideable",
         torch::CppFunction::makeFromBoxedFunction<&run_operator>());
}

}  // namespace msprobe::sim
