# SPDX-License-Identifier: Apache-2.0
"""``msprobe.verify(kernel, reference, args)``: one kernel against one reference, on cases that are made from one example."""

from __future__ import annotations

import ctypes
import json
import os
import random
import select
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch

from msprobe.common import program
from msprobe.common.program import CheckError
from msprobe.functions.cases import Case, Example, plan
from msprobe.functions.files import InsideEngine
from msprobe.functions.messages import tensors_in

__all__ = ["Verification", "verify"]

RIGHT, WRONG, INCONCLUSIVE = "right", "wrong", "inconclusive"
_MOST_SHRUNK = 12


@dataclass
class Verification:
    """What verify() found. `verdict` is right, wrong, or inconclusive; str() says it in a few lines."""

    verdict: str
    seed: int
    reason: str = ""
    cause: str = ""
    case: Optional[str] = None  # the smallest that is wrong
    shapes: List[List[int]] = field(default_factory=list)
    error_over_bound: Optional[float] = None
    counts: Dict[str, int] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.verdict != WRONG

    def __str__(self) -> str:
        counted = ", ".join(f"{number} {name}" for name, number in self.counts.items() if number)
        lines = [f"{self.verdict}: {self._sentence()} ({counted}; seed {self.seed}; {self.seconds:.1f} s)"]
        if self.verdict == WRONG:
            lines.append(f"  smallest case: {self.case}; shapes {', '.join(str(tuple(shape)) for shape in self.shapes) or 'none'}")
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    def _sentence(self) -> str:
        if self.verdict != WRONG:
            return self.reason or "every case is within the bound of its reference"
        return f"{self.cause}; {self.reason}" if self.cause and self.cause not in self.reason else self.reason


def find_library() -> str:
    """The engine's library that was built for this PyTorch."""
    version = ".".join(torch.__version__.split(".")[:2])
    named = os.environ.get("MSPROBE_ENGINE")
    starts = [os.path.dirname(os.path.realpath(path)) for path in ([named] if named else []) + [program.find()]]
    for start in starts:
        for place in (start, os.path.join(start, "torch-" + version), os.path.join(start, "..", "libexec", "msprobe", "torch-" + version)):
            library = os.path.join(place, "libmsprobe-engine.so")
            if os.path.exists(library):
                return os.path.normpath(library)
    raise CheckError(f"no engine of msprobe for PyTorch {version} beside {starts[-1]}: build one (docs/pytorch_versions.md)")


def verify(kernel: Callable[..., Any], reference: Callable[..., Any], args: Sequence[Any], *, seed: Optional[int] = None,
           dtypes: Optional[Sequence[torch.dtype]] = None, timeout: float = 60, cases: Optional[int] = None) -> Verification:
    """Run `kernel` and `reference` on many arguments made from the example `args`, and judge each result by the bound of its reference.

    kernel, reference: functions of the same arguments, or modules. The reference is run in float64, in the dtype of the case, and with
        inputs moved within their rounding; so it should be plain PyTorch.
    args: one example. Equal extents of its tensors stay equal in other shapes; shapes that the reference refuses are left out.
    seed: of the cases; a new one each time by default, which the result names.
    dtypes: those to try; by default that of the example, float32, bfloat16 and float16. What the kernel refuses by raising is counted.
    timeout: seconds for one case; a kernel that takes longer hangs.
    cases: at most so many.

    A case runs in a process of its own, so a crash is a finding. CheckError: the reference does not take the example.
    """
    if os.environ.get("MSPROBE_INSIDE_ENGINE"):
        raise InsideEngine
    begun = time.monotonic()
    seed = random.SystemRandom().randrange(1 << 20) if seed is None else seed
    example = Example(args, seed)
    workers = _Workers(ctypes.CDLL(find_library()), kernel, reference, example, timeout)
    found: List[Tuple[Case, Dict[str, Any]]] = []
    try:
        for number, (case, answer) in enumerate(workers.run(plan(example, dtypes))):
            found.append((case, answer))
            if number == 0 and answer["verdict"] in ("invalid", "failed"):
                raise CheckError(f"the reference does not take the arguments of the example: {answer['reason']}")
            if answer["verdict"] == WRONG or (cases is not None and number + 1 >= cases):
                break
        result = _concluded(found, example)
        if result.verdict == WRONG:
            _shrink(workers, example, *found[-1], result)
    finally:
        workers.close()
    result.seconds = time.monotonic() - begun
    return result


def _concluded(found: List[Tuple[Case, Dict[str, Any]]], example: Example) -> Verification:
    names = (RIGHT, WRONG, INCONCLUSIVE, "refused", "failed")
    counts = {name: sum(answer["verdict"] == name for _, answer in found) for name in names}
    result = Verification(RIGHT, example.seed, counts=counts)
    case, last = found[-1]
    if last["verdict"] == WRONG:
        result.verdict, result.reason, result.cause = WRONG, last["reason"], last.get("cause", "")
        result.error_over_bound = last.get("over")
        _name_case(result, case, example)
        return result
    doubts = [answer for _, answer in found if answer["verdict"] == INCONCLUSIVE]
    ill = [answer for answer in doubts if "number" in answer]
    if counts[RIGHT] <= len(ill):
        result.verdict = INCONCLUSIVE
        result.reason = (ill or doubts or [{"reason": "no case could be judged"}])[0]["reason"]
    refused = [(case, answer) for case, answer in found if answer["verdict"] == "refused"]
    if refused:
        result.notes.append(f"refused: {refused[0][0]}: {refused[0][1]['reason']}")
    failed = [(case, answer) for case, answer in found if answer["verdict"] == "failed"]
    if failed:
        result.notes.append(f"not judged: {failed[0][0]}: {failed[0][1]['reason']}")
    if ill and result.verdict == RIGHT:
        result.notes.append(f"{len(ill)} cases prove nothing, because the reference is ill-conditioned there: {ill[0]['reason']}")
    result.notes += sorted({answer["note"] for _, answer in found if "note" in answer})
    return result


def _name_case(result: Verification, case: Case, example: Example) -> None:
    result.case = str(case)
    result.shapes = [list(tensor.shape) for tensor in tensors_in(example.arguments(case))]


def _shrink(workers: _Workers, example: Example, case: Case, answer: Dict[str, Any], result: Verification) -> None:
    """Smaller shapes, as long as they are wrong for the same reason."""
    tries = 0
    while tries < _MOST_SHRUNK:
        for smaller in example.smaller(case):
            tries += 1
            if tries > _MOST_SHRUNK:
                return
            (_, tried), = workers.run(iter([smaller]))
            if tried["verdict"] == WRONG and tried.get("cause", "") == answer.get("cause", ""):
                case, answer = smaller, tried
                result.reason, result.error_over_bound = tried["reason"], tried.get("over")
                _name_case(result, case, example)
                break
        else:
            return


class _Workers:
    """Forked children that run cases one after another; a new one goes on where one was lost."""

    def __init__(self, engine: ctypes.CDLL, kernel: Callable[..., Any], reference: Callable[..., Any], example: Example, timeout: float) -> None:
        self._make = (engine, kernel, reference, example)
        self._timeout = timeout
        self._child: Optional[Tuple[int, int, int]] = None  # process, requests, answers

    def run(self, cases: Iterator[Case]) -> Iterator[Tuple[Case, Dict[str, Any]]]:
        for case in cases:
            yield case, self._ask(case)

    def _ask(self, case: Case) -> Dict[str, Any]:
        if torch.cuda.is_available() and torch.cuda.is_initialized():  # a fork has no CUDA
            return self._here().run(case, lambda _stage: None)
        if self._child is None:
            self._child = self._start()
        process, requests, answers = self._child
        os.write(requests, _packed(case))
        stage, until, text = "kernel", time.monotonic() + self._timeout, b""
        while True:
            ready, _, _ = select.select([answers], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                self.close()
                return _lost(stage, f"did not end within {self._timeout:g} s", "hangs", case)
            piece = os.read(answers, 1 << 16)
            if not piece:
                return _lost(stage, f"ended its process with {self._end()}", "crashes", case)
            text += piece
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                answer = json.loads(line)
                if "stage" not in answer:
                    return answer
                stage = answer["stage"]

    _trial: Any = None

    def _here(self) -> Any:
        from msprobe.functions.trial import Trial

        if self._trial is None:
            self._trial = Trial(*self._make)
        return self._trial

    def _start(self) -> Tuple[int, int, int]:
        theirs, requests = os.pipe()
        answers, back = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            os.close(theirs)
            os.close(back)
            return process, requests, answers
        os.close(requests)
        os.close(answers)
        status = 1
        try:
            self._serve(theirs, back)
            status = 0
        finally:
            os._exit(status)

    def _serve(self, requests: int, answers: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        os.dup2(quiet, 0)  # what the functions print is not for the caller's output
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")
        torch.set_num_threads(1)  # threads do not survive a fork
        trial = self._here()

        def say(message: Dict[str, Any]) -> None:
            os.write(answers, json.dumps(message).encode() + b"\n")

        with os.fdopen(requests, "rb") as file:
            for line in file:
                case = _unpacked(line)
                try:
                    say(trial.run(case, lambda stage: say({"stage": stage})))
                except Exception as error:
                    say({"verdict": "failed", "reason": f"{type(error).__name__}: {error}"})

    def _end(self) -> str:
        process, requests, answers = self._child or (0, 0, 0)
        self._child = None
        os.close(requests)
        os.close(answers)
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
        return f"exit status {os.WEXITSTATUS(status)}"

    def close(self) -> None:
        if self._child is not None:
            os.kill(self._child[0], signal.SIGKILL)
            self._end()


def _lost(stage: str, what: str, cause: str, case: Case) -> Dict[str, Any]:
    if stage == "reference":
        return {"verdict": "failed" if not case.is_given else "invalid", "reason": f"the reference {what}"}
    return {"verdict": WRONG, "reason": f"the kernel {what}", "cause": cause}


def _packed(case: Case) -> bytes:
    return json.dumps([str(case.dtype)[6:], case.values, case.layout, case.extents, case.is_given]).encode() + b"\n"


def _unpacked(line: bytes) -> Case:
    dtype, values, layout, extents, is_given = json.loads(line)
    return Case(getattr(torch, dtype), values, layout, tuple((one, other) for one, other in extents), is_given)
