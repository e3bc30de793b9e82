# SPDX-License-Identifier: Apache-2.0
"""Where a step is recorded: {dump_path}/step{N}/rank{R}.

A process without a rank takes rank0. Only one live process may: it holds a lock on dump_path, which the system takes back when the process
ends, however it ends. Any other records into proc{pid} until it learns a rank of its own."""
import contextlib
import fcntl
import os
import shutil
import time
from typing import Dict, List, Optional

from msprobe.common import log, new_file

TENSORS = "dump_tensor_data"
_FILES = ("dump.json", "debug.json", "stack.json", "construct.json", "call_sites.json", "dump_error_info.log")
_PARTIAL = ".new"  # of a file that a killed process was about to replace
_LONGEST_WAIT_SECONDS = 5.0

_locks: Dict[str, int] = {}  # dump_path -> the descriptor that holds its lock


def _close_inherited() -> None:
    """A child of this process is not this process."""
    for descriptor in _locks.values():
        os.close(descriptor)
    _locks.clear()


os.register_at_fork(after_in_child=_close_inherited)


def _lock(dump_path: str, descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    _locks[dump_path] = descriptor
    return True


def take_rank0(dump_path: str) -> bool:
    """Whether rank0 of `dump_path` belongs to this process, from now on."""
    if dump_path in _locks:
        return True
    try:
        return _lock(dump_path, os.open(dump_path, os.O_RDONLY | os.O_CLOEXEC))
    except BlockingIOError:
        return False
    except OSError:  # some network file systems lock files, but not directories
        with contextlib.suppress(OSError):
            return _lock(dump_path, new_file.open_in_place(os.path.join(dump_path, ".lock"), os.O_RDWR))
        return False


def leave_rank0(dump_path: str) -> None:
    descriptor = _locks.pop(dump_path, None)
    if descriptor is not None:
        os.close(descriptor)


class StepDirectory:
    """The directory of the step that is being recorded, and how it gets its name."""

    def __init__(self, dump_path: str) -> None:
        self._dump_path = dump_path
        self._told_overwritten = False
        self._told_taken = False
        self._patience_seconds = _LONGEST_WAIT_SECONDS
        self._without_rank: List[str] = []  # steps recorded into rank0 before the rank was known
        self.path: Optional[str] = None

    def discard(self) -> None:
        """The step is not kept: its directory is gone."""
        assert self.path is not None, "no step is open"
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):  # another rank may be there
            os.rmdir(os.path.dirname(self.path))
        self.path = None

    def open(self, number: int, rank: Optional[int], makes_tensors: bool) -> str:
        new_file.make_directories(self._dump_path)
        name = self._name(rank)
        step = os.path.join(self._dump_path, f"step{number}")
        self.path = os.path.join(step, name)
        self._replace(self.path)
        new_file.make_directories(os.path.join(self.path, TENSORS) if makes_tensors else self.path)
        if rank is None and name == "rank0":
            self._without_rank.append(step)
        return self.path

    def close(self) -> None:
        self.path = None

    def place_of(self, rank: int, waits: bool = False) -> Optional[str]:
        """Where the step belongs now that the rank is known; None if it is already there, or another process still is. The process
        that took rank0 for lack of a rank may be about to leave it: `waits` for that a while."""
        assert self.path is not None, "no step is open"
        wanted = os.path.join(os.path.dirname(self.path), f"rank{rank}")
        if self.path == wanted:
            self._without_rank.clear()
            return None
        end = time.monotonic() + (self._patience_seconds if waits else 0)
        while rank == 0 and not take_rank0(self._dump_path):
            if time.monotonic() >= end:
                self._patience_seconds = 0 if waits else self._patience_seconds
                return None
            time.sleep(0.02)
        return wanted

    def move(self, place: str) -> None:
        assert self.path is not None, "no step is open"
        self._replace(place)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(self.path, place)
        self.path = place
        name = os.path.basename(place)
        if name != "rank0":
            for step in self._without_rank:
                with contextlib.suppress(OSError):
                    os.rename(os.path.join(step, "rank0"), os.path.join(step, name))
            leave_rank0(self._dump_path)
        self._without_rank.clear()

    def _name(self, rank: Optional[int]) -> str:
        if rank:
            return f"rank{rank}"
        if take_rank0(self._dump_path):
            return "rank0"
        if not self._told_taken:
            self._told_taken = True
            log.warning(f"another process already records into rank0 of {self._dump_path}; this one records into "
                        f"proc{os.getpid()}")
        return f"proc{os.getpid()}"

    def _replace(self, directory: str) -> None:
        """Takes away what an earlier run left there. dump.json goes first: it would name files that are gone."""
        is_there = any(os.path.exists(os.path.join(directory, name)) for name in _FILES[:2])
        if is_there and not self._told_overwritten:
            self._told_overwritten = True
            log.warning(f"{directory} has a dump of an earlier run; it is overwritten, and so are those of later steps")
        for name in _FILES:
            for path in (os.path.join(directory, name), os.path.join(directory, name + _PARTIAL)):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(path)
        shutil.rmtree(os.path.join(directory, TENSORS), ignore_errors=True)
