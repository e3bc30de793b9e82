// SPDX-License-Identifier: Apache-2.0
// Gradients: a hook on the autograd node that a recorded call made.
#include <optional>

#include "collect/python/describe.h"
#include "collect/python/recorded_name.h"

namespace msprobe::collect {
namespace {

struct BackwardHook {
  PyObject_HEAD;
  Collector* collector;
  std::uint64_t step;
  RecordedName* name;
  std::string* module;  // that called it
};

void destroy(PyObject* self) {
  auto* hook = reinterpret_cast<BackwardHook*>(self);
  delete hook->name;
  delete hook->module;
  Py_XDECREF(reinterpret_cast<PyObject*>(hook->collector));
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

void record_legacy(Collector& collector, const RecordedName& name, PyObject* arriving) {
  const std::string key = entry_key(RecordStyle::kLegacy, name);
  JsonText json(JsonText::Layout::kOneLine);
  Describer describer(collector, key, json);
  describer.save_into(collector.settings.backward_directory);
  describer.sequence(arriving, "input");
  const std::uint64_t entry = collector.backward_recorder->begin("");
  collector.backward_recorder->finish(entry, ",\n\"" + key + "\": " + json.take());
}

void record(Collector& collector, const RecordedName& name, const std::string& module,
            PyObject* leaving, PyObject* arriving) {
  const std::uint64_t step = collector.step;
  const std::string entry_name = name.backward();
  if (!collector.backward_names.insert(entry_name).second) return;  // a second pass over the graph
  if (collector.tree.is_on) collector.tree.add_backward(*collector.recorder, entry_name, module);
  if (!wants(collector.filter, entry_name)) return;
  if (collector.settings.style == RecordStyle::kLegacy)
    return record_legacy(collector, name, arriving);
  JsonText json(JsonText::Layout::kIndented, 2);
  Describer describer(collector, entry_name, json);
  json.begin_object();
  if (collector.filter.input) {
    json.key("input");
    describer.sequence(arriving, "input");
  }
  const bool dirty = describer.take_overflow();
  if (collector.filter.output) {
    json.key("output");
    describer.sequence(leaving, "output");
  }
  json.end_object();
  const bool overflow = describer.take_overflow();
  if (collector.step != step) return;  // another thread has begun the next one meanwhile
  if (collector.settings.only_overflow) {
    if (dirty || !overflow) return;
    describer.save_files();
  }
  const std::uint64_t entry = collector.recorder->begin("");
  collector.recorder->finish(entry, ",\n  \"" + entry_name + "\": " + json.take());
}

PyObject* call_hook(PyObject* self, PyObject* args, PyObject* /*kwargs*/) {
  const auto* hook = reinterpret_cast<BackwardHook*>(self);
  Collector& collector = *hook->collector;
  PyObject *leaving = nullptr, *arriving = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &leaving, &arriving)) return nullptr;
  if (collector.recorder && hook->step == collector.step) {
    const RecordingSuspended inside;
    const Undisturbed undisturbed(collector.callbacks);
    write_waiting_modules(collector);
    record(collector, *hook->name, *hook->module, leaving, arriving);
    report_and_clear(collector, "describing gradients");
  }
  Py_RETURN_NONE;
}

// Made once, when the module is loaded.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
PyTypeObject* hook_type = nullptr;

PyRef new_hook(Collector& collector, const RecordedName& name) {
  PyObject* self = hook_type->tp_alloc(hook_type, 0);
  if (self == nullptr) return {};
  auto* hook = reinterpret_cast<BackwardHook*>(self);
  Py_INCREF(reinterpret_cast<PyObject*>(&collector));
  hook->collector = &collector;
  hook->step = collector.step;
  hook->name = new RecordedName(name);
  hook->module = new std::string(collector.tree.is_on ? ModuleTree::running() : "");
  return PyRef::take(self);
}

// The first tensor of a result, at any depth.
PyObject* first_tensor(const PythonCallbacks& callbacks, PyObject* value, int depth) {
  if (PyObject_IsInstance(value, callbacks.tensor_type.get()) == 1) return value;
  if (depth > 8) return nullptr;
  if (PyTuple_Check(value) || PyList_Check(value)) {
    return PySequence_Fast_GET_SIZE(value) == 0
               ? nullptr
               : first_tensor(callbacks, PySequence_Fast_GET_ITEM(value, 0), depth + 1);
  }
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t at = 0;
  if (PyDict_Check(value) && PyDict_Next(value, &at, &key, &item)) {
    return first_tensor(callbacks, item, depth + 1);
  }
  return nullptr;
}

// Python needs these writable.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                       {Py_tp_call, reinterpret_cast<void*>(&call_hook)},
                       {0, nullptr}};
PyType_Spec spec = {"msprobe._collect.BackwardHook", sizeof(BackwardHook), 0, Py_TPFLAGS_DEFAULT,
                    slots};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

bool ready_backward_hook(PyObject* /*module*/) {
  hook_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return hook_type != nullptr;
}

PyObject* make_backward_hook(Collector& collector, const RecordedName& name) {
  return new_hook(collector, name).release();
}

void hook_backward(Collector& collector, PyObject* result, const RecordedName& name) {
  PyObject* tensor = first_tensor(collector.callbacks, result, 0);
  if (tensor == nullptr) return;
  const std::optional<Undisturbed> undisturbed = undisturbed_by(collector.callbacks, tensor);
  const PyRef requires_grad = attribute<"requires_grad">(tensor);
  if (requires_grad.get() != Py_True) return;
  const PyRef enabled = PyRef::take(PyObject_CallNoArgs(collector.callbacks.is_grad_enabled.get()));
  if (enabled.get() != Py_True) return;
  const PyRef node = attribute<"grad_fn">(tensor);
  if (!node || node.get() == Py_None) return;
  const PyRef hook = new_hook(collector, name);
  if (!hook) return;
  const PyRef handle =
      PyRef::take(PyObject_CallMethodOneArg(node.get(), interned<"register_hook">(), hook.get()));
}

}  // namespace msprobe::collect
