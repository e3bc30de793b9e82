// SPDX-License-Identifier: Apache-2.0
// `x + 1` reaches an override as Tensor.add. An operator method of torch.Tensor that is replaced by
// one of these, while recording, tells which operator is running and then runs the original.
#include <string>

#include "collect/python/collector.h"

namespace msprobe::collect {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local const char* running_operator = nullptr;

struct Operator {
  PyObject_HEAD;
  std::string* name;
  PyObject* original;
};

void destroy(PyObject* self) {
  auto* op = reinterpret_cast<Operator*>(self);
  delete op->name;
  Py_XDECREF(op->original);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* call_operator(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto* op = reinterpret_cast<Operator*>(self);
  running_operator = op->name->c_str();
  PyObject* result = PyObject_Call(op->original, args, kwargs);
  running_operator = nullptr;
  return result;
}

// As a function does: looked up on an instance, it becomes a method.
PyObject* bind(PyObject* self, PyObject* instance, PyObject* /*type*/) {
  if (instance == nullptr || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}

// Whatever else is asked of it (its name, its text) is answered by the original.
PyObject* attribute(PyObject* self, PyObject* name) {
  return PyObject_GetAttr(reinterpret_cast<Operator*>(self)->original, name);
}

// Made once, when the module is loaded.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
PyTypeObject* operator_type = nullptr;

// Python needs these writable.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                       {Py_tp_call, reinterpret_cast<void*>(&call_operator)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
                       {Py_tp_getattro, reinterpret_cast<void*>(&attribute)},
                       {0, nullptr}};
PyType_Spec spec = {"msprobe._collect.Operator", sizeof(Operator), 0, Py_TPFLAGS_DEFAULT, slots};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

bool ready_operator(PyObject* /*module*/) {
  operator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return operator_type != nullptr;
}

PyObject* make_operator(const char* name, PyObject* original) {
  PyObject* self = operator_type->tp_alloc(operator_type, 0);
  if (self == nullptr) return nullptr;
  auto* op = reinterpret_cast<Operator*>(self);
  op->name = new std::string(name);
  Py_INCREF(original);
  op->original = original;
  return self;
}

const char* take_running_operator() { return std::exchange(running_operator, nullptr); }

}  // namespace msprobe::collect
