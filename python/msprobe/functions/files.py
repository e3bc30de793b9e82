# SPDX-License-Identifier: Apache-2.0
"""The files that --reference and --kernel name: imported once, and what is said of an error in them."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import traceback
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional

from msprobe import functions

LONGEST = 300


class FileError(Exception):
    """A file of functions that cannot be used; one line."""


class InsideEngine(BaseException):
    """msprobe.verify() was reached while its own file is imported again: what stands above it is there."""


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else "")[:LONGEST]


def place_of(error: BaseException, path: str) -> str:
    """" (ops.py, line 12)": where in the user's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == path]
    if isinstance(error, SyntaxError) and error.filename and os.path.abspath(error.filename) == path:
        lines = [error.lineno]
    return f" ({os.path.basename(path)}, line {lines[-1]})" if lines else ""


def described(error: BaseException, path: str) -> str:
    """"ValueError: bad shape (ops.py, line 12)"."""
    text = first_line(error)
    return f"{type(error).__name__}{': ' + text if text else ''}{place_of(error, path)}"


def imported(path: str) -> ModuleType:
    """Its own directory is searched for modules, too: the user named the file."""
    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == path:
        return known
    if known is not None or name in sys.builtin_module_names:
        name = "msprobe_user_" + name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileError(f"{path} is no file of Python: its name ends with .py")
    directory = os.path.dirname(path)
    if directory not in sys.path:
        sys.path.append(directory)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except InsideEngine:
        pass
    except BaseException:
        del sys.modules[name]
        raise
    return module


def named_in(path: str, decorator: str) -> List[str]:
    """The APIs that a file names in its decorators, read without running it."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    names = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0]
        if called == decorator and isinstance(first, ast.Constant) and isinstance(first.value, str):
            names.append(functions.api_name(first.value))
    return names


def _failing(text: str) -> Callable[..., Any]:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise FileError(text)

    return fail


def load(path: str, decorator: str, option: str) -> None:
    """Fills functions.REFERENCES or KERNELS. Of a file that cannot be imported, the calls of each API that it names fail with the reason."""
    path = os.path.abspath(path)
    known: Dict[str, functions.Function] = functions.REFERENCES if decorator == "reference" else functions.KERNELS
    try:
        imported(path)
    except BaseException as error:
        reason = f"{os.path.basename(path)} cannot be imported: {described(error, path)}"
        names = named_in(path, decorator)
        if not names:
            raise FileError(f"{option} {reason}") from error
        for name in names:
            known[name] = functions.Function(name, _failing(reason))
        return
    if not known:
        raise FileError(f"{option} {path} has no function that is decorated with @msprobe.{decorator}(\"Functional.layer_norm\"), say")


def named_function(given: str, kind: str) -> Callable[..., Any]:
    """Of "kernel.py:softmax", or of a file with one function of that name, or with one function alone."""
    path, colon, name = given.rpartition(":")
    if not colon or not name.isidentifier():
        path, name = given, ""
    if not os.path.isfile(path):
        raise FileError(f"{path}: no such file")
    try:
        module = imported(path)
    except BaseException as error:
        raise FileError(f"{path} cannot be imported: {described(error, os.path.abspath(path))}") from error
    if name:
        found: Optional[Any] = getattr(module, name, None)
        if not callable(found):
            raise FileError(f"{path} has no function {name}")
        return found
    own = {key: value for key, value in vars(module).items()
           if callable(value) and not key.startswith("_") and getattr(value, "__module__", None) == module.__name__ and not isinstance(value, type)}
    if kind in own:
        return own[kind]
    if len(own) == 1:
        return next(iter(own.values()))
    raise FileError(f"{path} has {'no function' if not own else 'several functions (' + ', '.join(sorted(own)) + ')'}: name one, {path}:NAME")
