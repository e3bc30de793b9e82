// SPDX-License-Identifier: Apache-2.0
// Where a call comes from: the frames of stack.json, and how its arguments were written.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/python/module_paths.h"
#include "collect/python/py_ref.h"

namespace msprobe::collect {

struct PythonCallbacks;

// A call site read from its byte code: the number of positional arguments, and the keywords.
struct WrittenArguments {
  bool known = false;
  Py_ssize_t positional = 0;
  PyRef keywords;  // tuple of names
};

struct Origin {
  PyRef caller;        // frame of the code that called the API
  PyRef api_frame;     // frame of the API itself where it is a Python function
  PyRef args, kwargs;  // as the caller wrote them where they could be recovered
};

// Whose line of source it is.
enum class SourceOwner : std::uint8_t { kFramework, kLibrary, kUser };

struct CallStack {
  const std::string* frames = nullptr;  // a JSON array
  std::string site;  // a JSON object: the module, the innermost line outside of the framework, and
                     // the user's innermost line
};

class CallFrames {
 public:
  // REQUIRES: called while the API's torch function override runs.
  Origin origin(const PythonCallbacks& callbacks, PyObject* func, PyObject* args, PyObject* kwargs);

  // The frames from `frame` outwards, `depth` levels deep in their file. Frames that were met
  // before cost no more than a look-up.
  CallStack stack(const PythonCallbacks& callbacks, PyObject* frame, std::size_t depth);

  // The arguments of a Python function as they were written at the call.
  void recover_arguments(const PythonCallbacks& callbacks, PyObject* func, PyObject* args,
                         PyObject* kwargs, Origin& origin);

 private:
  struct Place {
    PyObject* code = nullptr;  // kept alive by kept_
    int offset = 0;
    auto operator<=>(const Place&) const = default;
  };
  // A node of the tree of stacks met so far, whose root is the outermost frame.
  struct Node {
    std::map<Place, std::size_t> inner;
    std::size_t outer = 0;
    std::string text;  // of this frame; empty: not shown
    std::string line;  // file:line
    SourceOwner kind = SourceOwner::kFramework;
    std::string json;   // of the whole stack, once it was asked for
    std::string lines;  // the members of a site that tell lines, likewise
  };
  const WrittenArguments& site(const PythonCallbacks& callbacks, PyObject* frame);
  std::size_t child(const PythonCallbacks& callbacks, std::size_t node, const Place& place,
                    PyObject* frame);
  void write_stack(Node& node, std::size_t depth) const;
  // The default values of a Python function's parameters, by name.
  PyRef defaults_of(const PythonCallbacks& callbacks, PyObject* func);
  void keep(PyObject* object);

  std::deque<Node> nodes_{Node{}};  // texts are referred to while nodes are added
  std::map<Place, WrittenArguments> sites_;
  std::unordered_map<PyObject*, PyRef> defaults_;  // of functions, kept alive by kept_
  std::unordered_map<PyObject*, PyRef> kept_;
  ModulePaths modules_;
};

}  // namespace msprobe::collect
