// SPDX-License-Identifier: Apache-2.0
// What happens at every call that PyTorch lets be overridden: pass it on, and record it where it is
// in the list.
#include <optional>

#include "collect/python/mutations.h"
#include "collect/python/running_call.h"

namespace msprobe::collect {
namespace {

// Recorded calls and descriptions that run on this thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local int suspensions = 0;

PyObject* call(PyObject* func, PyObject* args, PyObject* kwargs) {
  return PyObject_Call(func, args, kwargs);
}

bool is_plain(const PythonCallbacks& callbacks, PyObject* tensor) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tensor));
  return type == callbacks.tensor_type.get() || type == callbacks.parameter_type.get();
}

bool wants_text(const std::string& name, const std::vector<std::string>& parts) {
  if (parts.empty()) return true;
  for (const std::string& part : parts) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

// Tensor.backward checks for an override first; called from here it would run the whole backward
// pass, recomputed checkpoints included, with overrides off. What it stands for has no such check.
PyObject* run_backward(Collector& collector, PyObject* args, PyObject* kwargs) {
  const PyRef entered =
      PyRef::take(PyObject_CallMethod(collector.callbacks.mode.get(), "__enter__", nullptr));
  if (!entered) return nullptr;
  PyRef result =
      PyRef::take(PyObject_Call(collector.callbacks.autograd_backward.get(), args, kwargs));
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PyRef left = PyRef::take(PyObject_CallMethod(collector.callbacks.mode.get(), "__exit__",
                                                     "OOO", Py_None, Py_None, Py_None));
  if (type != nullptr) PyErr_Restore(type, value, traceback);
  return result.release();
}

// A dropout that drops nothing adds no node of its own.
bool drops_nothing(const RecordedApi& api, const Origin& origin) {
  if (!api.is_dropout) return false;
  PyObject* p =
      PyTuple_GET_SIZE(origin.args.get()) > 1 ? PyTuple_GET_ITEM(origin.args.get(), 1) : nullptr;
  if (p == nullptr && origin.kwargs && PyDict_Check(origin.kwargs.get())) {
    p = PyDict_GetItemString(origin.kwargs.get(), "p");
  }
  return p != nullptr && PyFloat_Check(p) && PyFloat_AS_DOUBLE(p) == 0.0;
}

// The version of the tensor that an in-place call would change; -1 for none. It tells a call that
// changed its first argument from one that only handed it on.
long version_of_first(const PythonCallbacks& callbacks, PyObject* args) {
  if (PyTuple_GET_SIZE(args) == 0) return -1;
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (PyObject_IsInstance(first, callbacks.tensor_type.get()) != 1) return -1;
  const std::optional<Undisturbed> undisturbed = undisturbed_by(callbacks, first);
  const PyRef version = attribute<"_version">(first);
  const long number = version ? PyLong_AsLong(version.get()) : -1;
  PyErr_Clear();  // tensors of inference mode have no version
  return number;
}

// Whether the result is the first argument, unchanged: such a call has no autograd node.
bool handed_on(const PythonCallbacks& callbacks, PyObject* args, long version, PyObject* result) {
  return PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) == result &&
         version_of_first(callbacks, args) == version;
}

// An operator that returns nothing wrote into its arguments, perhaps without a new version number.
PyRef changed_arguments(Collector& collector, RecordedApi& api, PyObject* func,
                        const Mutations& mutations, PyObject* result) {
  if (result == Py_None && !api.written && mutations.none_changed()) {
    api.written =
        PyRef::take(PyObject_CallOneArg(collector.callbacks.written_arguments.get(), func));
    report_and_clear(collector, "looking at a function");
    if (!api.written) api.written = PyRef::share(Py_None);
  }
  return mutations.changed(result, result == Py_None ? api.written.get() : nullptr);
}

// A tensor that only holds others (torchao's Float8TrainingTensor, MXTensor): a call of it is not
// the operator that its name says, but what the type makes of it.
bool is_wrapper(Collector& collector, PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  auto* object = reinterpret_cast<PyObject*>(type);
  const PythonCallbacks& callbacks = collector.callbacks;
  if (object == callbacks.tensor_type.get() || object == callbacks.parameter_type.get()) {
    return false;
  }
  const auto known = collector.wrappers.find(type);
  if (known != collector.wrappers.end()) return known->second;
  bool wraps = false;
  if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(callbacks.tensor_type.get())) != 0) {
    const RecordingSuspended inside;
    const PyRef answer = PyRef::take(PyObject_CallOneArg(callbacks.wraps_tensors.get(), object));
    wraps = answer.get() == Py_True;
    report_and_clear(collector, "looking at a type of tensors");
  }
  Py_INCREF(object);  // so that its address stays its own
  return collector.wrappers.emplace(type, wraps).first->second;
}

bool holds_wrapper(Collector& collector, PyObject* value) {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      if (is_wrapper(collector, PySequence_Fast_GET_ITEM(value, i))) return true;
    }
    return false;
  }
  return is_wrapper(collector, value);
}

bool takes_wrapper(Collector& collector, PyObject* args, PyObject* kwargs) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    if (holds_wrapper(collector, PyTuple_GET_ITEM(args, i))) return true;
  }
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; kwargs != nullptr && PyDict_Next(kwargs, &at, &key, &item);) {
    if (holds_wrapper(collector, item)) return true;
  }
  return false;
}

}  // namespace

PyObject* record_call(Collector& collector, RecordedApi& api, PyObject* func, PyObject* args,
                      PyObject* kwargs) {
  write_waiting_modules(collector);
  const RecordedName name = next_call(api);
  const bool wanted = wants(collector.filter, name.forward()) && collector.filter.forward;
  Origin origin;
  std::optional<RunningCall> running;
  if (wanted) {
    origin = collector.frames.origin(collector.callbacks, func, args, kwargs);
    running.emplace(collector, name);
    running->begin(origin);
    report_and_clear(collector, "describing arguments");
  } else {
    origin.args = PyRef::share(args);
    origin.kwargs = PyRef::share(kwargs);
  }
  const long version = version_of_first(collector.callbacks, args);
  std::optional<Mutations> mutations;
  if (running && collector.filter.output) mutations.emplace(collector.callbacks, args, kwargs);
  PyRef result;
  {
    const RecordingSuspended inside;
    result = PyRef::take(call(func, args, kwargs));
  }
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  if (!result) PyErr_Fetch(&type, &value, &traceback);
  if (running && collector.recorder) {  // none in a child that was forked
    const PyRef changed = mutations && result
                              ? changed_arguments(collector, api, func, *mutations, result.get())
                              : PyRef();
    running->end(result.get(), changed.get());
  }
  if (result && collector.tree.is_on && collector.recorder) {
    collector.tree.add_call(*collector.recorder, name.forward());
  }
  if (result && collector.filter.backward && !drops_nothing(api, origin) &&
      !handed_on(collector.callbacks, args, version, result.get())) {
    hook_backward(collector, result.get(), name);
  }
  report_and_clear(collector, "describing results");
  if (type != nullptr) PyErr_Restore(type, value, traceback);
  return result.release();
}

void RecordingSuspended::begin() { ++suspensions; }
void RecordingSuspended::end() { --suspensions; }
bool RecordingSuspended::is_running() { return suspensions > 0; }

Undisturbed::Undisturbed(const PythonCallbacks& callbacks) {
  if (callbacks.disable_torch_function.get() == Py_None) return;
  guard_ = PyRef::take(PyObject_CallNoArgs(callbacks.disable_torch_function.get()));
  if (guard_) {
    const PyRef entered = PyRef::take(PyObject_CallMethod(guard_.get(), "__enter__", nullptr));
  }
  PyErr_Clear();
}

Undisturbed::~Undisturbed() {
  if (guard_) {
    const PyRef left = PyRef::take(
        PyObject_CallMethod(guard_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  }
  PyErr_Clear();
}

std::optional<Undisturbed> undisturbed_by(const PythonCallbacks& callbacks, PyObject* tensor) {
  if (is_plain(callbacks, tensor)) return std::nullopt;
  return std::optional<Undisturbed>(std::in_place, callbacks);
}

bool wants(Filter& filter, const std::string& name) {
  if (!filter.scope_begin.empty()) {
    if (name == filter.scope_begin) filter.in_scope = true;
    if (!filter.in_scope) return false;
    if (name == filter.scope_end) filter.in_scope = false;
  }
  return wants_text(name, filter.names);
}

void write_waiting_modules(Collector& collector) {
  if (!collector.modules_wait) return;
  const RecordingSuspended inside;
  const Undisturbed undisturbed(collector.callbacks);
  const PyRef written = PyRef::take(PyObject_CallNoArgs(collector.callbacks.write_modules.get()));
  report_and_clear(collector, "describing a module's gradients");
}

void report_and_clear(Collector& collector, const char* doing) {
  if (PyErr_Occurred() == nullptr) return;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) return drop_exception();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef answer = PyRef::take(PyObject_CallFunction(collector.callbacks.report.get(), "sO",
                                                         doing, value ? value : Py_None));
  drop_exception();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

PyObject* torch_function(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs) {
  const char* running_operator = take_running_operator();
  if (kwargs == Py_None) kwargs = nullptr;
  if (!collector.active || RecordingSuspended::is_running()) return call(func, args, kwargs);
  if (collector.callbacks.wraps_tensors.get() != Py_None && takes_wrapper(collector, args, kwargs))
    return run_inside(collector, func, args, kwargs);
  RecordedApi* api = nullptr;
  if (running_operator != nullptr) {
    const auto found = collector.api_of_operator.find(running_operator);
    if (found != collector.api_of_operator.end()) api = found->second;
  } else {
    const auto found = collector.api_of_function.find(func);
    if (found != collector.api_of_function.end()) api = found->second;
  }
  if (api != nullptr) return record_call(collector, *api, func, args, kwargs);
  // A subclass may have an override of its own for it.
  const bool is_backward = func == collector.callbacks.backward.get() &&
                           PyTuple_GET_SIZE(args) > 0 &&
                           is_plain(collector.callbacks, PyTuple_GET_ITEM(args, 0));
  if (is_backward) return run_backward(collector, args, kwargs);
  return run_uncovered(collector, func, args, kwargs);
}

}  // namespace msprobe::collect
