# SPDX-License-Identifier: Apache-2.0
"""The directories that a host gives to its stages. One of them is recorded into; a step that was left in another can be gone on with."""
from typing import Dict, Set

from msprobe.common.step_directory import StepDirectory, leave_rank0

_MOST = 64  # that are kept for a host to come back to


class Stages:
    def __init__(self, path: str) -> None:
        self.path = path
        self.current = StepDirectory(path)
        self._all: Dict[str, StepDirectory] = {path: self.current}
        self._left: Set[str] = set()

    @property
    def has_open_step(self) -> bool:
        return self.current.path is not None or bool(self._left)

    def enter(self, path: str) -> None:
        """`path` is recorded into from now on."""
        if self.current.path is not None:
            self._left.add(self.path)
        self.path = path
        self.current = self._all.pop(path) if path in self._all else StepDirectory(path)
        self._all[path] = self.current  # the latest is the last

    def comes_back(self) -> bool:
        """Whether the open step of this directory was left before; asked once."""
        was_left = self.path in self._left
        self._left.discard(self.path)
        return was_left

    def end_step(self) -> None:
        for stage in self._all.values():
            stage.close()
        self._left.clear()
        while len(self._all) > _MOST:
            oldest = next(iter(self._all))
            del self._all[oldest]
            leave_rank0(oldest)

    def leave(self) -> None:
        """Other processes may have them."""
        for path in self._all:
            leave_rank0(path)
