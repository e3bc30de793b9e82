// SPDX-License-Identifier: Apache-2.0
#include "libtorch/left_to_cpu.h"

#include <algorithm>
#include <array>
#include <mutex>

#include <ATen/record_function.h>

namespace msprobe::libtorch {
namespace {

// What is noted, for all threads: autograd runs a device's gradients in a thread of its own.
struct Watch {
  std::mutex mutex;
  c10::optional<at::Device> device;
  std::vector<std::string> operators;

  static Watch& get() {
    static Watch& watch = *new Watch;
    return watch;
  }
};

// An operator that was asked of the device and has not ended.
struct OpenOperator : at::ObserverContext {
  OpenOperator(c10::OperatorName op, OpenOperator* around) : name(std::move(op)), outer(around) {}
  c10::OperatorName name;
  OpenOperator* outer;
};

// Of this thread.
OpenOperator*& innermost() {
  thread_local OpenOperator* open = nullptr;
  return open;
}

std::string text_of(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

// "add" of aten::add_.Tensor.
std::string_view stem_of(const c10::OperatorName& name) {
  std::string_view stem = name.name;
  if (const std::size_t colons = stem.rfind(':'); colons != std::string_view::npos) {
    stem.remove_prefix(colons + 1);
  }
  if (stem.ends_with('_')) stem.remove_suffix(1);
  return stem;
}

// What moves data has the CPU on one side, and computes nothing.
bool moves_data(const c10::OperatorName& name) {
  constexpr auto kStems = std::to_array<std::string_view>({"_copy_from",
                                                           "_copy_from_and_resize",
                                                           "_local_scalar_dense",
                                                           "_pin_memory",
                                                           "_reshape_alias",
                                                           "_to_copy",
                                                           "as_strided",
                                                           "clone",
                                                           "contiguous",
                                                           "copy",
                                                           "detach",
                                                           "empty",
                                                           "empty_like",
                                                           "empty_strided",
                                                           "is_pinned",
                                                           "item",
                                                           "pin_memory",
                                                           "record_stream",
                                                           "resize",
                                                           "set",
                                                           "to",
                                                           "view"});
  return std::ranges::find(kStems, stem_of(name)) != kStems.end();
}

// Where the arguments of an operator are.
struct Places {
  bool on_cpu = false;  // a tensor, not a number in Python
  c10::optional<c10::DispatchKey> device_key;

  void add(const at::Tensor& tensor, at::Device device) {
    if (!tensor.defined()) return;
    if (tensor.device() == device) {
      if (!device_key) device_key = c10::legacyExtractDispatchKey(tensor.key_set());
    } else if (tensor.is_cpu() && !tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      on_cpu = true;
    }
  }

  void add(const c10::IValue& value, at::Device device) {
    if (value.isTensor()) {
      add(value.toTensor(), device);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) add(tensor, device);
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) {
        if (item.isTensor()) add(item.toTensor(), device);
      }
    } else if (value.isDevice() && value.toDevice().type() == device.type() && !device_key) {
      device_key = at::TensorOptions(device).computeDispatchKey();
    }
  }
};

// Of its own, or by composition of others. Without one the back end's fallback runs the operator.
bool has_kernel(const c10::OperatorHandle& op, c10::DispatchKey key) {
  using Key = c10::DispatchKey;
  const Key autograd = c10::getAutogradKeyFromBackend(c10::toBackendComponent(key));
  return std::ranges::any_of(
      std::array{key, autograd, Key::CompositeExplicitAutograd,
                 Key::CompositeExplicitAutogradNonFunctional, Key::CompositeImplicitAutograd},
      [&](Key each) { return op.hasKernelForDispatchKey(each); });
}

void note(Watch& watch, const c10::OperatorName& name) {
  std::string text = text_of(name);
  if (std::ranges::find(watch.operators, text) == watch.operators.end()) {
    watch.operators.push_back(std::move(text));
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  Watch& watch = Watch::get();
  const auto name = function.operator_name();
  if (!name) return nullptr;
  const std::lock_guard lock(watch.mutex);
  if (!watch.device) return nullptr;
  Places places;
  for (const c10::IValue& value : function.inputs()) places.add(value, *watch.device);
  if (places.device_key) {
    // PyTorch's fallback to the CPU fetches its arguments so; nothing else does.
    if (name->name == "aten::_to_cpu") {
      if (innermost() != nullptr && !moves_data(innermost()->name)) note(watch, innermost()->name);
      return nullptr;
    }
    const auto op = c10::Dispatcher::singleton().findOp(*name);
    if (op && !moves_data(*name) && !has_kernel(*op, *places.device_key)) note(watch, *name);
    auto open = std::make_unique<OpenOperator>(*name, innermost());
    innermost() = open.get();
    return open;
  }
  // A kernel that fetches its arguments itself and asks the CPU for the same operator.
  if (!places.on_cpu || moves_data(*name)) return nullptr;
  for (const OpenOperator* open = innermost(); open != nullptr; open = open->outer) {
    if (stem_of(open->name) == stem_of(*name)) note(watch, open->name);
  }
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context != nullptr) innermost() = static_cast<OpenOperator*>(context)->outer;
}

}  // namespace

LeftToCpu::LeftToCpu(at::Device device) {
  Watch& watch = Watch::get();
  {
    const std::lock_guard lock(watch.mutex);
    watch.device = device;
    watch.operators.clear();
  }
  callback_ = at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end)
                                        .needsInputs(true)
                                        .scopes({at::RecordScope::FUNCTION}));
}

LeftToCpu::~LeftToCpu() {
  at::removeCallback(callback_);
  Watch& watch = Watch::get();
  const std::lock_guard lock(watch.mutex);
  watch.device = c10::nullopt;
}

std::vector<std::string> LeftToCpu::operators() const {
  Watch& watch = Watch::get();
  const std::lock_guard lock(watch.mutex);
  return watch.operators;
}

bool refused_the_cpu(std::string_view message) {
  return message.find("would execute its main computation on CPU") != std::string_view::npos;
}

}  // namespace msprobe::libtorch
