// SPDX-License-Identifier: Apache-2.0
// A call that Python code runs and ends, maybe much later than it returned: begin_call(), run() and
// finish().
#include <memory>

#include "collect/python/running_call.h"

namespace msprobe::collect {
namespace {

struct OpenCall {
  PyObject_HEAD;
  Collector* collector;
  std::uint64_t step;
  RecordedName* name;
  RunningCall* running;  // null: filtered out, or ended
};

OpenCall& open_call(PyObject* self) { return *reinterpret_cast<OpenCall*>(self); }

// Ends the entry with `outputs`, or with its inputs alone if there are none.
void end(OpenCall& call, PyObject* outputs) {
  RunningCall* running = std::exchange(call.running, nullptr);
  // In a forked child there is no recorder to hand anything to, nor to take anything back.
  if (running == nullptr || !call.collector->recorder) return;
  const std::unique_ptr<RunningCall> owned(running);
  const bool in_time = call.step == call.collector->step;
  const RecordingSuspended inside;
  const Undisturbed undisturbed(call.collector->callbacks);
  running->end(in_time ? outputs : nullptr);
  report_and_clear(*call.collector, "describing results");
}

void destroy(PyObject* self) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);  // objects die while exceptions are on their way
  end(open_call(self), nullptr);
  PyErr_Restore(type, value, traceback);
  delete open_call(self).name;
  Py_DECREF(reinterpret_cast<PyObject*>(open_call(self).collector));
  PyTypeObject* own_type = Py_TYPE(self);
  own_type->tp_free(self);
  Py_DECREF(own_type);
}

// run(function, args, kwargs): calls it; nothing that it calls is recorded.
PyObject* run(PyObject* /*self*/, PyObject* given) {
  PyObject *function = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO!O!", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) {
    return nullptr;
  }
  const RecordingSuspended inside;
  return PyObject_Call(function, args, kwargs);
}

// finish(outputs: tuple)
PyObject* finish(PyObject* self, PyObject* outputs) {
  end(open_call(self), outputs);
  Py_RETURN_NONE;
}

// backward_hook() -> function (gradients that leave, gradients that arrive), or None if they are
// not wanted
PyObject* backward_hook(PyObject* self, PyObject* /*unused*/) {
  const OpenCall& call = open_call(self);
  if (!call.collector->filter.backward) Py_RETURN_NONE;
  return make_backward_hook(*call.collector, *call.name);
}

// Python needs these writable.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyTypeObject* call_type = nullptr;  // made once, when the module is loaded
PyMethodDef methods[] = {{"run", &run, METH_VARARGS, nullptr},
                         {"finish", &finish, METH_O, nullptr},
                         {"backward_hook", &backward_hook, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)}, {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"msprobe._collect.OpenCall", sizeof(OpenCall), 0, Py_TPFLAGS_DEFAULT, slots};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

std::unique_ptr<RunningCall> begin(Collector& collector, const RecordedName& call, PyObject* args,
                                   PyObject* kwargs) {
  if (collector.tree.is_on) collector.tree.add_call(*collector.recorder, call.forward());
  if (!wants(collector.filter, call.forward()) || !collector.filter.forward) return nullptr;
  Origin origin;
  origin.caller = PyRef::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  origin.args = PyRef::share(args);
  origin.kwargs = PyRef::share(kwargs);
  auto running = std::make_unique<RunningCall>(collector, call);
  const RecordingSuspended inside;
  const Undisturbed undisturbed(collector.callbacks);
  running->begin(origin);
  report_and_clear(collector, "describing arguments");
  return running;
}

}  // namespace

bool ready_open_call(PyObject* /*module*/) {
  call_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return call_type != nullptr;
}

PyObject* begin_call(Collector& collector, PyObject* function, PyObject* args, PyObject* kwargs) {
  const auto found = collector.api_of_function.find(function);
  if (!collector.active || RecordingSuspended::is_running() ||
      found == collector.api_of_function.end()) {
    Py_RETURN_NONE;
  }
  PyObject* self = call_type->tp_alloc(call_type, 0);
  if (self == nullptr) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(&collector));
  open_call(self).collector = &collector;
  open_call(self).step = collector.step;
  open_call(self).name = new RecordedName(next_call(*found->second));
  open_call(self).running = begin(collector, *open_call(self).name, args, kwargs).release();
  return self;
}

}  // namespace msprobe::collect
