// SPDX-License-Identifier: Apache-2.0
#include "collect/python/mutations.h"

#include <algorithm>

namespace msprobe::collect {
namespace {

// -1: tensors of inference mode have no version.
long version_of(PyObject* tensor) {
  const PyRef version = attribute<"_version">(tensor);
  const long number = version ? PyLong_AsLong(version.get()) : -1;
  PyErr_Clear();
  return number;
}

bool holds(PyObject* result, PyObject* tensor) {
  if (result == tensor) return true;
  if (result == nullptr || (!PyTuple_Check(result) && !PyList_Check(result))) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
    if (PySequence_Fast_GET_ITEM(result, i) == tensor) return true;
  }
  return false;
}

}  // namespace

Mutations::Mutations(const PythonCallbacks& callbacks, PyObject* args, PyObject* kwargs) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    watch(callbacks, PyTuple_GET_ITEM(args, i), nullptr, i);
  }
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; kwargs != nullptr && PyDict_Next(kwargs, &at, &key, &item);) {
    watch(callbacks, item, key, -1);
  }
}

void Mutations::watch(const PythonCallbacks& callbacks, PyObject* value, PyObject* keyword,
                      Py_ssize_t index) {
  const auto add = [&](PyObject* item, Py_ssize_t inner) {
    const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(item));
    if (type != callbacks.tensor_type.get() && type != callbacks.parameter_type.get()) return;
    watched_.push_back({item, keyword, index, inner, version_of(item)});
  };
  if (!PyTuple_Check(value) && !PyList_Check(value)) return add(value, -1);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    add(PySequence_Fast_GET_ITEM(value, i), i);
  }
}

bool Mutations::none_changed() const {
  return std::ranges::all_of(watched_, [](const Watched& watched) {
    return version_of(watched.tensor) == watched.version;
  });
}

bool Mutations::is_among(const Watched& watched, PyObject* written) {
  if (written == nullptr || !PyList_Check(written)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(written); ++i) {
    PyObject* argument = PyList_GET_ITEM(written, i);
    PyObject *index = PyTuple_GET_ITEM(argument, 0), *name = PyTuple_GET_ITEM(argument, 1);
    const bool same = watched.keyword != nullptr ? PyUnicode_Compare(watched.keyword, name) == 0
                                                 : PyLong_AsSsize_t(index) == watched.index;
    if (same) return true;
  }
  return false;
}

PyRef Mutations::changed(PyObject* result, PyObject* written) const {
  PyRef found;
  for (const Watched& watched : watched_) {
    const bool same = version_of(watched.tensor) == watched.version && !is_among(watched, written);
    if (same || holds(result, watched.tensor)) continue;
    if (!found) found = PyRef::take(PyDict_New());
    PyRef place =
        PyRef::take(watched.keyword != nullptr ? PyUnicode_FromFormat("kwargs.%U", watched.keyword)
                                               : PyUnicode_FromFormat("%zd", watched.index));
    if (place && watched.inner >= 0) {
      place = PyRef::take(PyUnicode_FromFormat("%U.%zd", place.get(), watched.inner));
    }
    if (place && found) PyDict_SetItem(found.get(), place.get(), watched.tensor);
  }
  return found;
}

}  // namespace msprobe::collect
