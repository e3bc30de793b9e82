# SPDX-License-Identifier: Apache-2.0
"""A progress bar for a check that runs in another process: it counts the rows of the result CSV as they are written."""

from __future__ import annotations

import glob
import os
import re
import sys
import threading
from types import TracebackType

_INTERVAL_SECONDS = 0.3
_WIDTH = 24


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def count_calls(dump_json: str) -> int:
    """The number of forward entries, without parsing the file."""
    found, rest = 0, b""
    with open(dump_json, "rb") as file:
        while block := file.read(1 << 22):
            text = rest + block
            found += len(re.findall(rb'\.forward(?:\.\d+)?"\s*:', text))
            rest = text[text.rfind(b"\n") + 1:]
            found -= len(re.findall(rb'\.forward(?:\.\d+)?"\s*:', rest))
    return found + len(re.findall(rb'\.forward(?:\.\d+)?"\s*:', rest))


class Progress:
    """Shows how many calls of `dump_json` have a row in `directory`. enabled=None: on a terminal and in a notebook."""

    def __init__(self, directory: str, dump_json: str, enabled: bool | None = None) -> None:
        self._pattern = os.path.join(glob.escape(directory), "accuracy_checking_result_*.csv")
        self._dump = dump_json
        self._enabled = enabled if enabled is not None else sys.stderr.isatty() or _in_notebook()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if self._enabled:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._thread is not None:
            self._end.set()
            self._thread.join()
            print("\r" + " " * (_WIDTH + 40) + "\r", end="", file=sys.stderr, flush=True)

    def _watch(self) -> None:
        total = count_calls(self._dump)
        while not self._end.wait(_INTERVAL_SECONDS):
            done = min(self._rows(), total)
            filled = _WIDTH * done // max(total, 1)
            print(f"\r{done:>7}/{total} [{'#' * filled}{'.' * (_WIDTH - filled)}]", end="", file=sys.stderr, flush=True)

    def _rows(self) -> int:
        files = sorted(glob.glob(self._pattern))
        if not files:
            return 0
        with open(files[-1], "rb") as file:
            return max(sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1, 0)
