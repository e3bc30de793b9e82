// SPDX-License-Identifier: Apache-2.0
// msprobe._pair: the metrics of two tensors whose bytes Python lends, without a copy. Answers are
// JSON, which Python reads.
#define PY_SSIZE_T_CLEAN
#include <optional>
#include <string>
#include <string_view>

#include <Python.h>

#include "core/json_writer.h"
#include "metrics/beyond.h"
#include "metrics/pair.h"

namespace msprobe::metrics {
namespace {

// One argument (buffer, dtype, shape), as long as it is looked at.
class LentTensor {
 public:
  LentTensor() = default;
  LentTensor(const LentTensor&) = delete;
  LentTensor& operator=(const LentTensor&) = delete;
  ~LentTensor() {
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }

  // False: a Python exception is set.
  bool open(PyObject* lent) {
    const char* dtype_text = nullptr;
    PyObject* bytes = nullptr;
    PyObject* extents = nullptr;
    if (!PyArg_ParseTuple(lent, "OsO!", &bytes, &dtype_text, &PyTuple_Type, &extents)) return false;
    if (PyObject_GetBuffer(bytes, &buffer_, PyBUF_SIMPLE) != 0) return false;
    const std::optional<DType> dtype = parse_dtype(dtype_text);
    if (!dtype) {
      PyErr_Format(PyExc_TypeError, "unknown dtype '%s'", dtype_text);
      return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(extents); ++i) {
      shape_.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(extents, i)));
      if (PyErr_Occurred() != nullptr) return false;
    }
    const Result<std::size_t> wanted = byte_count(shape_, *dtype);
    const auto size = static_cast<std::size_t>(buffer_.len);
    if (!wanted || *wanted != size) {
      PyErr_Format(PyExc_ValueError, "%zd bytes do not fit the shape of a %s", buffer_.len,
                   dtype_text);
      return false;
    }
    view_ = {*dtype, shape_, {static_cast<const std::byte*>(buffer_.buf), size}};
    return true;
  }

  const TensorView& view() const { return view_; }

 private:
  Py_buffer buffer_{};
  Shape shape_;
  TensorView view_;
};

// compare(actual, expected, api, threads) -> JSON of `msprobe metrics --json`, the expected tensor
// being the benchmark.
PyObject* compare(PyObject* /*module*/, PyObject* arguments) {
  PyObject* actual = nullptr;
  PyObject* expected = nullptr;
  const char* api = nullptr;
  int threads = 1;
  if (!PyArg_ParseTuple(arguments, "OOsi", &actual, &expected, &api, &threads)) return nullptr;
  LentTensor device;
  LentTensor bench;
  if (!device.open(actual) || !bench.open(expected)) return nullptr;
  std::string text;
  Py_BEGIN_ALLOW_THREADS;
  const documented::Standards standards;
  const Evaluation answer =
      evaluate(bench.view(), device.view(), {.api = api, .threads = threads}, standards);
  text = to_json(answer, documented::Profile::kDocumented);
  Py_END_ALLOW_THREADS;
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

std::string beyond_json(const TensorView& device, const TensorView& bench,
                        const Tolerance& tolerance) {
  const Beyond found = find_beyond(device, bench, tolerance);
  JsonWriter json;
  json.begin_object();
  json.key("count").value(static_cast<std::int64_t>(found.count));
  json.key("worst_at").value(found.worst_at);
  json.key("actual").value(found.device);
  json.key("expected").value(found.bench);
  json.key("error").value(found.error);
  json.key("over").value(found.over);
  json.key("ulp").value(found.ulp);
  json.key("rtol").value(tolerance.relative);
  json.key("atol").value(tolerance.absolute);
  json.key("small_value").value(tolerance.small_value);
  json.end_object();
  return json.text();
}

// beyond(actual, expected[, rtol, atol]) -> JSON: which elements are beyond the tolerance of
// actual's dtype, or beyond atol + rtol * |expected|.
PyObject* beyond(PyObject* /*module*/, PyObject* arguments) {
  PyObject* actual = nullptr;
  PyObject* expected = nullptr;
  double rtol = -1;
  double atol = -1;
  if (!PyArg_ParseTuple(arguments, "OO|dd", &actual, &expected, &rtol, &atol)) return nullptr;
  LentTensor device;
  LentTensor bench;
  if (!device.open(actual) || !bench.open(expected)) return nullptr;
  if (device.view().numel() != bench.view().numel()) {
    PyErr_SetString(PyExc_ValueError, "the tensors differ in their number of elements");
    return nullptr;
  }
  std::string text;
  Py_BEGIN_ALLOW_THREADS;
  const bool given = rtol >= 0 && atol >= 0;
  const Tolerance tolerance = given ? Tolerance{.relative = rtol, .absolute = atol, .is_sum = true}
                                    : tolerance_of(device.view().dtype);
  text = beyond_json(device.view(), bench.view(), tolerance);
  Py_END_ALLOW_THREADS;
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyMethodDef kMethods[] = {
    {"compare", compare, METH_VARARGS, "compare(actual, expected, api, threads) -> JSON"},
    {"beyond", beyond, METH_VARARGS, "beyond(actual, expected[, rtol, atol]) -> JSON"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "_pair",
                       "The metrics of two tensors.",
                       -1,
                       kMethods,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

}  // namespace
}  // namespace msprobe::metrics

// Seen from outside: Python 3.8 leaves that to the module.
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__pair();

PyMODINIT_FUNC PyInit__pair() { return PyModule_Create(&msprobe::metrics::kModule); }
