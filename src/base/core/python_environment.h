// SPDX-License-Identifier: Apache-2.0
// The environment of a Python that this program starts: nothing in it leads to a module of the
// current directory.
#pragma once

#include <string>
#include <vector>

namespace msprobe {

// The environment of this process, but PYTHONPATH keeps its absolute entries only (Python takes an
// empty one for the current directory), other variables that name a directory of code count if it
// is absolute, and PYTHONSAFEPATH is set: with it Python 3.11 and newer do
// not look for modules in the current directory. For older ones the text that is run removes that
// entry from sys.path before it imports anything; 3.13 imports something before it runs the text,
// so that one needs both. A text that goes on to run code of the user takes the variable away again
// if its value is "msprobe".
class PythonEnvironment {
 public:
  PythonEnvironment();
  PythonEnvironment(const PythonEnvironment&) = delete;
  PythonEnvironment& operator=(const PythonEnvironment&) = delete;

  char* const* get() { return pointers_.data(); }  // for exec
  const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
  std::vector<char*> pointers_;
};

// The Python of the user: $MSPROBE_PYTHON, else that of the active environment, else python3 on the
// PATH.
std::string user_python();

// "/a:/b" of "/a::b:/b:".
std::string absolute_entries(const std::string& search_path);

// What every Python text that is run begins with, before its first import.
inline constexpr const char* kCleanPythonPath =
    "import sys\n"
    "sys.path[:] = [place for place in sys.path if place.startswith('/')]\n";

}  // namespace msprobe
