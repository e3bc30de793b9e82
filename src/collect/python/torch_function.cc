// What happens at every call that PyTorch lets be overridden: pass it on, and record it where it is
// in the list.
#include <cstring>
#include <optional>

#include "collect/python/describe.h"

namespace msprobe::collect {
namespace {

// Recorded calls and descriptions that run on this thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local int own_work = 0;

PyObject* call(PyObject* func, PyObject* args, PyObject* kwargs) {
  return PyObject_Call(func, args, kwargs);
}

bool wants_text(const std::string& name, const std::vector<std::string>& parts) {
  if (parts.empty()) return true;
  for (const std::string& part : parts) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

// Tensor.backward checks for an override first; called from here it would run the whole backward
// pass, recomputed checkpoints included, with overrides off. What it stands for has no such check.
PyObject* run_backward(Collector& collector, PyObject* args, PyObject* kwargs) {
  const PyRef entered =
      PyRef::take(PyObject_CallMethod(collector.lent.mode.get(), "__enter__", nullptr));
  if (!entered) return nullptr;
  PyRef result = PyRef::take(PyObject_Call(collector.lent.autograd_backward.get(), args, kwargs));
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PyRef left = PyRef::take(
      PyObject_CallMethod(collector.lent.mode.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  if (type != nullptr) PyErr_Restore(type, value, traceback);
  return result.release();
}

// An entry whose call is running: its number, and its text so far.
class RunningCall {
 public:
  RunningCall(Collector& collector, std::string name, std::string key)
      : collector_(collector),
        name_(std::move(name)),
        key_(std::move(key)),
        legacy_(collector.settings.style == Style::kLegacy),
        json_(legacy_ ? JsonText::Layout::kOneLine : JsonText::Layout::kIndented, 2),
        describer_(collector, key_, json_) {}

  void begin(const Origin& origin) {
    json_.begin_object();
    if (legacy_ || collector_.filter.input) describe_inputs(origin);
    dirty_inputs_ = describer_.take_overflow();
    if (!collector_.settings.only_overflow) number_ = collector_.recorder->begin(text(true));
    if (origin.caller) {
      stack_ = &collector_.frames.stack_json(collector_.lent, origin.caller.get(), legacy_ ? 1 : 2);
      if (!collector_.settings.only_overflow) add_stack();
    }
  }

  void end(PyObject* result) {
    if (!legacy_ && result != nullptr && collector_.filter.output) {
      json_.key("output");
      describer_.result(result);
    }
    json_.end_object();
    const bool overflow = describer_.take_overflow();
    if (collector_.settings.only_overflow) {
      if (dirty_inputs_ || !overflow) return;
      number_ = collector_.recorder->begin("");
      add_stack();
      describer_.save_files();
    }
    collector_.recorder->finish(*number_, text(false));
  }

 private:
  void describe_inputs(const Origin& origin) {
    json_.key(legacy_ ? "args" : "input_args");
    describer_.sequence(origin.args.get(), "input");
    json_.key(legacy_ ? "kwargs" : "input_kwargs");
    describer_.keywords(origin.kwargs.get());
  }

  std::string text(bool unfinished) {
    std::string entry = legacy_ ? ",\n\"" + key_ + "\": " : ",\n  \"" + key_ + "\": ";
    entry += json_.text();
    if (unfinished) entry += legacy_ ? "}" : "\n  }";
    return entry;
  }

  void add_stack() {
    if (stack_ == nullptr) return;
    if (!legacy_) return collector_.recorder->add_stack(name_, *stack_);
    if (!collector_.stack_recorder) return;
    const std::uint64_t number = collector_.stack_recorder->begin("");
    collector_.stack_recorder->finish(number, ",\n\"" + key_ + "\": " + *stack_);
  }

  Collector& collector_;
  std::string name_, key_;
  bool legacy_;
  bool dirty_inputs_ = false;
  JsonText json_;
  Describer describer_;
  std::optional<std::uint64_t> number_;
  const std::string* stack_ = nullptr;
};

std::string entry_key(const Collector& collector, const Api& api, const std::string& call) {
  if (collector.settings.style == Style::kDump)
    return api.prefix + "." + api.name + "." + call + ".forward";
  return api.prefix + "*" + api.name + "*" + call;
}

// A dropout that drops nothing adds no node of its own.
bool drops_nothing(const Api& api, const Origin& origin) {
  if (!api.is_dropout) return false;
  PyObject* p =
      PyTuple_GET_SIZE(origin.args.get()) > 1 ? PyTuple_GET_ITEM(origin.args.get(), 1) : nullptr;
  if (p == nullptr && origin.kwargs && PyDict_Check(origin.kwargs.get())) {
    p = PyDict_GetItemString(origin.kwargs.get(), "p");
  }
  return p != nullptr && PyFloat_Check(p) && PyFloat_AS_DOUBLE(p) == 0.0;
}

// The version of the tensor that an in-place call would change; -1 for none. It tells a call that
// changed its first argument from one that only handed it on.
long version_of_first(const Lent& lent, PyObject* args) {
  if (PyTuple_GET_SIZE(args) == 0) return -1;
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (PyObject_IsInstance(first, lent.tensor_type.get()) != 1) return -1;
  const PyRef version = PyRef::take(PyObject_GetAttrString(first, "_version"));
  const long number = version ? PyLong_AsLong(version.get()) : -1;
  PyErr_Clear();  // tensors of inference mode have no version
  return number;
}

// Whether the result is the first argument, unchanged: such a call has no autograd node.
bool handed_on(const Lent& lent, PyObject* args, long version, PyObject* result) {
  return PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) == result &&
         version_of_first(lent, args) == version;
}

PyObject* record(Collector& collector, Api& api, PyObject* func, PyObject* args, PyObject* kwargs) {
  const std::string call_number = std::to_string(api.calls++);
  const std::string base = api.prefix + "." + api.name + "." + call_number;
  const bool wanted = wants(collector.filter, base + ".forward") && collector.filter.forward;
  Origin origin;
  std::optional<RunningCall> running;
  if (wanted) {
    origin = collector.frames.origin(collector.lent, func, args, kwargs);
    running.emplace(collector, base + ".forward", entry_key(collector, api, call_number));
    running->begin(origin);
    report_and_clear(collector, "describing arguments");
  } else {
    origin.args = PyRef::share(args);
    origin.kwargs = PyRef::share(kwargs);
  }
  const long version = version_of_first(collector.lent, args);
  PyRef result;
  {
    const OwnWork inside;
    result = PyRef::take(call(func, args, kwargs));
  }
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  if (!result) PyErr_Fetch(&type, &value, &traceback);
  if (running) running->end(result.get());
  if (result && collector.filter.backward && !drops_nothing(api, origin) &&
      !handed_on(collector.lent, args, version, result.get())) {
    hook_backward(collector, result.get(), base);
  }
  report_and_clear(collector, "describing results");
  if (type != nullptr) PyErr_Restore(type, value, traceback);
  return result.release();
}

}  // namespace

OwnWork::OwnWork() { ++own_work; }
OwnWork::~OwnWork() { --own_work; }
bool OwnWork::is_running() { return own_work > 0; }

bool wants(Filter& filter, const std::string& name) {
  if (!filter.scope_begin.empty()) {
    if (name == filter.scope_begin) filter.in_scope = true;
    if (!filter.in_scope) return false;
    if (name == filter.scope_end) filter.in_scope = false;
  }
  return wants_text(name, filter.names);
}

void report_and_clear(Collector& collector, const char* doing) {
  if (PyErr_Occurred() == nullptr) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef told = PyRef::take(
      PyObject_CallFunction(collector.lent.report.get(), "sO", doing, value ? value : Py_None));
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

PyObject* torch_function(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs) {
  const char* running_operator = take_running_operator();
  if (kwargs == Py_None) kwargs = nullptr;
  if (!collector.active || OwnWork::is_running()) return call(func, args, kwargs);
  Api* api = nullptr;
  if (running_operator != nullptr) {
    const auto found = collector.api_of_operator.find(running_operator);
    if (found != collector.api_of_operator.end()) api = found->second;
  } else {
    const auto found = collector.api_of_function.find(func);
    if (found != collector.api_of_function.end()) api = found->second;
  }
  if (api != nullptr) return record(collector, *api, func, args, kwargs);
  if (func == collector.lent.backward.get()) return run_backward(collector, args, kwargs);
  return call(func, args, kwargs);
}

}  // namespace msprobe::collect
