# SPDX-License-Identifier: Apache-2.0
"""Compiled functions run as they are written while something is recorded: their calls are seen one by one, and a compiler that must
not break the graph (fullgraph=True) does not meet the recording in it. Newer versions of PyTorch have a switch for that."""
import contextlib
import inspect
import sys
from typing import Any, Callable

import torch

from msprobe.pytorch.function_body import FunctionBody


class Compilation:
    def __init__(self) -> None:
        has_switch = hasattr(getattr(torch, "compiler", None), "set_stance") and inspect.isfunction(torch.compile)
        # The compiler is loaded by the first compilation, which may come while recording, and is not to be loaded for nothing.
        self._bodies = [FunctionBody(torch.compile, self._compile)] if has_switch else []
        self._stance: Any = None

    def start(self) -> None:
        for body in self._bodies:
            body.exchange()
            self._hold()

    def stop(self) -> None:
        for body in self._bodies:
            body.restore()
        stance, self._stance = self._stance, None
        if stance is not None:
            with contextlib.suppress(RuntimeError):  # stopped inside of a compiled function
                stance.__exit__(None, None, None)

    def _compile(self, original: Callable, args: tuple, kwargs: dict) -> Any:
        result = original(*args, **kwargs)
        self._hold()
        return result

    def _hold(self) -> None:
        if self._stance is None and "torch._dynamo" in sys.modules:
            with contextlib.suppress(RuntimeError):  # started inside of a compiled function
                self._stance = torch.compiler.set_stance("force_eager")
