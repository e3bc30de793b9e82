# SPDX-License-Identifier: Apache-2.0
"""Functions under mindspore.jit are compiled from their source, and what they name must be what MindSpore knows: while one is compiled,
the originals are back in place. What a compiled function computes is not recorded."""
from typing import Callable, List

from mindspore.graph import api as graph_api

# Where a graph is made: of a function, and of a Cell.
_COMPILERS = (("_JitExecutor", "compile"), ("_JitExecutor", "compile_frontend"), ("_CellGraphExecutor", "compile"))


class Compilation:
    def __init__(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        self._before, self._after = before, after
        self._depth = 0
        self._replaced: List[tuple] = []

    def start(self) -> None:
        for owner, name in _COMPILERS:
            compiler = getattr(graph_api, owner, None)
            original = vars(compiler).get(name) if compiler is not None else None
            if original is not None:
                self._replaced.append((compiler, name, original))
                setattr(compiler, name, self._with_originals(original))

    def stop(self) -> None:
        for compiler, name, original in self._replaced:
            setattr(compiler, name, original)
        self._replaced.clear()

    def _with_originals(self, original: Callable) -> Callable:
        def compile_graph(*args, **kwargs):
            self._depth += 1
            if self._depth == 1:
                self._before()
            try:
                return original(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._after()

        return compile_graph
