// SPDX-License-Identifier: Apache-2.0
#include "collect/python/parked_steps.h"

#include <utility>

#include "collect/python/setup.h"

namespace msprobe::collect {
namespace {

void reset_counters(Collector& collector) {
  ++collector.step;
  collector.filter.in_scope = collector.filter.scope_begin.empty();
  collector.backward_names.clear();
  collector.tree.clear();
  collector.modules_wait = false;
  for (const auto& api : collector.apis) api->calls = 0;
  collector.recorded_calls = 0;
  collector.seen_elements = 0;
  collector.unseen.clear();
}

}  // namespace

PyObject* end_step(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  if (collector.recorder) {
    const WithoutGil unlocked;
    collector.recorder->end_step();
  }
  reset_counters(collector);
  Py_RETURN_NONE;
}

PyObject* park_step(PyObject* self, PyObject* key) {
  const char* name = PyUnicode_AsUTF8(key);
  if (name == nullptr) return nullptr;
  Collector& collector = collector_of(self);
  if (!collector.recorder) Py_RETURN_NONE;
  {
    const WithoutGil unlocked;
    collector.recorder->park_step(name);
  }
  ParkedStep parked;
  for (const auto& api : collector.apis) {
    if (api->calls != 0) parked.calls.emplace_back(api.get(), api->calls);
  }
  parked.backward_names = collector.backward_names;
  parked.recorded_calls = collector.recorded_calls;
  parked.seen_elements = collector.seen_elements;
  parked.unseen = collector.unseen;
  parked.in_scope = collector.filter.in_scope;
  collector.parked[name] = std::move(parked);
  reset_counters(collector);
  Py_RETURN_NONE;
}

PyObject* resume_step(PyObject* self, PyObject* args) {
  const char *name = nullptr, *directory = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &name, &directory)) return nullptr;
  Collector& collector = collector_of(self);
  if (!collector.recorder || !collector.recorder->resume_step(name)) Py_RETURN_FALSE;
  reset_counters(collector);
  ParkedStep& parked = collector.parked[name];
  for (const auto& [api, calls] : parked.calls) api->calls = calls;
  collector.backward_names = std::move(parked.backward_names);
  collector.recorded_calls = parked.recorded_calls;
  collector.seen_elements = parked.seen_elements;
  collector.unseen = std::move(parked.unseen);
  collector.filter.in_scope = parked.in_scope;
  collector.parked.erase(name);
  collector.settings.data_directory = directory;
  Py_RETURN_TRUE;
}

PyObject* forget_parked_steps(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  collector.parked.clear();
  if (collector.recorder) collector.recorder->forget_parked_steps();
  Py_RETURN_NONE;
}

}  // namespace msprobe::collect
