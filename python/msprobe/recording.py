# SPDX-License-Identifier: Apache-2.0
"""``with msprobe.record("dump"):`` records every PyTorch call of a block."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["record"]


class record:  # noqa: N801 - used as a statement: with record(...)
    """Record every call of the block below it into ``{path}/step0/rank0``.

    path: the directory of the dump; made if it is missing, overwritten if it holds one.
    task: ``"tensor"`` keeps the data, so that the very values are replayed; ``"statistics"`` keeps value ranges only and is small and quick.
    level: ``"L1"`` records APIs; ``"L0"`` modules, ``"mix"`` both: these two need ``model``.
    model: the module, or a list of modules, whose structure is recorded.

    The object is also what ``as`` binds: its ``path`` is the dump.json. A ``PrecisionDebugger`` of the same process must have been closed.
    """

    def __init__(self, path: str | os.PathLike[str], *, task: str = "tensor", level: str = "L1",
                 model: torch.nn.Module | list[torch.nn.Module] | None = None) -> None:
        self._directory = os.path.abspath(os.fspath(path))
        self._task = task
        self._level = level
        self._model = model
        self.path = ""  # known once recording has begun

    def __enter__(self) -> record:
        from msprobe.pytorch import PrecisionDebugger

        if PrecisionDebugger._instance is not None:
            raise RuntimeError("a PrecisionDebugger exists in this process; call PrecisionDebugger.close() before msprobe.record()")
        self._debugger = PrecisionDebugger(task=self._task, dump_path=self._directory, level=self._level)
        try:
            self._debugger.start(self._model)
        except BaseException:
            self._debugger.close()
            raise
        self._find_path()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._find_path()  # the rank may have become known inside the block
        self._debugger.close()

    def _find_path(self) -> None:
        directory = self._debugger.step_path
        if directory is not None:
            self.path = os.path.join(directory, "dump.json")
