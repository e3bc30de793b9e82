// SPDX-License-Identifier: Apache-2.0
#include "collect/python/describe.h"

#include <algorithm>
#include <cstring>

namespace msprobe::collect {
namespace {

constexpr int kMaxDepth = 400;

bool contains_any(const std::vector<std::string>& parts, const std::string& text) {
  for (const std::string& part : parts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

// The index a slice bound stands for; false for what is not an integer.
bool as_index(PyObject* object, std::int64_t& out) {
  const PyRef index = PyRef::take(PyIndex_Check(object) ? PyNumber_Index(object) : nullptr);
  int overflow = 0;
  out = index ? PyLong_AsLongLongAndOverflow(index.get(), &overflow) : 0;
  PyErr_Clear();
  return index && overflow == 0;
}

// A key as a part of a file's name.
std::string file_part(std::string key) {
  std::ranges::replace(key, '/', '_');
  return key;
}

}  // namespace

Describer::Describer(Collector& collector, std::string name, JsonText& json)
    : collector_(collector),
      name_(std::move(name)),
      json_(json),
      directory_(collector.settings.data_directory),
      saves_(collector.settings.saves_tensors ||
             contains_any(collector.settings.tensor_names, name_)) {}

Describer::~Describer() {
  for (TensorFile& file : files_) {
    collector_.recorder->give_back(std::move(file.buffer), file.size);
  }
}

void Describer::sequence(PyObject* values, const char* category) { items(values, category, 0); }

void Describer::keywords(PyObject* values) {
  if (values == nullptr || values == Py_None) {
    json_.begin_object();
    json_.end_object();
    return;
  }
  members(values, "kwargs", 0);
}

void Describer::result(PyObject* object) {
  if (PyTuple_Check(object)) return items(object, "output", 0);
  json_.begin_array();
  value(object, "output.0", nullptr, 1);
  json_.end_array();
}

void Describer::only(PyObject* object, const std::string& part) {
  is_weight_ = true;
  json_.begin_array();
  value(object, part, nullptr, 1);
  json_.end_array();
  is_weight_ = false;
}

bool Describer::take_overflow() { return std::exchange(overflow_, false); }

void Describer::save_files() {
  for (TensorFile& file : files_) collector_.recorder->save(std::move(file));
  files_.clear();
}

void Describer::items(PyObject* values, const std::string& path, int depth) {
  json_.begin_array();
  const PyRef fast = PyRef::take(PySequence_Fast(values, "a sequence"));
  for (Py_ssize_t i = 0; fast && i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    value(PySequence_Fast_GET_ITEM(fast.get(), i), path + "." + std::to_string(i), nullptr,
          depth + 1);
  }
  json_.end_array();
}

void Describer::members(PyObject* values, const std::string& path, int depth) {
  json_.begin_object();
  PyObject *key = nullptr, *item = nullptr;
  // A copy: describing an item may run Python code that changes the dictionary.
  const PyRef copy = PyRef::take(PyDict_Copy(values));
  for (Py_ssize_t at = 0; copy && PyDict_Next(copy.get(), &at, &key, &item);) {
    const PyRef text = PyRef::take(PyObject_Str(key));
    const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (name == nullptr) {
      PyErr_Clear();
      continue;
    }
    json_.key(name);
    value(item, path + "." + file_part(name), text.get(), depth + 1);
  }
  json_.end_object();
}

void Describer::value(PyObject* object, const std::string& path, PyObject* keyword, int depth) {
  const PythonCallbacks& callbacks = collector_.callbacks;
  PyTypeObject* type = Py_TYPE(object);
  const auto is = [&](const PyRef& wanted) {
    return reinterpret_cast<PyObject*>(type) == wanted.get();
  };
  if (depth > kMaxDepth) return json_.null();
  if (object == Py_None) return none();
  if (is(callbacks.tensor_type) || is(callbacks.parameter_type)) return tensor(object, path);
  if (number(object)) return;
  if (PyUnicode_CheckExact(object)) return plain("str", object);
  if (is(callbacks.size_type)) return special(object, path, keyword, depth);
  if (PyTuple_CheckExact(object) || PyList_Check(object)) return items(object, path, depth);
  if (PyDict_Check(object)) return members(object, path, depth);
  if (PySlice_Check(object)) return slice(object);
  if (PyObject_IsInstance(object, callbacks.tensor_type.get()) == 1) return tensor(object, path);
  special(object, path, keyword, depth);
}

void Describer::none() {
  ++leaves_;
  if (collector_.settings.style == RecordStyle::kDump) return json_.null();
  json_.begin_object();
  json_.key("type");
  json_.string("NoneType");
  json_.key("value");
  json_.null();
  json_.end_object();
}

bool Describer::number(PyObject* object) {
  if (PyBool_Check(object)) {
    plain("bool", object);
  } else if (PyLong_CheckExact(object)) {
    plain("int", object);
  } else if (PyFloat_CheckExact(object)) {
    plain("float", object);
  } else {
    return false;
  }
  return true;
}

void Describer::plain(const char* type, PyObject* object) {
  ++leaves_;
  json_.begin_object();
  json_.key("type");
  json_.string(type);
  json_.key("value");
  python_json(object, 0);
  json_.end_object();
}

void Describer::slice(PyObject* object) {
  ++leaves_;
  const auto* bounds = reinterpret_cast<PySliceObject*>(object);
  json_.begin_object();
  json_.key("type");
  json_.string("slice");
  json_.key("value");
  json_.begin_array();
  for (PyObject* bound : {bounds->start, bounds->stop, bounds->step}) {
    std::int64_t index = 0;
    if (as_index(bound, index)) {
      json_.integer(index);
    } else {
      json_.null();
    }
  }
  json_.end_array();
  json_.end_object();
}

void Describer::special(PyObject* object, const std::string& path, PyObject* keyword, int depth) {
  const PyRef answer = PyRef::take(PyObject_CallFunctionObjArgs(
      collector_.callbacks.describe_special.get(), object, keyword ? keyword : Py_None, nullptr));
  if (!answer || !PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
    report_and_clear(collector_, name_.c_str());
    return json_.null();
  }
  PyObject* kind = PyTuple_GET_ITEM(answer.get(), 0);
  PyObject* inner = PyTuple_GET_ITEM(answer.get(), 1);
  if (PyUnicode_CompareWithASCIIString(kind, "walk") == 0) {
    return value(inner, path, keyword, depth + 1);
  }
  if (PyUnicode_CompareWithASCIIString(kind, "fields") == 0) return fields(inner, path, depth);
  ++leaves_;
  python_json(inner, depth);
}

// An object with a tensor among its plain fields.
void Describer::fields(PyObject* values, const std::string& path, int depth) {
  json_.begin_object();
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(values, &at, &key, &item);) {
    const char* name = PyUnicode_AsUTF8(key);
    json_.key(name);
    if (PyObject_IsInstance(item, collector_.callbacks.tensor_type.get()) == 1) {
      tensor(item, path + "." + name);
    } else {
      python_json(item, depth + 1);
    }
  }
  json_.end_object();
}

void Describer::python_json(PyObject* object, int depth) {
  if (depth > kMaxDepth || object == Py_None) return json_.null();
  if (PyBool_Check(object)) return json_.boolean(object == Py_True);
  if (PyFloat_Check(object)) return json_.real(PyFloat_AS_DOUBLE(object));
  if (PyLong_Check(object)) {
    const PyRef digits = PyRef::take(PyNumber_ToBase(object, 10));
    const char* text = digits ? PyUnicode_AsUTF8(digits.get()) : nullptr;
    PyErr_Clear();
    return json_.literal(text ? text : "null");
  }
  if (PyUnicode_Check(object)) return string(object);
  if (PyDict_Check(object)) {
    json_.begin_object();
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &item);) {
      const char* name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : nullptr;
      json_.key(name ? name : "?");
      python_json(item, depth + 1);
    }
    PyErr_Clear();
    return json_.end_object();
  }
  if (!PyList_Check(object) && !PyTuple_Check(object)) return json_.null();
  json_.begin_array();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    python_json(PySequence_Fast_GET_ITEM(object, i), depth + 1);
  }
  json_.end_array();
}

void Describer::string(PyObject* object) {
  std::vector<std::uint32_t> points(static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)));
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = PyUnicode_READ_CHAR(object, static_cast<Py_ssize_t>(i));
  }
  json_.string(points);
}

}  // namespace msprobe::collect
