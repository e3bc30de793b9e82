// SPDX-License-Identifier: Apache-2.0
// The Python module msprobe._collect: class Collector, and operator().
#include <new>

#include "collect/python/parked_steps.h"
#include "collect/python/setup.h"
#include "collect/python/shipped_ops.h"

namespace msprobe::collect {
namespace {

PyObject* none_or_error(const std::optional<Error>& error) {
  if (error) return PyUnicode_FromString(error->message.c_str());
  Py_RETURN_NONE;
}

PyObject* create(PyTypeObject* type, PyObject* /*args*/, PyObject* /*kwargs*/) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  // A C++ object follows the object's head.
  const PyObject head = *self;
  new (self) Collector();
  *self = head;
  return self;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  {
    // The recorders write what is left before they end.
    const WithoutGil unlocked;
    collector_of(self).recorder.reset();
    collector_of(self).backward_recorder.reset();
    collector_of(self).stack_recorder.reset();
  }
  const PyObject head = *self;
  collector_of(self).~Collector();
  *self = head;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* with_files(PyObject* self, PyObject* args,
                     Result<void> (Recorder::*use)(const StepFiles&)) {
  const char *path = nullptr, *head = nullptr, *tail = nullptr, *stack = nullptr, *data = nullptr;
  const char *construct = "", *sites = "";
  if (!PyArg_ParseTuple(args, "sssss|ss", &path, &head, &tail, &stack, &data, &construct, &sites)) {
    return nullptr;
  }
  Collector& collector = collector_of(self);
  if (!collector.recorder)
    return PyErr_Format(PyExc_RuntimeError, "a forked child records nothing");
  collector.settings.data_directory = data;
  Result<void> used;
  {
    const WithoutGil unlocked;
    used = (collector.recorder.get()->*use)({path, head, tail, stack, construct, sites});
  }
  if (!used) return PyErr_Format(PyExc_OSError, "%s", used.error().message.c_str());
  Py_RETURN_NONE;
}

// open_step(dump_path, dump_head, dump_tail, stack_path, data_directory, construct_path="",
// sites_path=""): a new step; counters start again at 0.
PyObject* open_step(PyObject* self, PyObject* args) {
  return with_files(self, args, &Recorder::open_step);
}

// move_step(as open_step): the files of this step were moved there.
PyObject* move_step(PyObject* self, PyObject* args) {
  return with_files(self, args, &Recorder::move_step);
}

// open_legacy(forward_path, backward_path, stack_path, forward_directory, backward_directory)
PyObject* open_legacy(PyObject* self, PyObject* args) {
  const char *paths[3] = {}, *data = nullptr, *gradients = nullptr;
  if (!PyArg_ParseTuple(args, "sssss", &paths[0], &paths[1], &paths[2], &data, &gradients)) {
    return nullptr;
  }
  Collector& collector = collector_of(self);
  collector.settings.data_directory = data;
  collector.settings.backward_directory = gradients;
  Recorder* recorders[] = {collector.recorder.get(), collector.backward_recorder.get(),
                           collector.stack_recorder.get()};
  for (int i = 0; i < 3; ++i) {
    const Result<void> opened = recorders[i]->open_step({paths[i], "{", "\n}"});
    if (!opened) return PyErr_Format(PyExc_OSError, "%s", opened.error().message.c_str());
  }
  Py_RETURN_NONE;
}

PyObject* start(PyObject* self, PyObject* /*unused*/) {
  collector_of(self).active = collector_of(self).recorder != nullptr;
  Py_RETURN_NONE;
}

PyObject* stop(PyObject* self, PyObject* /*unused*/) {
  collector_of(self).active = false;
  Py_RETURN_NONE;
}

// set_request(total, begin, end): of tensors with `total` tokens only these are described, until
// set_request(0, 0, 0).
PyObject* set_request(PyObject* self, PyObject* args) {
  long long total = 0, begin = 0, end = 0;
  if (!PyArg_ParseTuple(args, "LLL", &total, &begin, &end)) return nullptr;
  std::optional<RequestedTokens>& request = collector_of(self).settings.request;
  request.reset();
  if (total > 0) request = {total, begin, end};
  Py_RETURN_NONE;
}

// save_value(name, part, value)
PyObject* save_value_method(PyObject* self, PyObject* args) {
  const char *name = nullptr, *part = nullptr;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "ssO", &name, &part, &value)) return nullptr;
  return save_value(collector_of(self), name, part, value);
}

PyObject* is_inside(PyObject* /*self*/, PyObject* /*unused*/) {
  return PyBool_FromLong(RecordingSuspended::is_running());
}

PyObject* begin_call_method(PyObject* self, PyObject* given) {
  PyObject *function = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO!O!", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) {
    return nullptr;
  }
  return begin_call(collector_of(self), function, args, kwargs);
}

PyObject* entry(PyObject* self, PyObject* given) {
  const char* name = PyUnicode_AsUTF8(given);
  return name ? make_module_entry(collector_of(self), name) : nullptr;
}

// enter_module(name) -> the call around it, to be given to leave_module.
PyObject* enter_module(PyObject* self, PyObject* given) {
  const char* name = PyUnicode_AsUTF8(given);
  if (name == nullptr) return nullptr;
  Collector& collector = collector_of(self);
  if (!collector.recorder) return PyUnicode_FromString("");
  return PyUnicode_FromString(collector.tree.enter(*collector.recorder, name).c_str());
}

PyObject* leave_module(PyObject* /*self*/, PyObject* given) {
  const char* outer = PyUnicode_AsUTF8(given);
  if (outer == nullptr) return nullptr;
  ModuleTree::leave(outer);
  Py_RETURN_NONE;
}

// module_backward(forward entry, event): 0, it is to be expected; 1, it begins; 2, it ends.
PyObject* module_backward(PyObject* self, PyObject* given) {
  const char* forward = nullptr;
  int event = 0;
  if (!PyArg_ParseTuple(given, "si", &forward, &event)) return nullptr;
  Collector& collector = collector_of(self);
  if (!collector.recorder) Py_RETURN_NONE;
  if (event == 0) collector.tree.expect_backward(forward);
  if (event == 1) collector.tree.begin_backward(*collector.recorder, forward);
  if (event == 2) collector.tree.end_backward(forward);
  Py_RETURN_NONE;
}

// suspend_recording(whether): nothing is recorded on this thread until it ends.
PyObject* suspend_recording(PyObject* /*self*/, PyObject* whether) {
  whether == Py_True ? RecordingSuspended::begin() : RecordingSuspended::end();
  Py_RETURN_NONE;
}

// run_operator(operator, args, kwargs): an operator that runs where no recorded call covers it.
PyObject* run_operator_method(PyObject* self, PyObject* given) {
  PyObject *op = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO!O!", &op, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) {
    return nullptr;
  }
  return run_operator(collector_of(self), op, args, kwargs);
}

// coverage() -> (elements of recorded results in this step, {function: elements that are unseen})
PyObject* coverage(PyObject* self, PyObject* /*unused*/) {
  const Collector& collector = collector_of(self);
  const PyRef unseen = PyRef::take(PyDict_New());
  for (const auto& [name, elements] : collector.unseen) {
    const PyRef count = PyRef::take(PyLong_FromUnsignedLongLong(elements));
    if (count) PyDict_SetItemString(unseen.get(), name.c_str(), count.get());
  }
  return Py_BuildValue("KO", static_cast<unsigned long long>(collector.seen_elements),
                       unseen.get());
}

// recorded_calls() -> number of calls in this step
PyObject* recorded_calls(PyObject* self, PyObject* /*unused*/) {
  return PyLong_FromUnsignedLongLong(collector_of(self).recorded_calls);
}

// set_tail(text): what ends dump.json from now on.
PyObject* set_tail(PyObject* self, PyObject* text) {
  const char* tail = PyUnicode_AsUTF8(text);
  if (tail == nullptr) return nullptr;
  if (collector_of(self).recorder) collector_of(self).recorder->set_tail(tail);
  Py_RETURN_NONE;
}

// let_modules_wait(whether): write_modules is called before the next gradients are recorded.
PyObject* let_modules_wait(PyObject* self, PyObject* whether) {
  collector_of(self).modules_wait = whether == Py_True;
  Py_RETURN_NONE;
}

// flush() -> None, or what went wrong: everything recorded so far is in its files.
PyObject* flush(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  std::optional<Error> error;
  {
    const WithoutGil unlocked;
    for (Recorder* recorder : {collector.recorder.get(), collector.backward_recorder.get(),
                               collector.stack_recorder.get()}) {
      std::optional<Error> found = recorder ? recorder->flush() : std::nullopt;
      if (found && !error) error = std::move(found);
    }
  }
  return none_or_error(error);
}

// settle(): after flush(); nothing is expected to follow soon, so only complete files remain.
PyObject* settle(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  const WithoutGil unlocked;
  for (Recorder* recorder : {collector.recorder.get(), collector.backward_recorder.get(),
                             collector.stack_recorder.get()}) {
    if (recorder != nullptr) recorder->end_step();
  }
  Py_RETURN_NONE;
}

// free_memory(): collection ended.
PyObject* free_memory(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  if (collector.recorder) collector.recorder->free_memory();
  Py_RETURN_NONE;
}

// forget(): in a forked child, whose recorder threads do not exist, nothing is recorded or awaited.
PyObject* forget(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  collector.active = false;
  static_cast<void>(collector.recorder.release());
  static_cast<void>(collector.backward_recorder.release());
  static_cast<void>(collector.stack_recorder.release());
  Py_RETURN_NONE;
}

// collector(mode, func, types, args=(), kwargs=None): the __torch_function__ of a mode.
PyObject* override_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"self", "func", "types", "args", "kwargs", nullptr};
  PyObject *mode = nullptr, *func = nullptr, *types = nullptr, *given = nullptr, *named = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|OO", const_cast<char**>(names), &mode, &func,
                                   &types, &given, &named)) {
    return nullptr;
  }
  const PyRef empty = PyRef::take(given ? nullptr : PyTuple_New(0));
  return torch_function(collector_of(self), func, given ? given : empty.get(), named);
}

// PyTorch takes only a method of the mode there, so it becomes one when it is looked up.
PyObject* bind(PyObject* self, PyObject* mode, PyObject* /*type*/) {
  if (mode == nullptr || mode == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, mode);
}

// Python needs these writable.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyMethodDef methods[] = {{"set_callbacks", &set_callbacks, METH_VARARGS, nullptr},
                         {"configure", &configure, METH_O, nullptr},
                         {"set_apis", &set_apis, METH_VARARGS, nullptr},
                         {"open_step", &open_step, METH_VARARGS, nullptr},
                         {"move_step", &move_step, METH_VARARGS, nullptr},
                         {"open_legacy", &open_legacy, METH_VARARGS, nullptr},
                         {"end_step", &end_step, METH_NOARGS, nullptr},
                         {"park_step", &park_step, METH_O, nullptr},
                         {"resume_step", &resume_step, METH_VARARGS, nullptr},
                         {"forget_parked_steps", &forget_parked_steps, METH_NOARGS, nullptr},
                         {"set_request", &set_request, METH_VARARGS, nullptr},
                         {"save_value", &save_value_method, METH_VARARGS, nullptr},
                         {"start", &start, METH_NOARGS, nullptr},
                         {"stop", &stop, METH_NOARGS, nullptr},
                         {"is_inside", &is_inside, METH_NOARGS, nullptr},
                         {"begin_call", &begin_call_method, METH_VARARGS, nullptr},
                         {"entry", &entry, METH_O, nullptr},
                         {"enter_module", &enter_module, METH_O, nullptr},
                         {"leave_module", &leave_module, METH_O, nullptr},
                         {"module_backward", &module_backward, METH_VARARGS, nullptr},
                         {"let_modules_wait", &let_modules_wait, METH_O, nullptr},
                         {"suspend_recording", &suspend_recording, METH_O, nullptr},
                         {"run_operator", &run_operator_method, METH_VARARGS, nullptr},
                         {"coverage", &coverage, METH_NOARGS, nullptr},
                         {"recorded_calls", &recorded_calls, METH_NOARGS, nullptr},
                         {"set_tail", &set_tail, METH_O, nullptr},
                         {"flush", &flush, METH_NOARGS, nullptr},
                         {"settle", &settle, METH_NOARGS, nullptr},
                         {"free_memory", &free_memory, METH_NOARGS, nullptr},
                         {"forget", &forget, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                       {Py_tp_call, reinterpret_cast<void*>(&override_call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"msprobe._collect.Collector", sizeof(Collector), 0, Py_TPFLAGS_DEFAULT, slots};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

PyObject* operator_function(PyObject* /*module*/, PyObject* args) {
  const char* name = nullptr;
  PyObject* original = nullptr;
  if (!PyArg_ParseTuple(args, "sO", &name, &original)) return nullptr;
  return make_operator(name, original);
}

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyMethodDef functions[] = {{"operator", &operator_function, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_collect", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace
}  // namespace msprobe::collect

// NOLINTNEXTLINE(readability-identifier-naming): Python looks for this name
// Seen from outside: Python 3.8 leaves that to the module.
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__collect();

PyMODINIT_FUNC PyInit__collect() {
  using namespace msprobe::collect;  // NOLINT(google-build-using-namespace)
  PyRef module = PyRef::take(PyModule_Create(&definition));
  if (!module || !ready_backward_hook(module.get()) || !ready_operator(module.get()) ||
      !ready_open_call(module.get()) || !ready_module_entry(module.get()))
    return nullptr;
  const PyRef type = PyRef::take(PyType_FromSpec(&spec));
  if (!type || PyObject_SetAttrString(module.get(), "Collector", type.get()) != 0) return nullptr;
  if (PyModule_AddStringConstant(module.get(), "SHIPPED_OPS", kShippedOps) != 0) return nullptr;
  return module.release();
}
