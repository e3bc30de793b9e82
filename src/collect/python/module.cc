// The Python module msprobe._collect: class Collector, and operator().
#include <new>

#include "collect/python/collector.h"

namespace msprobe::collect {
namespace {

Collector& collector_of(PyObject* self) { return *reinterpret_cast<Collector*>(self); }

PyObject* none_or_error(const std::optional<Error>& error) {
  if (error) return PyUnicode_FromString(error->message.c_str());
  Py_RETURN_NONE;
}

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

// What is lent, by name.
struct LentRow {
  const char* name;
  PyRef Lent::* member;
};

constexpr LentRow kLent[] = {
    {"tensor_type", &Lent::tensor_type},
    {"parameter_type", &Lent::parameter_type},
    {"size_type", &Lent::size_type},
    {"strided_layout", &Lent::strided_layout},
    {"describe_special", &Lent::describe_special},
    {"read_special", &Lent::read_special},
    {"call_site", &Lent::call_site},
    {"defaults", &Lent::defaults},
    {"trim_arguments", &Lent::trim_arguments},
    {"frame_text", &Lent::frame_text},
    {"is_grad_enabled", &Lent::is_grad_enabled},
    {"disable_torch_function", &Lent::disable_torch_function},
    {"report", &Lent::report},
    {"backward", &Lent::backward},
    {"autograd_backward", &Lent::autograd_backward},
    {"mode", &Lent::mode},
    {"write_modules", &Lent::write_modules},
    {"overrides_file", &Lent::overrides_file},
    {"handler_code", &Lent::handler_code},
    {"dispatch_code", &Lent::dispatch_code},
};

PyObject* create(PyTypeObject* type, PyObject* /*args*/, PyObject* /*kwargs*/) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  // What stands behind the object's head is a C++ object.
  const PyObject head = *self;
  new (self) Collector();
  *self = head;
  return self;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  {
    // The recorders write what is left before they end.
    const WithoutGil unlocked;
    collector_of(self).recorder.reset();
    collector_of(self).backward_recorder.reset();
    collector_of(self).stack_recorder.reset();
  }
  const PyObject head = *self;
  collector_of(self).~Collector();
  *self = head;
  type->tp_free(self);
  Py_DECREF(type);
}

// lend(names: dict, dtypes: dict of dtype object to name). What a framework does not have is None.
PyObject* lend(PyObject* self, PyObject* args) {
  PyObject *names = nullptr, *dtypes = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &names, &PyDict_Type, &dtypes)) return nullptr;
  Lent& lent = collector_of(self).lent;
  for (const LentRow& row : kLent) {
    PyObject* object = PyDict_GetItemString(names, row.name);
    if (object == nullptr && row.member == &Lent::write_modules) continue;  // no modules
    if (object == nullptr) return PyErr_Format(PyExc_KeyError, "%s is not lent", row.name);
    lent.*row.member = PyRef::share(object);
  }
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dtypes, &at, &key, &item);) {
    const char* name = PyUnicode_AsUTF8(item);
    const std::optional<DType> dtype = name ? parse_dtype(name) : std::nullopt;
    if (!dtype) continue;
    Py_INCREF(key);
    lent.dtypes.emplace(key, *dtype);
  }
  Py_RETURN_NONE;
}

// configure(settings: dict)
PyObject* configure(PyObject* self, PyObject* given) {
  if (!PyDict_Check(given)) return PyErr_Format(PyExc_TypeError, "settings must be a dict");
  Settings& settings = collector_of(self).settings;
  Filter& filter = collector_of(self).filter;
  const std::string summary = text_of(given, "summary_mode");
  settings.style = truth_of(given, "legacy") ? Style::kLegacy : Style::kDump;
  settings.summary = summary == "md5"   ? Summary::kCrc32
                     : summary == "xor" ? Summary::kXor
                                        : Summary::kStatistics;
  settings.saves_tensors = truth_of(given, "saves_tensors");
  settings.tensor_names = texts_of(given, "tensor_list");
  settings.only_overflow = truth_of(given, "only_overflow");
  settings.high_precision = truth_of(given, "high_precision");
  const bool mindspore = text_of(given, "framework") == "mindspore";
  settings.file_suffix = mindspore ? ".npy" : ".pt";
  settings.rule = mindspore ? StatisticsRule::kMindSpore : StatisticsRule::kPyTorch;
  settings.writes_requires_grad = !mindspore;
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
  if (settings.style == Style::kLegacy) {
    collector_of(self).backward_recorder = std::make_unique<Recorder>(bytes);
    collector_of(self).stack_recorder = std::make_unique<Recorder>(bytes);
  }
  Py_RETURN_NONE;
}

// set_apis(functions, operators): lists of (function or operator's name, prefix, api)
PyObject* set_apis(PyObject* self, PyObject* args) {
  PyObject *functions = nullptr, *operators = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &functions, &PyList_Type, &operators)) {
    return nullptr;
  }
  Collector& collector = collector_of(self);
  std::unordered_map<std::string, Api*> made;
  const auto api = [&](const char* prefix, const char* name) {
    Api*& found = made[std::string(prefix) + "." + name];
    if (found == nullptr) {
      const bool is_dropout = std::string_view(name).find("dropout") != std::string_view::npos;
      collector.apis.push_back(std::make_unique<Api>(Api{prefix, name, 0, is_dropout}));
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

PyObject* with_files(PyObject* self, PyObject* args,
                     Result<void> (Recorder::*use)(const StepFiles&)) {
  const char *path = nullptr, *head = nullptr, *tail = nullptr, *stack = nullptr, *data = nullptr;
  const char* construct = "";
  if (!PyArg_ParseTuple(args, "sssss|s", &path, &head, &tail, &stack, &data, &construct)) {
    return nullptr;
  }
  Collector& collector = collector_of(self);
  if (!collector.recorder)
    return PyErr_Format(PyExc_RuntimeError, "a forked child records nothing");
  collector.settings.data_directory = data;
  Result<void> used;
  {
    const WithoutGil unlocked;
    used = (collector.recorder.get()->*use)({path, head, tail, stack, construct});
  }
  if (!used) return PyErr_Format(PyExc_OSError, "%s", used.error().message.c_str());
  Py_RETURN_NONE;
}

// open_step(dump_path, dump_head, dump_tail, stack_path, data_directory, construct_path=""): a new
// step; counters start again at 0.
PyObject* open_step(PyObject* self, PyObject* args) {
  return with_files(self, args, &Recorder::open_step);
}

// move_step(as open_step): the files of this step were moved there.
PyObject* move_step(PyObject* self, PyObject* args) {
  return with_files(self, args, &Recorder::move_step);
}

// open_legacy(forward_path, backward_path, stack_path, forward_directory, backward_directory)
PyObject* open_legacy(PyObject* self, PyObject* args) {
  const char *paths[3] = {}, *data = nullptr, *gradients = nullptr;
  if (!PyArg_ParseTuple(args, "sssss", &paths[0], &paths[1], &paths[2], &data, &gradients)) {
    return nullptr;
  }
  Collector& collector = collector_of(self);
  collector.settings.data_directory = data;
  collector.settings.backward_directory = gradients;
  Recorder* recorders[] = {collector.recorder.get(), collector.backward_recorder.get(),
                           collector.stack_recorder.get()};
  for (int i = 0; i < 3; ++i) {
    const Result<void> opened = recorders[i]->open_step({paths[i], "{", "\n}"});
    if (!opened) return PyErr_Format(PyExc_OSError, "%s", opened.error().message.c_str());
  }
  Py_RETURN_NONE;
}

// end_step(): gradients of calls made so far are no longer recorded; a scope begins anew.
PyObject* end_step(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  ++collector.step;
  if (collector.recorder) {
    const WithoutGil unlocked;
    collector.recorder->end_step();
  }
  collector.filter.in_scope = collector.filter.scope_begin.empty();
  collector.backward_names.clear();
  collector.tree.clear();
  collector.modules_wait = false;
  for (const auto& api : collector.apis) api->calls = 0;
  Py_RETURN_NONE;
}

PyObject* start(PyObject* self, PyObject* /*unused*/) {
  collector_of(self).active = collector_of(self).recorder != nullptr;
  Py_RETURN_NONE;
}

PyObject* stop(PyObject* self, PyObject* /*unused*/) {
  collector_of(self).active = false;
  Py_RETURN_NONE;
}

PyObject* is_inside(PyObject* /*self*/, PyObject* /*unused*/) {
  return PyBool_FromLong(OwnWork::is_running());
}

PyObject* begin_call_method(PyObject* self, PyObject* given) {
  PyObject *function = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO!O!", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) {
    return nullptr;
  }
  return begin_call(collector_of(self), function, args, kwargs);
}

PyObject* entry(PyObject* self, PyObject* given) {
  const char* name = PyUnicode_AsUTF8(given);
  return name ? make_module_entry(collector_of(self), name) : nullptr;
}

// enter_module(name) -> the call around it, to be given to leave_module.
PyObject* enter_module(PyObject* self, PyObject* given) {
  const char* name = PyUnicode_AsUTF8(given);
  if (name == nullptr) return nullptr;
  Collector& collector = collector_of(self);
  if (!collector.recorder) return PyUnicode_FromString("");
  return PyUnicode_FromString(collector.tree.enter(*collector.recorder, name).c_str());
}

PyObject* leave_module(PyObject* /*self*/, PyObject* given) {
  const char* outer = PyUnicode_AsUTF8(given);
  if (outer == nullptr) return nullptr;
  ModuleTree::leave(outer);
  Py_RETURN_NONE;
}

// module_backward(forward entry, event): 0, it is to be expected; 1, it begins; 2, it ends.
PyObject* module_backward(PyObject* self, PyObject* given) {
  const char* forward = nullptr;
  int event = 0;
  if (!PyArg_ParseTuple(given, "si", &forward, &event)) return nullptr;
  Collector& collector = collector_of(self);
  if (!collector.recorder) Py_RETURN_NONE;
  if (event == 0) collector.tree.expect_backward(forward);
  if (event == 1) collector.tree.begin_backward(*collector.recorder, forward);
  if (event == 2) collector.tree.end_backward(forward);
  Py_RETURN_NONE;
}

// own_work(whether): nothing is recorded on this thread until it ends.
PyObject* own_work(PyObject* /*self*/, PyObject* whether) {
  whether == Py_True ? OwnWork::begin() : OwnWork::end();
  Py_RETURN_NONE;
}

// let_modules_wait(whether): write_modules is called before the next gradients are recorded.
PyObject* let_modules_wait(PyObject* self, PyObject* whether) {
  collector_of(self).modules_wait = whether == Py_True;
  Py_RETURN_NONE;
}

// flush() -> None, or what went wrong: everything recorded so far is in its files.
PyObject* flush(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  std::optional<Error> error;
  {
    const WithoutGil unlocked;
    for (Recorder* recorder : {collector.recorder.get(), collector.backward_recorder.get(),
                               collector.stack_recorder.get()}) {
      std::optional<Error> found = recorder ? recorder->flush() : std::nullopt;
      if (found && !error) error = std::move(found);
    }
  }
  return none_or_error(error);
}

// free_memory(): collection ended.
PyObject* free_memory(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  if (collector.recorder) collector.recorder->free_memory();
  Py_RETURN_NONE;
}

// forget(): in a forked child, whose recorder threads do not exist, nothing is recorded or awaited.
PyObject* forget(PyObject* self, PyObject* /*unused*/) {
  Collector& collector = collector_of(self);
  collector.active = false;
  static_cast<void>(collector.recorder.release());
  static_cast<void>(collector.backward_recorder.release());
  static_cast<void>(collector.stack_recorder.release());
  Py_RETURN_NONE;
}

// collector(mode, func, types, args=(), kwargs=None): what stands as __torch_function__ in a mode.
PyObject* override_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"self", "func", "types", "args", "kwargs", nullptr};
  PyObject *mode = nullptr, *func = nullptr, *types = nullptr, *given = nullptr, *named = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|OO", const_cast<char**>(names), &mode, &func,
                                   &types, &given, &named)) {
    return nullptr;
  }
  const PyRef empty = PyRef::take(given ? nullptr : PyTuple_New(0));
  return torch_function(collector_of(self), func, given ? given : empty.get(), named);
}

// PyTorch takes only a method of the mode there, so it becomes one when it is looked up.
PyObject* bind(PyObject* self, PyObject* mode, PyObject* /*type*/) {
  if (mode == nullptr || mode == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, mode);
}

// Python wants these writable.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyMethodDef methods[] = {{"lend", &lend, METH_VARARGS, nullptr},
                         {"configure", &configure, METH_O, nullptr},
                         {"set_apis", &set_apis, METH_VARARGS, nullptr},
                         {"open_step", &open_step, METH_VARARGS, nullptr},
                         {"move_step", &move_step, METH_VARARGS, nullptr},
                         {"open_legacy", &open_legacy, METH_VARARGS, nullptr},
                         {"end_step", &end_step, METH_NOARGS, nullptr},
                         {"start", &start, METH_NOARGS, nullptr},
                         {"stop", &stop, METH_NOARGS, nullptr},
                         {"is_inside", &is_inside, METH_NOARGS, nullptr},
                         {"begin_call", &begin_call_method, METH_VARARGS, nullptr},
                         {"entry", &entry, METH_O, nullptr},
                         {"enter_module", &enter_module, METH_O, nullptr},
                         {"leave_module", &leave_module, METH_O, nullptr},
                         {"module_backward", &module_backward, METH_VARARGS, nullptr},
                         {"let_modules_wait", &let_modules_wait, METH_O, nullptr},
                         {"own_work", &own_work, METH_O, nullptr},
                         {"flush", &flush, METH_NOARGS, nullptr},
                         {"free_memory", &free_memory, METH_NOARGS, nullptr},
                         {"forget", &forget, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                       {Py_tp_call, reinterpret_cast<void*>(&override_call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"msprobe._collect.Collector", sizeof(Collector), 0, Py_TPFLAGS_DEFAULT, slots};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

PyObject* operator_function(PyObject* /*module*/, PyObject* args) {
  const char* name = nullptr;
  PyObject* original = nullptr;
  if (!PyArg_ParseTuple(args, "sO", &name, &original)) return nullptr;
  return make_operator(name, original);
}

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
PyMethodDef functions[] = {{"operator", &operator_function, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_collect", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace
}  // namespace msprobe::collect

// NOLINTNEXTLINE(readability-identifier-naming): Python looks for this name
PyMODINIT_FUNC PyInit__collect() {
  using namespace msprobe::collect;  // NOLINT(google-build-using-namespace)
  PyRef module = PyRef::take(PyModule_Create(&definition));
  if (!module || !ready_backward_hook(module.get()) || !ready_operator(module.get()) ||
      !ready_open_call(module.get()) || !ready_module_entry(module.get()))
    return nullptr;
  const PyRef type = PyRef::take(PyType_FromSpec(&spec));
  if (!type || PyObject_SetAttrString(module.get(), "Collector", type.get()) != 0) return nullptr;
  return module.release();
}
