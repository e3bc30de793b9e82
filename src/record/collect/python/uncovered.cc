// SPDX-License-Identifier: Apache-2.0
// Calls of functions that are not on the list: those that compute are recorded as Aten or Custom,
// as one call or operator by operator; what cannot be recorded is counted.
#include <utility>

#include "collect/python/collector.h"

namespace msprobe::collect {
namespace {

// Functions that are made over and over again would fill the memory.
constexpr std::size_t kMostFunctions = 20000;

RecordedApi* api_of(Collector& collector, const char* prefix, const char* name) {
  RecordedApi*& found = collector.api_of_uncovered[std::string(prefix) + "." + name];
  if (found == nullptr) {
    collector.apis.push_back(
        std::make_unique<RecordedApi>(RecordedApi{prefix, name, 0, false, {}}));
    found = collector.apis.back().get();
  }
  return found;
}

const Uncovered& look_up(Collector& collector, PyObject* func) {
  const auto known = collector.uncovered.find(func);
  if (known != collector.uncovered.end()) return known->second;
  if (collector.uncovered.size() >= kMostFunctions) collector.uncovered.clear();
  Uncovered found;
  found.function = PyRef::share(func);
  {
    const RecordingSuspended inside;
    const PyRef answer = PyRef::take(PyObject_CallOneArg(collector.callbacks.classify.get(), func));
    const char *prefix = nullptr, *name = nullptr;
    if (answer && PyTuple_Check(answer.get()) &&
        PyArg_ParseTuple(answer.get(), "ss", &prefix, &name)) {
      found.api = api_of(collector, prefix, name);
    } else if (answer && PyUnicode_Check(answer.get()) != 0) {
      const char* text = PyUnicode_AsUTF8(answer.get());
      found.unseen = text != nullptr ? text : "";
    }
    found.operators = answer.get() == Py_True;
    report_and_clear(collector, "looking at a function");
  }
  return collector.uncovered.try_emplace(func, std::move(found)).first->second;
}

// The elements of the tensors that a call returned and did not get.
std::uint64_t elements_of(const PythonCallbacks& callbacks, PyObject* value, PyObject* args) {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    std::uint64_t sum = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      sum += elements_of(callbacks, PySequence_Fast_GET_ITEM(value, i), args);
    }
    return sum;
  }
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  if (type != callbacks.tensor_type.get()) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    if (PyTuple_GET_ITEM(args, i) == value) return 0;
  }
  const PyRef count = call_method<"numel">(value);
  const long long elements = count ? PyLong_AsLongLong(count.get()) : 0;
  drop_exception();
  return elements > 0 ? static_cast<std::uint64_t>(elements) : 0;
}

PyObject* run_operators(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs) {
  const PyRef mode = PyRef::take(PyObject_CallNoArgs(collector.callbacks.operator_mode.get()));
  const PyRef entered =
      PyRef::take(mode ? PyObject_CallMethod(mode.get(), "__enter__", nullptr) : nullptr);
  if (!entered) {
    report_and_clear(collector, "watching operators");
    return PyObject_Call(func, args, kwargs);
  }
  PyRef result = PyRef::take(PyObject_Call(func, args, kwargs));
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PyRef left =
      PyRef::take(PyObject_CallMethod(mode.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  report_and_clear(collector, "watching operators");
  if (type != nullptr) PyErr_Restore(type, value, traceback);
  return result.release();
}

PyObject* count_unseen(Collector& collector, const std::string& name, PyObject* func,
                       PyObject* args, PyObject* kwargs) {
  PyRef result = PyRef::take(PyObject_Call(func, args, kwargs));
  if (!result) return nullptr;
  const RecordingSuspended inside;
  const std::uint64_t elements = elements_of(collector.callbacks, result.get(), args);
  if (elements > 0) collector.unseen[name] += elements;
  return result.release();
}

// The type of the function that reads an attribute. Newer Pythons have no name for it that others
// see.
const PyTypeObject* attribute_reader() {
  static const PyTypeObject* const type = [] {
    const PyRef reader = attribute<"__str__">(Py_None);
    return reader ? Py_TYPE(reader.get()) : nullptr;
  }();
  return type;
}

}  // namespace

PyObject* run_inside(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs) {
  const bool reads_attribute = Py_TYPE(func) == attribute_reader();
  if (reads_attribute) return PyObject_Call(func, args, kwargs);
  return run_operators(collector, func, args, kwargs);
}

PyObject* run_uncovered(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs) {
  // What reads an attribute is made anew each time.
  const bool reads_attribute = Py_TYPE(func) == attribute_reader();
  if (reads_attribute || collector.callbacks.classify.get() == Py_None) {
    return PyObject_Call(func, args, kwargs);
  }
  const Uncovered& found = look_up(collector, func);
  if (found.api != nullptr) return record_call(collector, *found.api, func, args, kwargs);
  if (found.operators) return run_operators(collector, func, args, kwargs);
  if (!found.unseen.empty())
    return count_unseen(collector, std::string(found.unseen), func, args, kwargs);
  return PyObject_Call(func, args, kwargs);
}

PyObject* run_operator(Collector& collector, PyObject* op, PyObject* args, PyObject* kwargs) {
  if (!collector.active || RecordingSuspended::is_running()) return PyObject_Call(op, args, kwargs);
  RecordedApi* api = look_up(collector, op).api;
  if (api == nullptr) return PyObject_Call(op, args, kwargs);
  const RecordingSuspended inside;  // the mode of functions is on here
  return record_call(collector, *api, op, args, kwargs);
}

}  // namespace msprobe::collect
