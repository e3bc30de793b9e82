// SPDX-License-Identifier: Apache-2.0
// Python objects that are owned, and what every file here needs of the Python interface.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <algorithm>
#include <cstddef>
#include <utility>

#include <Python.h>

#if PY_VERSION_HEX < 0x03090000  // what Python 3.8 has under other names
#include <frameobject.h>
inline PyObject* PyObject_CallNoArgs(PyObject* callable) {
  return PyObject_CallObject(callable, nullptr);
}
inline PyObject* PyObject_CallOneArg(PyObject* callable, PyObject* argument) {
  return PyObject_CallFunctionObjArgs(callable, argument, nullptr);
}
inline PyObject* PyObject_CallMethodNoArgs(PyObject* object, PyObject* name) {
  return PyObject_CallMethodObjArgs(object, name, nullptr);
}
inline PyObject* PyObject_CallMethodOneArg(PyObject* object, PyObject* name, PyObject* argument) {
  return PyObject_CallMethodObjArgs(object, name, argument, nullptr);
}
inline PyCodeObject* PyFrame_GetCode(PyFrameObject* frame) {
  Py_INCREF(frame->f_code);
  return frame->f_code;
}
inline PyFrameObject* PyFrame_GetBack(PyFrameObject* frame) {
  Py_XINCREF(frame->f_back);
  return frame->f_back;
}
#endif

namespace msprobe::collect {

// One reference to a Python object, or none. The interpreter's lock is held wherever one is made,
// copied or destroyed.
class PyRef {
 public:
  PyRef() = default;
  static PyRef take(PyObject* object) { return PyRef(object); }
  static PyRef share(PyObject* object) {
    Py_XINCREF(object);
    return PyRef(object);
  }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef(const PyRef& other) : object_(other.object_) { Py_XINCREF(object_); }
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit PyRef(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// The name of an attribute, in attribute<"shape">(tensor).
template <std::size_t kSize>
struct AttributeName {
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval AttributeName(const char (&given)[kSize]) { std::copy_n(given, kSize, text); }
  char text[kSize];
};

// The same text object every time. Python's cache of attributes compares names by address, so a
// new object would be looked up in every base class.
template <AttributeName kName>
PyObject* interned() {
  static PyObject* const name = PyUnicode_InternFromString(kName.text);
  return name;
}

template <AttributeName kName>
PyRef attribute(PyObject* object) {
  return PyRef::take(PyObject_GetAttr(object, interned<kName>()));
}

template <AttributeName kName>
PyRef call_method(PyObject* object) {
  return PyRef::take(PyObject_CallMethodNoArgs(object, interned<kName>()));
}

// Drops the pending exception, which is one of our own work. That of the user at the keyboard comes
// again, in the training.
inline void drop_exception() {
  const bool interrupted =
      PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
  PyErr_Clear();
  if (interrupted) PyErr_SetInterrupt();
}

// Lets other Python threads run while C++ works on memory that is kept alive by the caller.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace msprobe::collect
