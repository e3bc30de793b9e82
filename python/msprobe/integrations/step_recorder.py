# SPDX-License-Identifier: Apache-2.0
"""What every callback does: record chosen steps, and stop at the first call that makes a NaN."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable

import torch

from msprobe.common import program
from msprobe.pytorch import PrecisionDebugger

__all__ = ["NanFound", "StepRecorder"]


class NanFound(RuntimeError):
    """A call made a NaN of finite inputs. ``call`` names it, ``source`` is its line."""

    def __init__(self, call: str, source: str, dump: str) -> None:
        super().__init__(f"{call} makes a NaN of finite inputs{f' ({source})' if source else ''}; the step is recorded in {dump}")
        self.call = call
        self.source = source


class StepRecorder:
    """Records the steps whose numbers are in `steps` into ``{dump_path}/step{N}/rank{R}``.

    steps: numbers of optimizer steps, from 0; None records every step.
    task, level: as PrecisionDebugger has them.
    stop_at_nan: look for a NaN after each recorded step and raise NanFound.
    """

    def __init__(self, dump_path: str | os.PathLike[str], steps: Iterable[int] | None = (0,), *, task: str = "statistics",
                 level: str = "L1", stop_at_nan: bool = False) -> None:
        self._steps = None if steps is None else frozenset(steps)
        self._last = None if self._steps is None else max(self._steps, default=-1)
        self._stop_at_nan = stop_at_nan
        self._debugger: PrecisionDebugger | None = PrecisionDebugger(task=task, dump_path=dump_path, level=level)
        self._recording = False

    def begin_step(self, number: int, model: torch.nn.Module | None = None) -> None:
        """Before the first forward pass of optimizer step `number`. Called again within the step, it changes nothing."""
        if self._debugger is None or self._recording or (self._steps is not None and number not in self._steps):
            return
        self._debugger.set_init_step(number)
        self._debugger.start(model)
        self._recording = True

    def end_step(self, number: int) -> None:
        """After the optimizer step."""
        if self._debugger is not None and self._recording:
            self._recording = False
            directory = self._debugger.step_path
            self._debugger.stop()
            self._debugger.step()
            if self._stop_at_nan and directory is not None:
                self._look_for_nan(directory)
        if self._last is not None and number >= self._last:
            self.close()

    def close(self) -> None:
        """Nothing more is recorded."""
        if self._debugger is not None:
            self._debugger.close()
            self._debugger = None

    def _look_for_nan(self, directory: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            answer = os.path.join(scratch, "nan.json")
            done = subprocess.run([program.find(), "compare", "--nan", "-tp", os.path.join(directory, "dump.json"), "-o", scratch,
                                   "--json", answer], capture_output=True, text=True)
            if done.returncode not in (0, 1):
                raise RuntimeError(f"msprobe compare --nan failed: {done.stderr.strip()[-500:]}")
            with open(answer, encoding="utf-8") as file:
                origins = json.load(file)["origins"]
        for origin in origins:
            if origin["value"] == "nan" and origin["cause"] == "call":
                self.close()
                raise NanFound(origin["op_name"], origin["source"] or "", directory)
