// SPDX-License-Identifier: Apache-2.0
#include "collect/python/module_paths.h"

#include <frameobject.h>

#include "collect/python/collector.h"

namespace msprobe::collect {
namespace {

PyRef module_of(PyObject* frame) {
  const PyRef locals = attribute<"f_locals">(frame);
  PyRef self = PyRef::take(locals ? PyObject_GetItem(locals.get(), interned<"self">()) : nullptr);
  drop_exception();
  return self;
}

bool refers_to(PyObject* weak, PyObject* object) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* found = nullptr;
  const PyRef owned = PyRef::take(PyWeakref_GetRef(weak, &found) == 1 ? found : nullptr);
  return owned.get() == object;
#else
  return PyWeakref_GetObject(weak) == object;
#endif
}

}  // namespace

const std::string* ModulePaths::find(PyObject* module) const {
  const auto found = paths_.find(module);
  if (found == paths_.end() || !refers_to(found->second.module.get(), module)) return nullptr;
  return &found->second.path;
}

void ModulePaths::learn(const PythonCallbacks& callbacks, PyObject* root) {
  const PyRef names = PyRef::take(PyObject_CallOneArg(callbacks.module_names.get(), root));
  for (Py_ssize_t i = 0; names && PyList_Check(names.get()) && i < PyList_GET_SIZE(names.get());
       ++i) {
    PyObject* module = nullptr;
    const char* path = nullptr;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(names.get(), i), "Os", &module, &path)) break;
    PyRef weak = PyRef::take(PyWeakref_NewRef(module, nullptr));
    if (weak) paths_.insert_or_assign(module, Known{std::move(weak), path});
  }
  drop_exception();
}

std::string ModulePaths::innermost(const PythonCallbacks& callbacks,
                                   const std::vector<PyObject*>& frames) {
  if (frames.empty()) return {};
  const PyRef module = module_of(frames.front());
  if (!module) return {};
  if (const std::string* path = find(module.get())) return *path;
  const PyRef root = module_of(frames.back());
  if (!root) return {};
  learn(callbacks, root.get());
  // A module that no other one holds has the name of the one that runs it.
  for (PyObject* frame : frames) {
    const PyRef outer = module_of(frame);
    const std::string* path = outer ? find(outer.get()) : nullptr;
    if (path == nullptr) continue;
    PyRef weak = PyRef::take(PyWeakref_NewRef(module.get(), nullptr));
    std::string found = *path;
    if (weak) paths_.insert_or_assign(module.get(), Known{std::move(weak), found});
    drop_exception();
    return found;
  }
  return {};
}

}  // namespace msprobe::collect
