# SPDX-License-Identifier: Apache-2.0
"""The native collector of a process, and what surrounds it: forked children, the end of the process, reports of our own mistakes."""
import atexit
import contextlib
import os
from typing import Optional, Set, Tuple

from msprobe import _collect
from msprobe.common import log, new_file

MAX_PENDING_BYTES = 512 << 20


class NativeSession:
    """A framework's session hooks the native collector into that framework in start() and takes it out again in stop()."""

    def __init__(self) -> None:
        self.native = _collect.Collector()
        self._pid = os.getpid()
        self._reported: Set[Tuple[str, type]] = set()
        self._recording = False
        self.error_log = None

    def configure(self, settings: dict) -> None:
        self.native.configure({"max_pending_bytes": MAX_PENDING_BYTES, **settings})
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._at_exit)

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def modules_of_step(self) -> Optional[int]:
        """How many calls of modules this step has so far; None if modules are not recorded."""
        return None

    def end_step(self) -> None:
        """What is still to come of the calls made so far is no longer recorded."""
        self.native.end_step()

    def park_step(self, key: str) -> None:
        """The open step is left, flushed before, and can be gone on with."""
        self.native.park_step(key)

    def resume_step(self, key: str, tensors: str) -> None:
        self.native.resume_step(key, tensors)

    def forget_parked_steps(self) -> None:
        self.native.forget_parked_steps()

    def free(self) -> None:
        """Nothing more is recorded in this process."""
        self.native.free_memory()
        atexit.unregister(self._at_exit)

    @property
    def is_in_child(self) -> bool:
        """Whether this process was forked from the one that made the session: there it records nothing."""
        return os.getpid() != self._pid

    @property
    def is_recording(self) -> bool:
        return self._recording

    def unseen(self) -> dict:
        """What was computed in this step and not recorded: {"share": of the elements of all results, "operators": {name: elements}}."""
        seen, operators = self.native.coverage()
        total = seen + sum(operators.values())
        return {"share": sum(operators.values()) / total if total else 0.0,
                "operators": dict(sorted(operators.items(), key=lambda item: -item[1]))}

    def flush(self) -> None:
        """Returns when everything that was recorded is in its files."""
        error = self.native.flush()
        if error:
            log.warning(f"the dump is incomplete: {error}")

    def settle(self) -> None:
        """The same, and nothing is expected to follow soon: what was prepared beside the files for the next writes is removed."""
        self.flush()
        self.native.settle()

    def report(self, doing: str, error: BaseException) -> None:
        """Our own mistakes never reach the training: each kind is written down once."""
        key = (doing, type(error))
        if key in self._reported:
            return
        self._reported.add(key)
        if self.error_log is not None:
            with contextlib.suppress(OSError):
                new_file.append_text(self.error_log, f"{doing}: {type(error).__name__}: {error}\n")

    def _forget(self) -> None:
        """In a forked child: the threads that write are not there, and what is recorded belongs to the parent."""
        self._recording = False
        self.native.forget()

    def _at_exit(self) -> None:
        if not self.is_in_child:
            self.stop()
            self.settle()
