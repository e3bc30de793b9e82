// SPDX-License-Identifier: Apache-2.0
#include "collect/python/call_frames.h"

#include <algorithm>

#include <frameobject.h>

#include "collect/json_text.h"
#include "collect/python/collector.h"

namespace msprobe::collect {
namespace {

PyRef code_of(PyObject* frame) {
  return PyRef::take(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame))));
}

PyRef back(PyObject* frame) {
  return PyRef::take(
      reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame))));
}

int offset_of(PyObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(reinterpret_cast<PyFrameObject*>(frame));
#else
  const PyRef offset = attribute<"f_lasti">(frame);
  return offset ? static_cast<int>(PyLong_AsLong(offset.get())) : -1;
#endif
}

bool in_file(PyObject* code, PyObject* file) {
  PyObject* name = reinterpret_cast<PyCodeObject*>(code)->co_filename;
  return name == file || PyUnicode_Compare(name, file) == 0;
}

// The names of a code object's parameters, without *args and **kwargs.
PyRef parameter_names(PyObject* code) {
  const PyRef names = attribute<"co_varnames">(code);
  const auto* plain = reinterpret_cast<PyCodeObject*>(code);
  if (!names || (plain->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) != 0) return {};
  return PyRef::take(
      PyTuple_GetSlice(names.get(), 0, plain->co_argcount + plain->co_kwonlyargcount));
}

// The parameters of a Python function, and what an override is given for them: the first ones by
// position, the others by name, whether the caller wrote them or not.
struct Parameters {
  PyObject *names, *defaults, *args, *kwargs;

  Py_ssize_t find(PyObject* name) const {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      PyObject* other = PyTuple_GET_ITEM(names, i);
      if (other == name || PyUnicode_Compare(other, name) == 0) return i;
    }
    return -1;
  }
  PyObject* value(Py_ssize_t index) const {
    if (index < PyTuple_GET_SIZE(args)) return PyTuple_GET_ITEM(args, index);
    return kwargs ? PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names, index)) : nullptr;
  }
  // Equal numbers and texts count as the same.
  bool is_default(Py_ssize_t index) const {
    PyObject* given = value(index);
    PyObject* usual = defaults ? PyDict_GetItem(defaults, PyTuple_GET_ITEM(names, index)) : nullptr;
    if (given == nullptr || given == usual) return true;
    if (usual == nullptr || Py_TYPE(given) != Py_TYPE(usual)) return false;
    const bool plain =
        PyLong_Check(given) || PyFloat_CheckExact(given) || PyUnicode_CheckExact(given);
    return plain && PyObject_RichCompareBool(given, usual, Py_EQ) == 1;
  }
};

// The arguments as written at the call site. False if more were given: the function was not called
// there itself, but by another callable (functools.partial).
bool take_as_written(const WrittenArguments& site, const Parameters& parameters, Origin& origin) {
  PyObject* names = parameters.names;
  Py_ssize_t count = site.positional;
  if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "self") == 0) ++count;
  if (count > PyTuple_GET_SIZE(names)) return false;
  PyRef positional = PyRef::take(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* value = parameters.value(i);
    if (value == nullptr) return false;
    Py_INCREF(value);
    PyTuple_SET_ITEM(positional.get(), i, value);
  }
  PyRef named = PyRef::take(PyDict_New());
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(site.keywords.get()); ++k) {
    PyObject* name = PyTuple_GET_ITEM(site.keywords.get(), k);
    const Py_ssize_t index = parameters.find(name);
    PyObject* value = index < 0 ? nullptr : parameters.value(index);
    if (value == nullptr) return false;
    PyDict_SetItem(named.get(), name, value);
  }
  for (Py_ssize_t i = count; i < PyTuple_GET_SIZE(names); ++i) {
    const bool answer = PyDict_Contains(named.get(), PyTuple_GET_ITEM(names, i)) == 1;
    if (!answer && !parameters.is_default(i)) return false;
  }
  origin.args = std::move(positional);
  origin.kwargs = std::move(named);
  return true;
}

}  // namespace

void CallFrames::keep(PyObject* object) { kept_.try_emplace(object, PyRef::share(object)); }

Origin CallFrames::origin(const PythonCallbacks& callbacks, PyObject* func, PyObject* args,
                          PyObject* kwargs) {
  Origin found;
  found.args = PyRef::share(args);
  found.kwargs = PyRef::share(kwargs);
  PyRef frame = PyRef::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  bool from_python = false;
  while (frame) {
    const PyRef code = code_of(frame.get());
    if (!in_file(code.get(), callbacks.overrides_file.get())) break;
    from_python = from_python || code.get() == callbacks.handler_code.get();
    frame = back(frame.get());
  }
  if (!frame || !from_python) {
    found.caller = std::move(frame);
    return found;
  }
  found.api_frame = frame;
  found.caller = back(frame.get());
  if (found.caller) recover_arguments(callbacks, func, args, kwargs, found);
  return found;
}

void CallFrames::recover_arguments(const PythonCallbacks& callbacks, PyObject* func, PyObject* args,
                                   PyObject* kwargs, Origin& origin) {
  // F.max_pool2d and its like are chosen between by a function of two plain parameters.
  if (code_of(origin.caller.get()).get() == callbacks.dispatch_code.get()) {
    const PyRef locals = attribute<"f_locals">(origin.caller.get());
    const PyRef given =
        PyRef::take(locals ? PyMapping_GetItemString(locals.get(), "args") : nullptr);
    const PyRef named =
        PyRef::take(given ? PyMapping_GetItemString(locals.get(), "kwargs") : nullptr);
    if (named && PyTuple_Check(given.get()) && PyDict_Check(named.get())) {
      origin.args = given;
      origin.kwargs = PyRef::take(PyDict_Copy(named.get()));
    }
    drop_exception();
    origin.caller = back(origin.caller.get());
    return;
  }
  const PyRef names = parameter_names(code_of(origin.api_frame.get()).get());
  if (!names || PyTuple_GET_SIZE(names.get()) == 0) return drop_exception();
  const WrittenArguments& written = site(callbacks, origin.caller.get());
  const PyRef defaults = defaults_of(callbacks, func);
  const Parameters parameters{names.get(), defaults.get(), args, kwargs};
  if (written.known && take_as_written(written, parameters, origin)) return;
  PyRef trimmed = PyRef::take(PyObject_CallFunctionObjArgs(
      callbacks.trim_arguments.get(), func, args, kwargs ? kwargs : Py_None, nullptr));
  if (trimmed && PyDict_Check(trimmed.get())) origin.kwargs = std::move(trimmed);
  drop_exception();
}

PyRef CallFrames::defaults_of(const PythonCallbacks& callbacks, PyObject* func) {
  const auto found = defaults_.find(func);
  if (found != defaults_.end()) return found->second;
  keep(func);
  const PyRef answer = PyRef::take(PyObject_CallOneArg(callbacks.defaults.get(), func));
  drop_exception();
  return defaults_.try_emplace(func, answer).first->second;
}

const WrittenArguments& CallFrames::site(const PythonCallbacks& callbacks, PyObject* frame) {
  const PyRef code = code_of(frame);
  const Place place{code.get(), offset_of(frame)};
  const auto found = sites_.find(place);
  if (found != sites_.end()) return found->second;
  keep(code.get());
  // Another thread may come by while Python runs: nothing is stored before it is known.
  const PyRef answer =
      PyRef::take(PyObject_CallFunction(callbacks.call_site.get(), "Oi", code.get(), place.offset));
  WrittenArguments site;
  if (answer && PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == 2) {
    site.positional = PyLong_AsSsize_t(PyTuple_GET_ITEM(answer.get(), 0));
    site.keywords = PyRef::share(PyTuple_GET_ITEM(answer.get(), 1));
    site.known = PyTuple_Check(site.keywords.get()) != 0;
  }
  drop_exception();
  return sites_.try_emplace(place, std::move(site)).first->second;
}

std::size_t CallFrames::child(const PythonCallbacks& callbacks, std::size_t node,
                              const Place& place, PyObject* frame) {
  const auto found = nodes_[node].inner.find(place);
  if (found != nodes_[node].inner.end()) return found->second;
  keep(place.code);
  Node inner;
  inner.outer = node;
  const auto* code = reinterpret_cast<PyCodeObject*>(place.code);
  const int line = PyFrame_GetLineNumber(reinterpret_cast<PyFrameObject*>(frame));
  const PyRef text = PyRef::take(PyObject_CallFunction(callbacks.frame_text.get(), "OiO",
                                                       code->co_filename, line, code->co_name));
  if (text && PyUnicode_Check(text.get())) {
    const char* utf8 = PyUnicode_AsUTF8(text.get());
    if (utf8 != nullptr) inner.text = utf8;
  }
  if (!inner.text.empty()) {
    const PyRef kind =
        PyRef::take(PyObject_CallOneArg(callbacks.frame_kind.get(), code->co_filename));
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    inner.kind = static_cast<SourceOwner>(kind ? PyLong_AsLong(kind.get()) : 0);
    if (file != nullptr) inner.line = std::string(file) + ":" + std::to_string(line);
  }
  drop_exception();
  nodes_.push_back(std::move(inner));
  nodes_[node].inner.emplace(place, nodes_.size() - 1);
  return nodes_.size() - 1;
}

CallStack CallFrames::stack(const PythonCallbacks& callbacks, PyObject* frame, std::size_t depth) {
  std::vector<std::pair<Place, PyRef>> stack;
  std::vector<PyObject*> modules;
  for (PyRef at = PyRef::share(frame); at; at = back(at.get())) {
    const PyRef code = code_of(at.get());
    if (code.get() == callbacks.module_call_code.get()) modules.push_back(at.get());
    stack.emplace_back(Place{code.get(), offset_of(at.get())}, at);
  }
  std::size_t node = 0;
  for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
    node = child(callbacks, node, at->first, at->second.get());
  }
  if (nodes_[node].json.empty()) write_stack(nodes_[node], depth);
  const std::string module = modules_.innermost(callbacks, modules);
  std::string site;
  if (!module.empty()) {
    JsonText json(JsonText::Layout::kOneLine);
    json.key("module");
    json.string(module);
    site = json.take();
  }
  const std::string& lines = nodes_[node].lines;
  site += (site.empty() || lines.empty() ? "" : ", ") + lines;
  return {&nodes_[node].json, site.empty() ? site : "{" + site + "}"};
}

void CallFrames::write_stack(Node& node, std::size_t depth) const {
  JsonText frames(JsonText::Layout::kIndented, depth);
  frames.begin_array();
  bool any = false;
  const Node *innermost = nullptr, *users = nullptr;
  for (const Node* at = &node; at != &nodes_.front(); at = &nodes_[at->outer]) {
    if (at->text.empty()) continue;
    frames.string(at->text);
    any = true;
    if (innermost == nullptr && at->kind != SourceOwner::kFramework) innermost = at;
    if (users == nullptr && at->kind == SourceOwner::kUser) users = at;
  }
  if (!any) frames.string("The call stack retrieval failed.");
  frames.end_array();
  const auto member = [](const char* key, const Node& at) {
    JsonText json(JsonText::Layout::kOneLine);
    json.key(key);
    json.string(at.line);
    return json.take();
  };
  if (innermost != nullptr) node.lines = member("line", *innermost);
  if (users != nullptr && users != innermost) node.lines += ", " + member("user_line", *users);
  node.json = frames.take();
}

}  // namespace msprobe::collect
