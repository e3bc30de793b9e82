// SPDX-License-Identifier: Apache-2.0
#include "collect/python/setup.h"

namespace msprobe::collect {
namespace {

std::string text_of(PyObject* dict, const char* key) {
  PyObject* value = PyDict_GetItemString(dict, key);
  const char* text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  return text ? text : "";
}

bool truth_of(PyObject* dict, const char* key) {
  PyObject* value = PyDict_GetItemString(dict, key);
  return value && PyObject_IsTrue(value) == 1;
}

std::vector<std::string> texts_of(PyObject* dict, const char* key) {
  std::vector<std::string> texts;
  PyObject* value = PyDict_GetItemString(dict, key);
  for (Py_ssize_t i = 0; value && PyList_Check(value) && i < PyList_GET_SIZE(value); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(value, i));
    if (text) texts.emplace_back(text);
  }
  return texts;
}

// The callbacks by name.
struct LentRow {
  const char* name;
  PyRef PythonCallbacks::* member;
};

constexpr LentRow kLent[] = {
    {"tensor_type", &PythonCallbacks::tensor_type},
    {"parameter_type", &PythonCallbacks::parameter_type},
    {"size_type", &PythonCallbacks::size_type},
    {"strided_layout", &PythonCallbacks::strided_layout},
    {"describe_special", &PythonCallbacks::describe_special},
    {"read_special", &PythonCallbacks::read_special},
    {"call_site", &PythonCallbacks::call_site},
    {"defaults", &PythonCallbacks::defaults},
    {"trim_arguments", &PythonCallbacks::trim_arguments},
    {"frame_text", &PythonCallbacks::frame_text},
    {"frame_kind", &PythonCallbacks::frame_kind},
    {"module_names", &PythonCallbacks::module_names},
    {"module_call_code", &PythonCallbacks::module_call_code},
    {"is_grad_enabled", &PythonCallbacks::is_grad_enabled},
    {"disable_torch_function", &PythonCallbacks::disable_torch_function},
    {"report", &PythonCallbacks::report},
    {"backward", &PythonCallbacks::backward},
    {"autograd_backward", &PythonCallbacks::autograd_backward},
    {"mode", &PythonCallbacks::mode},
    {"classify", &PythonCallbacks::classify},
    {"written_arguments", &PythonCallbacks::written_arguments},
    {"operator_mode", &PythonCallbacks::operator_mode},
    {"wraps_tensors", &PythonCallbacks::wraps_tensors},
    {"write_modules", &PythonCallbacks::write_modules},
    {"overrides_file", &PythonCallbacks::overrides_file},
    {"handler_code", &PythonCallbacks::handler_code},
    {"dispatch_code", &PythonCallbacks::dispatch_code},
};

// [(dim, size, begin, end), ...]
bool read_cuts(PyObject* given, std::vector<KeptPart>& cuts) {
  PyObject* list = PyDict_GetItemString(given, "slice");
  if (list == nullptr) return true;
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "slice must be a list");
    return false;
  }
  cuts.clear();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    Py_ssize_t dim = 0;
    long long size = 0, begin = 0, end = 0;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "nLLL", &dim, &size, &begin, &end)) {
      return false;
    }
    cuts.push_back({static_cast<std::size_t>(dim), size, begin, end});
  }
  return true;
}

}  // namespace

PyObject* set_callbacks(PyObject* self, PyObject* args) {
  PyObject *names = nullptr, *dtypes = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &names, &PyDict_Type, &dtypes)) return nullptr;
  PythonCallbacks& callbacks = collector_of(self).callbacks;
  for (const LentRow& row : kLent) {
    PyObject* object = PyDict_GetItemString(names, row.name);
    if (object == nullptr && row.member == &PythonCallbacks::write_modules) continue;  // no modules
    if (object == nullptr) return PyErr_Format(PyExc_KeyError, "missing callback %s", row.name);
    callbacks.*row.member = PyRef::share(object);
  }
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dtypes, &at, &key, &item);) {
    const char* name = PyUnicode_AsUTF8(item);
    const std::optional<DType> dtype = name ? parse_dtype(name) : std::nullopt;
    if (!dtype) continue;
    Py_INCREF(key);
    callbacks.dtypes.emplace(key, *dtype);
  }
  Py_RETURN_NONE;
}

PyObject* configure(PyObject* self, PyObject* given) {
  if (!PyDict_Check(given)) return PyErr_Format(PyExc_TypeError, "settings must be a dict");
  Settings& settings = collector_of(self).settings;
  Filter& filter = collector_of(self).filter;
  const std::string summary = text_of(given, "summary_mode");
  settings.style = truth_of(given, "legacy") ? RecordStyle::kLegacy : RecordStyle::kDump;
  settings.summary = summary == "md5"   ? Summary::kCrc32
                     : summary == "xor" ? Summary::kXor
                                        : Summary::kStatistics;
  settings.saves_tensors = truth_of(given, "saves_tensors");
  settings.tensor_names = texts_of(given, "tensor_list");
  settings.only_overflow = truth_of(given, "only_overflow");
  settings.only_raised = truth_of(given, "only_raised");
  settings.high_precision = truth_of(given, "high_precision");
  const bool mindspore = text_of(given, "framework") == "mindspore";
  settings.file_suffix = mindspore ? ".npy" : ".pt";
  settings.rule = mindspore ? StatisticsRule::kMindSpore : StatisticsRule::kPyTorch;
  settings.writes_requires_grad = !mindspore;
  if (!read_cuts(given, settings.cuts)) return nullptr;
  collector_of(self).tree.is_on = truth_of(given, "tree");
  filter.names = texts_of(given, "list");
  const std::vector<std::string> scope = texts_of(given, "scope");
  filter.scope_begin = scope.size() == 2 ? scope[0] : "";
  filter.scope_end = scope.size() == 2 ? scope[1] : "";
  filter.in_scope = filter.scope_begin.empty();
  filter.forward = truth_of(given, "forward");
  filter.backward = truth_of(given, "backward");
  filter.input = truth_of(given, "input");
  filter.output = truth_of(given, "output");
  PyObject* limit = PyDict_GetItemString(given, "max_pending_bytes");
  const std::size_t bytes = limit ? PyLong_AsSize_t(limit) : 0;
  if (PyErr_Occurred()) return nullptr;
  collector_of(self).recorder = std::make_unique<Recorder>(bytes);
  if (settings.style == RecordStyle::kLegacy) {
    collector_of(self).backward_recorder = std::make_unique<Recorder>(bytes);
    collector_of(self).stack_recorder = std::make_unique<Recorder>(bytes);
  }
  Py_RETURN_NONE;
}

PyObject* set_apis(PyObject* self, PyObject* args) {
  PyObject *functions = nullptr, *operators = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &functions, &PyList_Type, &operators)) {
    return nullptr;
  }
  Collector& collector = collector_of(self);
  std::unordered_map<std::string, RecordedApi*> made;
  const auto api = [&](const char* prefix, const char* name) {
    RecordedApi*& found = made[std::string(prefix) + "." + name];
    if (found == nullptr) {
      const bool is_dropout = std::string_view(name).find("dropout") != std::string_view::npos;
      collector.apis.push_back(
          std::make_unique<RecordedApi>(RecordedApi{prefix, name, 0, is_dropout, {}}));
      found = collector.apis.back().get();
    }
    return found;
  };
  for (PyObject* list : {functions, operators}) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      PyObject* key = nullptr;
      const char *prefix = nullptr, *name = nullptr;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "Oss", &key, &prefix, &name)) return nullptr;
      if (list == functions) {
        collector.kept.push_back(PyRef::share(key));
        collector.api_of_function.try_emplace(key, api(prefix, name));
      } else {
        const char* text = PyUnicode_AsUTF8(key);
        if (text == nullptr) return nullptr;
        collector.api_of_operator[text] = api(prefix, name);
      }
    }
  }
  Py_RETURN_NONE;
}

}  // namespace msprobe::collect
