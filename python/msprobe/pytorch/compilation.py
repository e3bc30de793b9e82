# SPDX-License-Identifier: Apache-2.0
"""Compiled functions run as they are written while something is recorded: their calls are seen one by one, and a compiler that must
not break the graph (fullgraph=True) does not meet the recording in it. Newer versions of PyTorch have a switch for that."""
import contextlib
import inspect
import sys
from typing import Any, Callable

import torch

from msprobe.common import log
from msprobe.pytorch.function_body import FunctionBody


_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def _is_in_compiled_function() -> bool:
    """Compiled code that was left and goes on is a function with a name of the compiler's."""
    frame = inspect.currentframe()
    while frame is not None and not frame.f_code.co_name.startswith("torch_dynamo_resume_in_"):
        frame = frame.f_back
    return frame is not None


class Compilation:
    def __init__(self) -> None:
        has_switch = hasattr(getattr(torch, "compiler", None), "set_stance") and inspect.isfunction(torch.compile)
        # The compiler is loaded by the first compilation, which may come while recording, and is not to be loaded for nothing.
        self._bodies = [FunctionBody(torch.compile, self._compile)] if has_switch else []
        self._stance: Any = None
        self._told = False

    def start(self) -> None:
        for body in self._bodies:
            body.exchange()
            self._hold()

    def stop(self) -> None:
        for body in self._bodies:
            body.restore()
        stance, self._stance = self._stance, None
        if stance is None and not self._told and "torch._dynamo" in sys.modules and _is_in_compiled_function():
            self._told = True
            log.warning("start() or stop() was called inside a function that torch.compile compiles: calls in it may be missing; call both "
                        "outside of it")
        if stance is not None:
            with contextlib.suppress(RuntimeError):  # stopped inside of a compiled function
                stance.__exit__(None, None, None)

    def _compile(self, original: Callable, args: tuple, kwargs: dict) -> Any:
        result = original(*args, **kwargs)
        self._hold()
        return result

    def _hold(self) -> None:
        if self._stance is None and "torch._dynamo" in sys.modules and not _is_compiling():
            with contextlib.suppress(RuntimeError):  # started inside of a compiled function
                self._stance = torch.compiler.set_stance("force_eager")
