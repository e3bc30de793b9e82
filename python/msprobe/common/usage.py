# SPDX-License-Identifier: Apache-2.0
"""What a script forgot. A missing call would otherwise be noticed after the training: each mistake is said in one line, once, as soon as it
shows, or when the process ends."""
from typing import List, Optional, Set

from msprobe.common import log

_MANY_BLOCKS = 2  # without step() a single block is a whole recording


class Usage:
    """Counts what was called. `steps`: the configured ones, empty for all."""

    def __init__(self, steps: List[int], is_debug_level: bool) -> None:
        self._wanted = steps
        self._is_debug_level = is_debug_level
        self._told: Set[str] = set()
        self._blocks = 0
        self._steps = 0
        self._recorded: Set[int] = set()
        self._is_excused = False
        self._absent_request = ""

    def request_is_absent(self, request_id: str) -> None:
        self._absent_request = request_id

    def excuse(self) -> None:
        """The user asked for nothing to be recorded here: another rank, or dump_enable is off."""
        self._is_excused = True

    def started(self, number: int, is_recording: bool) -> None:
        self._blocks += 1
        if is_recording:
            self._tell("start", "start() was called again without stop(): recording goes on in the same block; call debugger.stop() where "
                       "the block ends")

    def stopped(self, is_recording: bool) -> None:
        """stop() is called."""
        if not (self._blocks or is_recording or self._is_debug_level or self._is_excused or self._absent_request):
            self._tell("stop", "stop() was called before start(): nothing was recorded; call debugger.start() before the forward pass")

    def refuse(self) -> None:
        """start() raised an error, which says what is missing."""
        self._is_excused = True

    def recorded(self, number: int) -> None:
        self._recorded.add(number)

    def stepped(self) -> None:
        self._steps += 1

    def ended_without_modules(self, calls: int) -> None:
        """At the levels of modules: no call of a module was recorded in the block, and `calls` others."""
        what = f"{calls} API call{'s' if calls > 1 else ''} but no module" if calls else "nothing"
        self._tell("empty", f"{what} was recorded between start() and stop(): the model that was passed to start() was not called there; "
                   "pass the model that is called: debugger.start(model)")

    def ended_empty_block(self, level: str) -> None:
        if level in ("L0", "mix"):
            self.ended_without_modules(0)
        else:
            self._tell("empty", "nothing was recorded between start() and stop(): no call of PyTorch was made there; put debugger.start() "
                       "before the forward pass and debugger.stop() behind the backward pass")

    def ended(self, next_number: int) -> None:
        """The process ends; `next_number` is the step that would be next."""
        if self._is_excused:
            return
        if self._absent_request and not self._recorded:
            log.warning(f"nothing was recorded: request {self._absent_request!r} was in no batch of a step to be recorded; request_id is compared "
                        "with the keys of scheduled_tokens")
            return
        missing = [step for step in self._wanted if step not in self._recorded]
        if self._is_debug_level and not self._recorded:
            log.warning("nothing was saved: debugger.save(value, name) was never called in a configured step")
        elif not self._blocks:
            if not self._is_debug_level:
                log.warning("nothing was recorded: start() was never called; call debugger.start() before the forward pass")
        elif not self._steps and (self._blocks >= _MANY_BLOCKS or missing):
            told = f"; step {_listed(missing)} never came" if missing else ""
            log.warning(f"step() was never called: all {self._blocks} blocks of start() and stop() belong to step {next_number}{told}; call "
                        "debugger.step() at the end of each training step")
        elif missing:
            log.warning(f"step {_listed(missing)} never came: the run ended {_reached(next_number)}; step() counts them, the key step of "
                        "config.json names those to record")

    def _tell(self, kind: str, text: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            log.warning(text)


def _reached(next_number: int) -> str:
    """Steps count from 0."""
    return f"after step {next_number - 1}" if next_number else "in step 0"


def _listed(numbers: List[int]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    return f"{shown}, ..." if len(numbers) > 5 else shown


def unknown_keywords(function: str, given: dict, told: Optional[Set[str]] = None) -> None:
    """A newer host may pass what this version does not know. It is named, and ignored."""
    told = _TOLD if told is None else told
    fresh = sorted(name for name in given if f"{function}.{name}" not in told)
    told.update(f"{function}.{name}" for name in fresh)
    if fresh:
        log.warning(f"{function}(): unknown keyword {', '.join(fresh)}, ignored")


_TOLD: Set[str] = set()
