// SPDX-License-Identifier: Apache-2.0
// The tensors among the arguments of a call that the call changes in place.
#pragma once

#include <vector>

#include "collect/python/collector.h"

namespace msprobe::collect {

class Mutations {
 public:
  // Before the call.
  Mutations(const PythonCallbacks& callbacks, PyObject* args, PyObject* kwargs);

  // After it: a dictionary of those that were changed and are not its result, by their place:
  // "0", "1.3", "kwargs.out". Null: none.
  // `written`: a list of (index, name) of arguments that count as changed; some operators do not
  // tell the tensors.
  PyRef changed(PyObject* result, PyObject* written) const;
  bool none_changed() const;

 private:
  struct Watched {
    PyObject* tensor;  // kept alive by the arguments
    PyObject* keyword;
    Py_ssize_t index, inner;  // -1: not in a list
    long version;
  };
  static bool is_among(const Watched& watched, PyObject* written);
  void watch(const PythonCallbacks& callbacks, PyObject* value, PyObject* keyword,
             Py_ssize_t index);

  std::vector<Watched> watched_;
};

}  // namespace msprobe::collect
