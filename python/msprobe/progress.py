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
    """The number of forward entries of APIs, without parsing the file: those of modules end with a number and are not checked."""
    found, rest = 0, b""
    with open(dump_json, "rb") as file:
        while block := file.read(1 << 22):
            text = rest + block
            found += len(re.findall(rb'\.forward"\s*:', text))
            rest = text[text.rfind(b"\n") + 1:]
            found -= len(re.findall(rb'\.forward"\s*:', rest))
    return found + len(re.findall(rb'\.forward"\s*:', rest))


class _Line:
    """A bar of characters, redrawn in place."""

    def __init__(self, total: int) -> None:
        self._total = total

    def show(self, done: int) -> None:
        filled = _WIDTH * done // max(self._total, 1)
        print(f"\r{done:>7}/{self._total} [{'#' * filled}{'.' * (_WIDTH - filled)}]", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print("\r" + " " * (_WIDTH + 40) + "\r", end="", file=sys.stderr, flush=True)


class _Tqdm:
    """The bar of tqdm, which a notebook shows as a widget."""

    def __init__(self, total: int) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=total, desc="msprobe", unit=" calls", leave=False)

    def show(self, done: int) -> None:
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


def _bar(total: int) -> _Line | _Tqdm:
    try:
        return _Tqdm(total)
    except ImportError:
        return _Line(total)


class Progress:
    """Shows how many calls of the dumps have a row below `directory`. enabled=None: on a terminal and in a notebook."""

    def __init__(self, directory: str, dumps: list[str], enabled: bool | None = None) -> None:
        self._directory = glob.escape(directory)
        self._dumps = dumps
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

    def _watch(self) -> None:
        total = sum(count_calls(dump) for dump in self._dumps)
        bar = _bar(total)
        while not self._end.wait(_INTERVAL_SECONDS):
            bar.show(min(self._rows(), total))
        bar.close()

    def _rows(self) -> int:
        """Of the newest result in each directory; the CSVs are here, or in step*/rank* below."""
        newest: dict[str, str] = {}
        for below in ("", "*", os.path.join("*", "*")):
            for path in sorted(glob.glob(os.path.join(self._directory, below, "accuracy_checking_result_*.csv"))):
                newest[os.path.dirname(path)] = path
        return sum(_lines(path) - 1 for path in newest.values())


def _lines(path: str) -> int:
    with open(path, "rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")), 1)
