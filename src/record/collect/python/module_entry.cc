// SPDX-License-Identifier: Apache-2.0
// Entries of modules, which Python code puts together: entry() and its methods.
#include <algorithm>

#include "collect/python/describe.h"

namespace msprobe::collect {
namespace {

std::string without_slashes(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

// What is written of one entry so far.
struct Draft {
  Draft(Collector& owner, const std::string& entry_name)
      : name(entry_name),
        step(owner.step),
        json(JsonText::Layout::kIndented, 2),
        describer(owner, without_slashes(entry_name), json) {
    json.begin_object();
  }
  std::string text() {
    json.end_object();
    JsonText key(JsonText::Layout::kOneLine);
    key.key(name);
    return ",\n  " + key.take() + json.take();
  }

  std::string name;
  std::uint64_t step;
  JsonText json;
  Describer describer;
  std::optional<std::uint64_t> number;  // of the entry, if it has a place already
  bool dirty_inputs = false, overflow = false;
};

struct ModuleEntry {
  PyObject_HEAD;
  Collector* collector;
  Draft* draft;  // null: ended
};

ModuleEntry& entry_of(PyObject* self) { return *reinterpret_cast<ModuleEntry*>(self); }

// The draft, where something may still be added to it.
Draft* open_draft(PyObject* self) {
  const ModuleEntry& entry = entry_of(self);
  return entry.collector->recorder ? entry.draft : nullptr;
}

template <class Describe>
PyObject* add(PyObject* self, const char* key, const Describe& describe) {
  Draft* draft = open_draft(self);
  if (draft == nullptr) Py_RETURN_NONE;
  Collector& collector = *entry_of(self).collector;
  const RecordingSuspended inside;
  const Undisturbed undisturbed(collector.callbacks);
  draft->json.key(key);
  describe(*draft);
  report_and_clear(collector, "describing a module");
  Py_RETURN_NONE;
}

// inputs(key, values: tuple)
PyObject* inputs(PyObject* self, PyObject* given) {
  const char* key = nullptr;
  PyObject* values = nullptr;
  if (!PyArg_ParseTuple(given, "sO", &key, &values)) return nullptr;
  return add(self, key, [&](Draft& draft) {
    draft.describer.sequence(values, "input");
    draft.dirty_inputs = draft.describer.take_overflow() || draft.dirty_inputs;
  });
}

// keywords(values: dict)
PyObject* keywords(PyObject* self, PyObject* values) {
  return add(self, "input_kwargs", [&](Draft& draft) {
    draft.describer.keywords(values);
    draft.dirty_inputs = draft.describer.take_overflow() || draft.dirty_inputs;
  });
}

// result(value): a tuple element by element
PyObject* result(PyObject* self, PyObject* value) {
  return add(self, "output", [&](Draft& draft) {
    draft.describer.result(value);
    draft.overflow = draft.describer.take_overflow() || draft.overflow;
  });
}

// parameters(values: dict)
PyObject* parameters(PyObject* self, PyObject* values) {
  return add(self, "parameters", [&](Draft& draft) {
    draft.describer.named(values, "parameters");
    draft.describer.take_overflow();
  });
}

// gradient(parameter's name, tensor)
PyObject* gradient(PyObject* self, PyObject* given) {
  const char* name = nullptr;
  PyObject* tensor = nullptr;
  if (!PyArg_ParseTuple(given, "sO", &name, &tensor)) return nullptr;
  return add(self, name, [&](Draft& draft) {
    draft.describer.only(tensor, without_slashes(name));
    draft.overflow = draft.describer.take_overflow() || draft.overflow;
  });
}

// take_place(): calls recorded from now on follow this entry.
PyObject* take_place(PyObject* self, PyObject* /*unused*/) {
  Draft* draft = open_draft(self);
  Collector& collector = *entry_of(self).collector;
  if (draft != nullptr && !collector.settings.keeps_back() && collector.step == draft->step) {
    draft->number = collector.recorder->begin("");
  }
  Py_RETURN_NONE;
}

// finish(): the entry is complete. finish(True) adds the stack of the caller.
PyObject* finish(PyObject* self, PyObject* given) {
  int with_stack = 0;
  if (!PyArg_ParseTuple(given, "|p", &with_stack)) return nullptr;
  Draft* found = open_draft(self);
  if (found == nullptr) Py_RETURN_NONE;
  entry_of(self).draft = nullptr;
  const std::unique_ptr<Draft> draft(found);
  Collector& collector = *entry_of(self).collector;
  if (collector.settings.only_overflow && (draft->dirty_inputs || !draft->overflow)) Py_RETURN_NONE;
  if (collector.settings.keeps_back()) draft->describer.save_files();
  if (collector.step != draft->step) Py_RETURN_NONE;
  if (with_stack != 0) {
    auto* frame = reinterpret_cast<PyObject*>(PyEval_GetFrame());
    const CallStack stack = collector.frames.stack(collector.callbacks, frame, 2);
    collector.recorder->add_stack(draft->name, *stack.frames, stack.site);
    ++collector.recorded_calls;
  }
  if (!draft->number) draft->number = collector.recorder->begin("");
  collector.recorder->finish(*draft->number, draft->text());
  Py_RETURN_NONE;
}

void destroy(PyObject* self) {
  ModuleEntry& entry = entry_of(self);
  if (entry.draft != nullptr && entry.collector->recorder) {
    if (entry.draft->number) entry.collector->recorder->finish(*entry.draft->number, "");
    delete entry
        .draft;  // in a forked child it would give memory back to a recorder that is not there
  }
  Py_DECREF(reinterpret_cast<PyObject*>(entry.collector));
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// Python needs these writable.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyTypeObject* entry_type = nullptr;  // made once, when the module is loaded
PyMethodDef methods[] = {{"inputs", &inputs, METH_VARARGS, nullptr},
                         {"keywords", &keywords, METH_O, nullptr},
                         {"result", &result, METH_O, nullptr},
                         {"parameters", &parameters, METH_O, nullptr},
                         {"gradient", &gradient, METH_VARARGS, nullptr},
                         {"take_place", &take_place, METH_NOARGS, nullptr},
                         {"finish", &finish, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)}, {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"msprobe._collect.ModuleEntry", sizeof(ModuleEntry), 0, Py_TPFLAGS_DEFAULT,
                    slots};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

bool ready_module_entry(PyObject* /*module*/) {
  entry_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return entry_type != nullptr;
}

PyObject* save_value(Collector& collector, const char* name, const char* part, PyObject* value) {
  if (!collector.recorder) Py_RETURN_NONE;
  const RecordingSuspended inside;
  const Undisturbed undisturbed(collector.callbacks);
  JsonText json(JsonText::Layout::kIndented, 2);
  Describer describer(collector, without_slashes(name), json);
  describer.alone(value, part);
  report_and_clear(collector, "describing a value");
  const std::string full = std::string(name) + "." + part;
  JsonText key(JsonText::Layout::kOneLine);
  key.key(full);
  auto* frame = reinterpret_cast<PyObject*>(PyEval_GetFrame());
  const CallStack stack = collector.frames.stack(collector.callbacks, frame, 2);
  collector.recorder->add_stack(full, *stack.frames, stack.site);
  const std::uint64_t number = collector.recorder->begin("");
  collector.recorder->finish(number, ",\n  " + key.take() + json.take());
  ++collector.recorded_calls;
  Py_RETURN_NONE;
}

PyObject* make_module_entry(Collector& collector, const char* name) {
  if (!collector.recorder || !wants(collector.filter, name)) Py_RETURN_NONE;
  PyObject* self = entry_type->tp_alloc(entry_type, 0);
  if (self == nullptr) return nullptr;
  Py_INCREF(reinterpret_cast<PyObject*>(&collector));
  entry_of(self).collector = &collector;
  entry_of(self).draft = new Draft(collector, name);
  return self;
}

}  // namespace msprobe::collect
