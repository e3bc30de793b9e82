# SPDX-License-Identifier: Apache-2.0
"""Calls of torch.distributed: recorded with what they leave in their arguments, the asynchronous ones when they are waited for.

Only some of them, and in newer versions of PyTorch only, can be overridden; so it is their bodies that are exchanged while recording."""
import inspect
import threading
import types
from typing import Any, Callable, Dict, List, Optional
from weakref import WeakKeyDictionary

import torch

from msprobe.pytorch.function_body import FunctionBody

# Arguments, by position, that hold nothing of meaning before the call, or after it; null is written for them.
_EMPTY_BEFORE = {"recv": 0, "irecv": 0, "all_gather": 0, "gather": 1, "scatter": 0, "reduce_scatter": 0, "_reduce_scatter_base": 0,
                 "_all_gather_base": 0, "all_to_all_single": 0, "all_to_all": 0, "all_gather_into_tensor": 0,
                 "reduce_scatter_tensor": 0}
_EMPTY_AFTER = {"isend": 0}


class _Parameters:
    """Which of a function's arguments are left out."""

    def __init__(self, function: Callable, name: str) -> None:
        self._names = list(inspect.signature(function).parameters)
        self._before, self._after = _EMPTY_BEFORE.get(name), _EMPTY_AFTER.get(name)

    def before(self, args: tuple, kwargs: dict) -> tuple:
        return self._without(self._before, args, kwargs)

    def after(self, args: tuple, kwargs: dict) -> tuple:
        """What was written in place: all positional arguments, then the others."""
        args, kwargs = self._without(self._after, args, kwargs)
        return args + tuple(kwargs.values())

    def _without(self, index: Optional[int], args: tuple, kwargs: dict) -> tuple:
        if index is None:
            return args, kwargs
        name = self._names[index]
        return (tuple(None if at == index else value for at, value in enumerate(args)),
                {key: None if key == name else value for key, value in kwargs.items()})


class _Awaited:
    """A call whose results are there when all that it returned to wait for has been waited for."""

    def __init__(self, call, outputs: tuple, works: list) -> None:
        self._call, self._outputs, self._open = call, outputs, len(works)

    def one_is_done(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._call.finish(self._outputs)


class Communication:
    def __init__(self, native, functions: Dict[Callable, str]) -> None:
        """`functions` and their names; those that are not written in Python are left alone."""
        self._native = native
        self._bodies: List[FunctionBody] = []
        for function, name in functions.items():
            if isinstance(function, types.FunctionType):
                self._bodies.append(FunctionBody(function, self._recorded(function, _Parameters(function, name))))
        self._awaited: WeakKeyDictionary = WeakKeyDictionary()
        self._own_wait: Optional[Callable] = None
        self._lock = threading.Lock()

    def start(self) -> None:
        for body in self._bodies:
            body.exchange()

    def stop(self) -> None:
        """What was begun may still be waited for."""
        for body in self._bodies:
            body.restore()
        self._rest()

    def end_step(self) -> None:
        """What nobody has waited for keeps only its inputs."""
        self._awaited.clear()
        self._rest()

    def _recorded(self, function: Callable, parameters: _Parameters) -> Callable:
        def run(original: Callable, args: tuple, kwargs: dict) -> Any:
            call = self._native.begin_call(function, *parameters.before(args, kwargs))
            if call is None:
                return original(*args, **kwargs)
            result = call.run(original, args, kwargs)
            outputs = parameters.after(args, kwargs)
            works = [work for work in (result if isinstance(result, list) else [result]) if _is_work(work)]
            if works:
                self._await(_Awaited(call, outputs, works), works)
            else:
                call.finish(outputs)
            return result
        return run

    def _await(self, awaited: _Awaited, works: list) -> None:
        for work in works:
            self._awaited[work] = awaited
        with self._lock:
            if self._own_wait is None:
                self._own_wait = _work_type().wait
                _work_type().wait = self._waiting(self._own_wait)

    def _waiting(self, own_wait: Callable) -> Callable:
        def wait(work, *args, **kwargs):
            result = own_wait(work, *args, **kwargs)
            awaited = self._awaited.pop(work, None)
            if awaited is not None:
                awaited.one_is_done()
                self._rest()
            return result
        return wait

    def _rest(self) -> None:
        """Work.wait is its own again when nothing is waited for."""
        with self._lock:
            if self._own_wait is not None and not self._awaited:
                _work_type().wait = self._own_wait
                self._own_wait = None


def _work_type() -> Any:
    return torch.distributed.distributed_c10d.Work


def _is_work(value: object) -> bool:
    return isinstance(value, _work_type())
