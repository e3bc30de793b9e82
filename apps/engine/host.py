# SPDX-License-Identifier: Apache-2.0
"""Runs the engine of msprobe in the user's Python: for devices whose plug-in of PyTorch lives there, and for functions of the user's.

python -c THIS DIRECTORY VERSION MODULE ARGUMENTS...: DIRECTORY holds msprobe-engine and its library, built on PyTorch VERSION (a package
has one for each version beside it), MODULE is the plug-in ("": none; "?name": if it is installed), ARGUMENTS are those of msprobe-engine.
"""
import sys

# Before anything else is imported: a file in the current directory is no module of ours.
sys.path[:] = [place for place in sys.path if place.startswith("/")]

import os  # noqa: E402

if os.environ.get("PYTHONSAFEPATH") == "msprobe":  # set for the start of this process, not for those that a plug-in starts
    del os.environ["PYTHONSAFEPATH"]

# Before the plug-in is imported: what it prints must not get among the frames, what it starts must not read the requests.
REQUESTS, FRAMES = os.dup(0), os.dup(1)
NULL = os.open(os.devnull, os.O_RDONLY)
os.dup2(NULL, 0)
os.dup2(2, 1)

import ctypes  # noqa: E402
import importlib  # noqa: E402
import importlib.util  # noqa: E402
import struct  # noqa: E402

LIBRARY = "libmsprobe-engine.so"
FATAL = 1  # protocol/frames.h
CANNOT_WORK = 2
LONGEST = 400
WITHOUT_MODULE = {"intel_extension_for_pytorch"}  # PyTorch itself may have the device
PACKAGES = {"habana_frameworks.torch": "habana-torch-plugin"}
# What is missing where a library of the vendor cannot be found, and where there is no device.
VENDOR_LIBRARIES = {"torch_npu": "source CANN's set_env.sh", "torch_musa": "put MUSA's libraries on LD_LIBRARY_PATH",
                    "torch_mlu": "source Neuware's env.sh"}
NO_DEVICES = {"torch_npu": "look at what npu-smi info lists, and at ASCEND_RT_VISIBLE_DEVICES"}


class CannotWork(Exception):
    """What is wrong, and what to do."""


def first_cause(error):
    seen = []
    while error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__ or error
    return error


def first_line(error):
    if isinstance(error, SystemExit):
        return f"its import exits with {error.code}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:LONGEST]


def explained(error, module, torch):
    """One line: why a module cannot be imported, and what to do."""
    cause = first_cause(error)
    text = first_line(cause)
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        if module == cause.name or module.startswith(cause.name + "."):
            name = "PyTorch" if module == "torch" else module
            return (f"{sys.executable} has no {name}: install it there (pip install {PACKAGES.get(module, module)}), or name the Python "
                    "that has it: MSPROBE_PYTHON=PATH")
        return f"{text}, which {module} needs: install it ({sys.executable} -m pip install {cause.name})"
    if "cannot open shared object file" in text:
        library = text.split(":")[0]
        return f"{library}: cannot open shared object file: {VENDOR_LIBRARIES.get(module, 'put its directory on LD_LIBRARY_PATH')}"
    if "undefined symbol" in text and torch is not None:
        return f"{module} was built for another PyTorch than {torch.__version__}, which {sys.executable} has: install the pair that fits ({text})"
    return f"{module} cannot be imported: {text}"


def imported(module, torch=None):
    if module in WITHOUT_MODULE and importlib.util.find_spec(module) is None:
        return None
    try:
        return importlib.import_module(module)
    except BaseException as error:  # a plug-in may even exit
        raise CannotWork(explained(error, module, torch)) from error


def library_for(directory, built, torch):
    version = ".".join(torch.__version__.split(".")[:2])
    parent, name = os.path.split(directory)
    if name.startswith("torch-"):  # a package: torch-2.13, torch-2.6
        directory = os.path.join(parent, "torch-" + version)
        known = sorted(entry[len("torch-"):] for entry in os.listdir(parent) if entry.startswith("torch-"))
    else:
        known = [built]
    library = os.path.join(directory, LIBRARY)
    if version not in known or not os.path.exists(library):
        raise CannotWork(f"this engine is built for PyTorch {' and '.join(known)}, and {sys.executable} has {torch.__version__}: name a Python "
                         "with such a PyTorch (MSPROBE_PYTHON=PATH), or build an engine for this one (docs/pytorch_versions.md)")
    return library


def count_devices(module, torch, kind):
    """An error if the plug-in can say that there is no device at all. Asking may be what makes it look for them (torch_xla)."""
    counts = (getattr(place, "device_count", None) for place in (getattr(torch, kind, None), sys.modules.get(module)))
    count = next((each for each in counts if each is not None), None)
    if count is None:
        return
    try:
        found = count()
    except BaseException as error:
        raise CannotWork(f"{module} cannot count its devices: {first_line(first_cause(error))}") from error
    if found == 0:
        raise CannotWork(f"{module} finds none: {NO_DEVICES.get(module, 'look at its own tools')}")


def take_jit_compile(module, torch, wanted):
    """Whether the plug-in knows the setting."""
    if module != "torch_npu":
        return False
    try:
        torch.npu.set_compile_mode(jit_compile=wanted)
        torch.npu.config.allow_internal_format = wanted
    except Exception:
        return False
    return True


def value_of(arguments, name):
    for place, word in enumerate(arguments):
        if word == name and place + 1 < len(arguments):
            return arguments[place + 1]
        if word.startswith(name + "="):
            return word[len(name) + 1:]
    return ""


def loaded(library):
    try:
        return ctypes.CDLL(library)
    except OSError as error:
        raise CannotWork(f"{sys.executable} cannot load the engine: {first_line(error)}") from error


def load_plugin(module, torch, arguments):
    """Whether it took the setting of jit_compile; None where there is no plug-in."""
    if module.startswith("?"):
        module = module[1:] if importlib.util.find_spec(module[1:].split(".")[0]) else ""
    if not module:
        return None
    imported(module, torch)
    kind = value_of(arguments, "--device").split(":")[0]
    count_devices(module, torch, torch._C._get_privateuse1_backend_name() if kind.isdigit() else kind)
    return take_jit_compile(module, torch, "--jit-compile" in arguments)


def packages(directory):
    """Where the Python package of this engine's msprobe may be: beside it in a wheel, an installation, or a clone."""
    above = [directory]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    for place in above[:5]:
        yield place
        yield os.path.join(place, "python", "msprobe")
        lib = os.path.join(place, "lib")
        for name in sorted(os.listdir(lib)) if os.path.isdir(lib) else []:
            if name.startswith("python3"):
                yield from (os.path.join(lib, name, packages, "msprobe") for packages in ("site-packages", "dist-packages"))


def import_functions(directory):
    """msprobe.functions of the package that belongs to this engine, whatever else is called msprobe here."""
    package = next((place for place in packages(directory) if os.path.isfile(os.path.join(place, "functions", "__init__.py"))), None)
    if package is not None:
        spec = importlib.util.spec_from_file_location("msprobe", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
        sys.modules["msprobe"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["msprobe"])
    try:
        return importlib.import_module("msprobe.functions.host")
    except ImportError as error:
        raise CannotWork(f"{sys.executable} has no Python package of this msprobe ({first_line(error)}): install it there (pip install msprobe)") from error


def give_functions(engine, directory, arguments):
    """Hands the functions of --reference and --kernel, or those that torch.compile makes, to the engine."""
    reference, kernel = value_of(arguments, "--reference"), value_of(arguments, "--kernel")
    inductor = value_of(arguments, "--device").split(",")[0].split(":")[0] == "inductor"
    if not (reference or kernel or inductor):
        return
    host = import_functions(directory)
    try:
        host.give(engine, reference, kernel, inductor)
    except host.FileError as error:
        raise CannotWork(str(error)) from error


def run(directory, built, module, arguments):
    torch = imported("torch")
    library = library_for(directory, built, torch)
    jit = load_plugin(module, torch, arguments)
    engine = loaded(library)
    give_functions(engine, directory, arguments)
    words = [os.fsencode(word) for word in ["msprobe-engine", *arguments]]
    return engine.msprobe_engine_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None), REQUESTS, FRAMES, int(jit is not None),
                                      int(bool(jit)))


def go_on_without(directory, arguments):
    """Of several devices (npu:0,cuda:0,cpu) the first that exists counts: the engine goes on with the others."""
    left = [word.split(",", 1)[1] if "," in word and arguments[place - 1:place] == ["--device"] else word for place, word in enumerate(arguments)]
    os.dup2(REQUESTS, 0)
    os.dup2(FRAMES, 1)
    program = os.path.join(directory, "msprobe-engine")
    os.execv(program, [program, *left])


def main():
    directory, built, module, *arguments = sys.argv[1:]
    # Other plug-ins that are installed are not needed, and what is wrong with this one is seen where it is imported.
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    os.environ.setdefault("TORCH_NPU_FALLBACK_CPU_DISABLE", "1")  # what has no kernel must not pass as the CPU's result
    device = value_of(arguments, "--device")
    try:
        status = run(directory, built, module, arguments)
    except CannotWork as error:
        if "," in device:
            go_on_without(directory, arguments)
        functions = value_of(arguments, "--reference") or value_of(arguments, "--kernel")
        message = (str(error) if functions and not module.strip("?") else f"no device {device}: {error}").encode()
        os.write(FRAMES, struct.pack("=QBQ", len(message) + 8, FATAL, len(message)) + message)
        status = CANNOT_WORK
    os._exit(status)  # plug-ins may wait or crash while Python cleans up


main()
