# SPDX-License-Identifier: Apache-2.0
"""What a recorded call looks like in the source: its frames, and which arguments are positional."""
import dis
import importlib.util
import linecache
import os
import sysconfig
from typing import Optional, Tuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PACKAGES = ("site-packages" + os.sep, "dist-packages" + os.sep)


def _home(package: str) -> Optional[str]:
    """The directory of a package, without importing it; None if it has none."""
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # in sys.modules without a specification: a stand-in
        return None
    return os.path.dirname(found.origin) + os.sep if found is not None and found.origin else None


_FRAMEWORKS = tuple(home for home in map(_home, ("torch", "torch_npu", "mindspore")) if home)
_LIBRARIES = (*{sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")}, "<frozen ")
_PLAIN_CALLS = ("CALL", "CALL_FUNCTION", "CALL_METHOD")
_KEYWORD_CALLS = ("CALL_KW", "CALL_FUNCTION_KW")


def frame_text(file: str, line: int, function: str) -> Optional[str]:
    """One frame as stack.json has it; None for frames of this package and for frames without source."""
    if file.startswith(_PACKAGE):
        return None
    source = linecache.getline(file, line).strip()
    return f"File {file}, line {line}, in {function}, \n {source}" if source else None


def frame_kind(file: str) -> int:
    """Whose line it is: 0 the framework's, 1 another package's, 2 the user's own."""
    if file.startswith(_FRAMEWORKS):
        return 0
    return 1 if file.startswith(_LIBRARIES) or any(part in file for part in _PACKAGES) else 2


def call_site(code, offset: int) -> Optional[Tuple[int, Tuple[str, ...]]]:
    """(number of positional arguments, keywords) of the call at `offset` of `code`; None if the byte code does not tell."""
    # The offset may lie behind the call, in the cache that belongs to it.
    before = [instruction for instruction in dis.get_instructions(code)
              if instruction.offset <= offset and instruction.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG")]
    if len(before) < 2:
        return None
    instruction = before.pop()
    if instruction.arg is None:
        return None
    if instruction.opname in _PLAIN_CALLS:
        keywords = ()
        if before[-1].opname == "KW_NAMES":
            keywords = code.co_consts[before[-1].arg]
        return instruction.arg - len(keywords), keywords
    if instruction.opname in _KEYWORD_CALLS and before[-1].opname in ("LOAD_CONST", "RETURN_CONST"):
        keywords = before[-1].argval
        return instruction.arg - len(keywords), keywords
    return None


def defaults(function) -> dict:
    """The default values of a function's parameters; none where it is not written in Python."""
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    names = code.co_varnames[:code.co_argcount]
    values = getattr(function, "__defaults__", None) or ()
    return dict(zip(names[len(names) - len(values):], values), **(getattr(function, "__kwdefaults__", None) or {}))


def trim_arguments(function, args: tuple, kwargs: Optional[dict]) -> dict:
    """`kwargs` without what is only a default: an override gets every parameter, the caller wrote few."""
    usual = defaults(function)

    def is_default(name: str, value: object) -> bool:
        default = usual.get(name, usual)
        plain = isinstance(value, (bool, int, float, str)) and type(value) is type(default)
        return value is default or (plain and value == default)

    return {name: value for name, value in (kwargs or {}).items() if not is_default(name, value)}
