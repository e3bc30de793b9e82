// SPDX-License-Identifier: Apache-2.0
// msprobe verify: one kernel against one reference. Both are Python: so this becomes the user's
// Python, which makes the cases and judges them with the engine's library (msprobe.verify).
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/python_environment.h"
#include "own_files.h"

namespace msprobe::app {
namespace {

// Finds the package that belongs to this program, whatever else is called msprobe.
constexpr const char* kBegin =
    "import importlib.util, os\n"
    "if os.environ.get('PYTHONSAFEPATH') == 'msprobe':\n"
    "    del os.environ['PYTHONSAFEPATH']\n"
    "def places(above):\n"
    "    for _ in range(5):\n"
    "        yield above\n"
    "        yield os.path.join(above, 'python', 'msprobe')\n"
    "        lib = os.path.join(above, 'lib')\n"
    "        for name in sorted(os.listdir(lib)) if os.path.isdir(lib) else []:\n"
    "            for packages in ('site-packages', 'dist-packages'):\n"
    "                yield os.path.join(lib, name, packages, 'msprobe')\n"
    "        above = os.path.dirname(above)\n"
    "package = next((place for place in places(os.path.dirname(sys.argv[1]))\n"
    "                if os.path.isfile(os.path.join(place, 'functions', '__init__.py'))), None)\n"
    "if package is not None:\n"
    "    spec = importlib.util.spec_from_file_location('msprobe', os.path.join(package, "
    "'__init__.py'),\n"
    "                                                  submodule_search_locations=[package])\n"
    "    sys.modules['msprobe'] = importlib.util.module_from_spec(spec)\n"
    "    spec.loader.exec_module(sys.modules['msprobe'])\n"
    "    os.environ.setdefault('MSPROBE_PROGRAM', sys.argv[1])\n"
    "try:\n"
    "    from msprobe.functions.verify_command import main\n"
    "except ImportError as error:\n"
    "    print(f'[ERROR] {sys.executable} cannot verify kernels: {error}; name a Python that has "
    "'\n"
    "          'PyTorch: MSPROBE_PYTHON=PATH', file=sys.stderr)\n"
    "    sys.exit(2)\n"
    "main(sys.argv[2:])\n";

struct VerifyArguments {
  std::string kernel, reference;
  std::optional<std::uint64_t> seed;
  std::string dtypes;
  double timeout = 60;
  int cases = 0;
  bool json = false;
  std::string fail_on = "wrong";
};

ExitStatus run(const VerifyArguments& arguments) {
  std::vector<std::string> words{user_python(),
                                 "-c",
                                 std::string(kCleanPythonPath) + kBegin,
                                 this_program().string(),
                                 arguments.kernel,
                                 arguments.reference};
  const auto add = [&](const char* name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  if (arguments.seed) add("--seed", std::to_string(*arguments.seed));
  if (!arguments.dtypes.empty()) add("--dtypes", arguments.dtypes);
  if (arguments.cases > 0) add("--cases", std::to_string(arguments.cases));
  add("--timeout", fmt::format("{}", arguments.timeout));
  add("--fail-on", arguments.fail_on);
  if (arguments.json) words.emplace_back("--json");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  PythonEnvironment environment;
  ::execvpe(pointers[0], pointers.data(), environment.get());
  return refuse({ErrorKind::kIo,
                 fmt::format("kernels need a Python, and {} cannot be started ({}): name one that "
                             "has PyTorch: MSPROBE_PYTHON=PATH",
                             words[0], std::strerror(errno))});
}

}  // namespace

Run declare_verify(cli::Parser& command) {
  auto arguments = std::make_shared<VerifyArguments>();
  command.group("Input");
  command
      .value("KERNEL", arguments->kernel,
             "kernel.py, or kernel.py:NAME: a function; in KernelBench's form, its class ModelNew")
      .required();
  command
      .value("REFERENCE", arguments->reference,
             "reference.py, or reference.py:NAME: the same in plain PyTorch, and get_inputs(), "
             "which returns one example of the arguments")
      .required();
  command.value("--seed", arguments->seed, "seed of the cases, to repeat a run");
  command.value("--dtypes", arguments->dtypes, "those to try, as in float32,bfloat16")
      .named("LIST");
  command.value("--cases", arguments->cases, "stop after this many").between(0, 100000);
  command.value("--timeout", arguments->timeout, "a kernel that takes longer hangs")
      .named("SECONDS")
      .positive()
      .shows_default();
  command.group("Output");
  command.flag("--json", arguments->json, "print the result as JSON");
  command
      .value("--fail-on", arguments->fail_on,
             "what makes the exit status 1: wrong (default), or inconclusive too")
      .one_of({"wrong", "inconclusive"});
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
