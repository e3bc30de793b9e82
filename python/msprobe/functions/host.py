# SPDX-License-Identifier: Apache-2.0
"""In the engine's process: hands the functions of the user's files to the engine, and runs them when it asks."""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import sys
from typing import Any, Callable, Dict, List, Optional

import torch

from msprobe import functions
from msprobe.functions import calls, files, inductor
from msprobe.functions.files import FileError
from msprobe.functions.messages import decoded, encoded

__all__ = ["Bridge", "FileError", "give"]

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_void_p)
# THPVariable_Wrap(const at::TensorBase&), and (at::TensorBase) of older versions: both take an address.
_WRAP = ("_Z16THPVariable_WrapRKN2at10TensorBaseE", "_Z16THPVariable_WrapN2at10TensorBaseE")


def _wrapper() -> Callable[[Any], torch.Tensor]:
    library = ctypes.PyDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_python.so"))
    for name in _WRAP:
        try:
            wrap = getattr(library, name)
        except AttributeError:
            continue
        wrap.argtypes, wrap.restype = [ctypes.c_void_p], ctypes.py_object
        return wrap
    raise FileError(f"PyTorch {torch.__version__} has no THPVariable_Wrap, through which tensors come to Python")


class Bridge:
    """Between the engine's library and Python functions. `answer` gives the result of a request, or raises."""

    def __init__(self, engine: ctypes.CDLL, answer: Callable[[Dict[str, Any], List[torch.Tensor]], Any]) -> None:
        self._answer = answer
        self._wrap = _wrapper()
        self._reply = engine.msprobe_engine_answer
        self._reply.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int]
        self._reply.restype = None
        self._engine = engine
        self.run = _RUN(self._run)  # lives as long as the engine calls it

    def give(self, names: Dict[str, List[str]]) -> None:
        self._engine.msprobe_engine_set_functions(self.run, json.dumps(names).encode())

    def _run(self, request: bytes, places: Any, count: int, answer: int) -> None:
        tensors: List[torch.Tensor] = []
        try:
            given = [self._wrap(places[place]) for place in range(count)]
            value = {"value": encoded(self._answer(json.loads(request), given), tensors)}
            text = json.dumps(value, allow_nan=False).encode()
        except Refusal as error:
            tensors, text = [], json.dumps({"error": str(error), "on_device": error.on_device}).encode()
        except BaseException as error:  # SystemExit too
            tensors, text = [], json.dumps({"error": f"{type(error).__name__}: {files.first_line(error)}"}).encode()
        # The engine is asked for nothing else meanwhile: what it shares stays alive.
        implementations = (ctypes.c_void_p * max(1, len(tensors)))(*(tensor._cdata for tensor in tensors))
        self._reply(answer, text, implementations, len(tensors))


class Refusal(Exception):
    """An error as the engine passes it on."""

    def __init__(self, text: str, on_device: bool = True) -> None:
        super().__init__(text)
        self.on_device = on_device


def found(known: Dict[str, functions.Function], api: str) -> Optional[functions.Function]:
    return known.get(api) or known.get(api.partition(".")[2])


def _home(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return os.path.abspath(code.co_filename) if code is not None else ""


def _text(function: functions.Function, kind: str, error: BaseException) -> str:
    if isinstance(error, FileError):
        return str(error)
    return f"the {kind} of {function.api} raised {files.described(error, _home(function.run))}"


def answered(request: Dict[str, Any], tensors: List[torch.Tensor]) -> Any:
    """What the engine asks for: the result of a reference or a kernel, or outputs as they are compared."""
    api, what = request["api"], request["do"]
    args, kwargs = decoded(request["args"], tensors), {name: decoded(value, tensors) for name, value in request["kwargs"].items()}
    raise_to = decoded({"d": request["raised"]}, []) if request["raised"] else None
    autocast = decoded({"d": request["autocast"]}, []) if request["autocast"] else None
    known = functions.KERNELS if what == "kernel" else functions.REFERENCES
    function = found(known, api)
    if function is None:
        try:
            return inductor.run(api, args, kwargs, request["shape"])
        except inductor.NotCompiled as error:
            raise Refusal(str(error), on_device=False) from error
    try:
        if what == "compared":
            return calls.compared(function, args[0], args[1:], kwargs)
        return calls.run(function, args, kwargs, raise_to=raise_to, autocast=autocast)
    except BaseException as error:
        raise Refusal(_text(function, "postprocess" if what == "compared" else what, error)) from error


def give(engine: ctypes.CDLL, reference: str, kernel: str, with_inductor: bool) -> Bridge:
    """Imports the files, and tells the engine of what is in them. FileError: one line that says why it cannot be done."""
    os.environ["MSPROBE_INSIDE_ENGINE"] = "1"
    if reference:
        files.load(reference, "reference", "--reference")
    if kernel:
        files.load(kernel, "kernel", "--kernel")
    if with_inductor:
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    bridge = Bridge(engine, answered)
    bridge.give({"references": list(functions.REFERENCES), "kernels": ["*"] if with_inductor and not kernel else list(functions.KERNELS),
                 "compared": [name for name, function in functions.REFERENCES.items() if function.changes_comparison]})
    sys.stdout = sys.stderr  # the engine's descriptor 1 is not for prints
    _KEPT.append(bridge)
    return bridge


_KEPT: List[Bridge] = []
