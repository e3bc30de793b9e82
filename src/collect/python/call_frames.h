// Where a call comes from: the frames of stack.json, and how its arguments were written.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/python/py_ref.h"

namespace msprobe::collect {

struct Lent;

// A call site as its byte code tells it: how many arguments stand by position, and the keywords.
struct CallSite {
  bool known = false;
  Py_ssize_t positional = 0;
  PyRef keywords;  // tuple of names
};

struct Origin {
  PyRef caller;        // frame of the code that called the API
  PyRef api_frame;     // frame of the API itself where it is a Python function
  PyRef args, kwargs;  // as the caller wrote them where they could be recovered
};

class CallFrames {
 public:
  // REQUIRES: called while the API's torch function override runs.
  Origin origin(const Lent& lent, PyObject* func, PyObject* args, PyObject* kwargs);

  // The frames from `frame` outwards as a JSON array, `depth` levels deep in its file. Frames that
  // were met before cost no more than a look-up.
  const std::string& stack_json(const Lent& lent, PyObject* frame, std::size_t depth);

  // The arguments of a Python function as they were written at the call.
  void recover_arguments(const Lent& lent, PyObject* func, PyObject* args, PyObject* kwargs,
                         Origin& origin);

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
    std::string json;  // of the whole stack, once it was asked for
  };
  const CallSite& site(const Lent& lent, PyObject* frame);
  std::size_t child(const Lent& lent, std::size_t node, const Place& place, PyObject* frame);
  // The default values of a Python function's parameters, by name.
  PyRef defaults_of(const Lent& lent, PyObject* func);
  void keep(PyObject* object);

  std::deque<Node> nodes_{Node{}};  // texts are referred to while nodes are added
  std::map<Place, CallSite> sites_;
  std::unordered_map<PyObject*, PyRef> defaults_;  // of functions, kept alive by kept_
  std::unordered_map<PyObject*, PyRef> kept_;
};

}  // namespace msprobe::collect
