// SPDX-License-Identifier: Apache-2.0
// What a model calls its modules: "model.layers.3.mlp.down_proj".
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "collect/python/py_ref.h"

namespace msprobe::collect {

struct PythonCallbacks;

class ModulePaths {
 public:
  // The innermost module of those whose calls run in `frames`, innermost first; empty: none.
  std::string innermost(const PythonCallbacks& callbacks, const std::vector<PyObject*>& frames);

 private:
  struct Known {
    PyRef module;  // a weak reference: another module may get the address later
    std::string path;
  };
  const std::string* find(PyObject* module) const;
  void learn(const PythonCallbacks& callbacks, PyObject* root);

  std::unordered_map<PyObject*, Known> paths_;
};

}  // namespace msprobe::collect
