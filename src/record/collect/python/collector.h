// SPDX-License-Identifier: Apache-2.0
// The state of one collector: what is recorded, how it is written, and what has been counted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collect/python/call_frames.h"
#include "collect/python/module_tree.h"
#include "collect/python/py_ref.h"
#include "collect/recorder.h"
#include "collect/statistics.h"
#include "core/dtype.h"

namespace msprobe::collect {

// An API that is recorded. Its calls are counted from 0 in every step, over all threads.
struct RecordedApi {
  std::string prefix, name;
  std::int64_t calls = 0;
  bool is_dropout = false;
  PyRef written = {};  // asked once: a list of (index, name) of the arguments that it writes into
};

enum class RecordStyle : std::uint8_t { kDump, kLegacy };
enum class Summary : std::uint8_t { kStatistics, kCrc32, kXor };

// What the user asked to leave out.
struct Filter {
  std::vector<std::string> names;  // substrings, one of which must be in an entry's name
  std::string scope_begin, scope_end;
  bool in_scope = true;
  bool forward = true, backward = true, input = true, output = true;
};

// What is kept of a tensor whose dimension `dim` has `size` elements: those from `begin` to before
// `end` of it.
struct KeptPart {
  std::size_t dim = 0;
  std::int64_t size = 0;  // 0: any
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The tokens of one request in a batch: rows `begin` to before `end` of `total`.
struct RequestedTokens {
  std::int64_t total = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Settings {
  RecordStyle style = RecordStyle::kDump;
  Summary summary = Summary::kStatistics;
  bool saves_tensors = false;
  std::vector<std::string> tensor_names;  // entries whose tensors are saved although none are
  bool only_overflow = false;             // entries with clean inputs and overflowing outputs
  bool only_raised = false;               // entries of calls that ended by an exception
  bool high_precision = false;            // "precision": "high": neither Mean nor Norm
  std::string data_directory;             // of the tensor files of this step
  std::string backward_directory;         // legacy: those of gradients
  std::string file_suffix;  // .pt, or .npy: what numpy lacks is float32 there and in checksums
  StatisticsRule rule = StatisticsRule::kPyTorch;
  bool writes_requires_grad = true;
  std::vector<KeptPart> cuts;              // "slice"
  std::optional<RequestedTokens> request;  // what is kept of tensors with a token dimension

  // Whether an entry is recorded is known when its call has ended.
  bool keeps_back() const { return only_overflow || only_raised; }
};

// Passed by the Python side: types to recognise, and functions for rare cases.
struct PythonCallbacks {
  PyRef tensor_type, parameter_type, size_type, strided_layout;
  PyRef describe_special;  // (value, keyword) -> ("json", object), ("walk", ...), ("fields", dict)
  PyRef read_special;      // tensor -> (type, dtype, shape, CPU tensor or None, extra)
  PyRef call_site;         // (code, offset) -> (positional count, keyword names) or None
  PyRef defaults;          // func -> dict of its parameters' default values
  PyRef trim_arguments;    // (func, args, kwargs) -> kwargs without defaults
  PyRef frame_text;        // (file, line, function) -> text or None
  PyRef frame_kind;        // file -> SourceOwner
  PyRef module_names;      // module -> list of (module, path) of it and all that it holds
  PyRef module_call_code;  // of the function that runs a module
  PyRef is_grad_enabled, disable_torch_function, report;
  PyRef backward, autograd_backward;  // Tensor.backward, and what it stands for
  PyRef mode;
  PyRef classify;  // function -> what Uncovered says of it: None, (prefix, name), True, a name
  PyRef written_arguments;  // function -> the arguments that its operator writes into
  PyRef operator_mode;      // () -> a mode that shows the operators which run in it to run_operator
  PyRef wraps_tensors;      // type of a tensor -> whether it holds others and computes with these
  PyRef write_modules;      // () : backward entries of modules that wait for the next event
  PyRef overrides_file, handler_code, dispatch_code;
  std::unordered_map<PyObject*, DType> dtypes;  // objects that live as long as the process
};

// A function that is not on the list.
struct Uncovered {
  PyRef function;              // keeps its address
  RecordedApi* api = nullptr;  // recorded as this
  bool operators = false;      // its operators are recorded one by one
  std::string unseen;          // what its results are counted under
};

// Counters of a step that was left and may be gone on with.
struct ParkedStep {
  std::vector<std::pair<RecordedApi*, std::int64_t>> calls;
  std::unordered_set<std::string> backward_names;
  std::uint64_t recorded_calls = 0, seen_elements = 0;
  std::map<std::string, std::uint64_t> unseen;
  bool in_scope = true;
};

struct Collector {
  PyObject_HEAD;
  bool active = false;
  std::uint64_t step = 0;
  Settings settings;
  Filter filter;
  PythonCallbacks callbacks;
  std::unordered_map<PyObject*, RecordedApi*> api_of_function;
  std::unordered_map<std::string, RecordedApi*> api_of_operator;
  std::vector<std::unique_ptr<RecordedApi>> apis;
  std::vector<PyRef> kept;                         // the functions whose addresses are keys
  std::unordered_set<std::string> backward_names;  // written in this step
  std::unordered_map<PyObject*, Uncovered> uncovered;
  std::unordered_map<std::string, RecordedApi*> api_of_uncovered;
  std::unordered_map<PyTypeObject*, bool> wrappers;  // types of tensors that were asked for
  std::uint64_t recorded_calls = 0;                  // in this step; of modules, too
  std::uint64_t seen_elements = 0;  // of the results of recorded calls in this step
  std::map<std::string, std::uint64_t>
      unseen;  // elements that no recorded call covers, by function
  CallFrames frames;
  ModuleTree tree;
  std::map<std::string, ParkedStep> parked;
  bool modules_wait = false;  // whether write_modules has something to do
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Recorder> backward_recorder, stack_recorder;  // legacy
};

// Tells whether an entry passes the filters; a scope opens and closes as its names come by.
bool wants(Filter& filter, const std::string& name);

// Hands the pending Python exception to the log instead of the user's code.
void report_and_clear(Collector& collector, const char* doing);

// Backward entries of modules that are complete come before what is recorded next.
void write_waiting_modules(Collector& collector);

// torch_function(func, types, args=(), kwargs=None): what a TorchFunctionMode calls.
PyObject* torch_function(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs);

// A call that is recorded as one of `api`.
PyObject* record_call(Collector& collector, RecordedApi& api, PyObject* func, PyObject* args,
                      PyObject* kwargs);

// A call of a function that is not on the list.
// A call whose arguments wrap tensors: the operators that run in it are recorded.
PyObject* run_inside(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs);
PyObject* run_uncovered(Collector& collector, PyObject* func, PyObject* args, PyObject* kwargs);

// run_operator(operator, args, kwargs): what the mode of operators calls.
PyObject* run_operator(Collector& collector, PyObject* op, PyObject* args, PyObject* kwargs);

// While one lives on a thread, nothing that is called there is recorded: it belongs to a recorded
// call, or to the recording itself.
class RecordingSuspended {
 public:
  RecordingSuspended() { begin(); }
  ~RecordingSuspended() { end(); }
  RecordingSuspended(const RecordingSuspended&) = delete;
  RecordingSuspended& operator=(const RecordingSuspended&) = delete;
  static void begin();
  static void end();
  static bool is_running();
};

// Overrides are off while one lives: reading a tensor would call them. (PyTorch 1.13 calls those of
// modes all the same; RecordingSuspended keeps them from being recorded.)
class Undisturbed {
 public:
  explicit Undisturbed(const PythonCallbacks& callbacks);
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  PyRef guard_;
};

// For what is read of one tensor: only a subclass has overrides, and the user's would be called.
std::optional<Undisturbed> undisturbed_by(const PythonCallbacks& callbacks, PyObject* tensor);

// Records the gradients of a call when its autograd node runs.
struct RecordedName;
void hook_backward(Collector& collector, PyObject* result, const RecordedName& name);
// A function (leaving, arriving) that records the gradients of a call, for who hooks by himself.
PyObject* make_backward_hook(Collector& collector, const RecordedName& name);
bool ready_backward_hook(PyObject* module);

// begin_call(function, args, kwargs): an entry for a call of `function` with what is written of its
// arguments, or None if nothing is recorded. The call is run and ended by what is returned.
PyObject* begin_call(Collector& collector, PyObject* function, PyObject* args, PyObject* kwargs);
bool ready_open_call(PyObject* module);

// entry(name): an entry that Python code puts together, or None if it is filtered out.
PyObject* make_module_entry(Collector& collector, const char* name);
bool ready_module_entry(PyObject* module);

// save_value(name, part, value): an entry `name.part` that is this value alone.
PyObject* save_value(Collector& collector, const char* name, const char* part, PyObject* value);

// operator(name, original): a method that says which operator is running, then runs it.
PyObject* make_operator(const char* name, PyObject* original);
bool ready_operator(PyObject* module);
// The operator that is running on this thread, if any; asked once.
const char* take_running_operator();

}  // namespace msprobe::collect
