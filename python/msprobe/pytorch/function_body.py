# SPDX-License-Identifier: Apache-2.0
"""Another body for a Python function, for a while. The function stays the object it is: whoever imported it, or compares it with `is`,
notices nothing, and calls the new body all the same."""
import os
import types
from typing import Any, Callable

# What stands for the original: it has its free variables, and a constant in whose place the replacement is put.
_STAND_IN = """
def outer({names}):
    def stand_in(*__args, **__kwargs):
        ({names})
        __replacement = "replacement"
        return __replacement(__args, __kwargs)
    return stand_in
"""


class FunctionBody:
    def __init__(self, function: types.FunctionType, replacement: Callable[[Callable, tuple, dict], Any]) -> None:
        """While exchanged, a call of `function` is one of `replacement(original, args, kwargs)`."""
        self._function = function
        self._code = function.__code__
        original = types.FunctionType(self._code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        original.__kwdefaults__ = function.__kwdefaults__
        self._stand_in = _stand_in(self._code, lambda args, kwargs: replacement(original, args, kwargs))

    def exchange(self) -> None:
        self._function.__code__ = self._stand_in

    def restore(self) -> None:
        """Unless somebody else has exchanged it since."""
        if self._function.__code__ is self._stand_in:
            self._function.__code__ = self._code


def _stand_in(code: types.CodeType, replacement: Callable[[tuple, dict], Any]) -> types.CodeType:
    # Python requires as many free variables as the function has cells for, and reads them for whoever inspects the frame.
    names = code.co_freevars
    scope: dict = {}
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")  # no file: tracebacks show no line of it
    exec(compile(_STAND_IN.format(names=", ".join(names)), place, "exec"), scope)
    made = scope["outer"](*names).__code__
    constants = tuple(replacement if constant == "replacement" else constant for constant in made.co_consts)
    return made.replace(co_consts=constants, co_name=code.co_name)
