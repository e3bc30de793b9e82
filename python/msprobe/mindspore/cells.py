# SPDX-License-Identifier: Apache-2.0
"""Levels L0 and mix: calls of Cells, forward and backward, with their parameters and the gradients of these.

The body of nn.Cell.__call__ is exchanged while recording. Gradients are read by MindSpore's operator for hooks of Cells (gradients.py),
put around the call: a Cell gets its arguments, and its caller the results, as new tensor objects on the same memory."""
import functools
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import mindspore
from mindspore import nn
from mindspore.common.api import _pynative_executor

from msprobe.mindspore.gradients import Bracket

_EXPECTED, _BEGUN, _ENDED = 0, 1, 2  # events for native.module_backward

Model = Union[nn.Cell, Sequence[nn.Cell]]


def cell_names(model: Model) -> Dict[int, tuple]:
    """id of a Cell -> the Cell, and Cell.{path}.{Class}. The root is not there; a Cell with two names has the first one."""
    roots = [("", model)] if isinstance(model, nn.Cell) else [(f"{at}.", root) for at, root in enumerate(model)]
    names: Dict[int, tuple] = {}
    for prefix, root in roots:
        for path, cell in root.cells_and_names():
            if path:
                names.setdefault(id(cell), (cell, f"Cell.{prefix}{path}.{type(cell).__name__}"))
    return names


class _RecordingSuspended:
    """While it is entered nothing is recorded on this thread."""

    def __init__(self, native) -> None:
        self._native = native

    def __enter__(self) -> None:
        self._native.suspend_recording(True)

    def __exit__(self, *exception) -> None:
        self._native.suspend_recording(False)


class Cells:
    """`wants` tells which parts the user asked for: forward, backward, input, output, parameters. `report` takes our own mistakes."""

    def __init__(self, native, wants: Dict[str, bool], report: Callable[[str, BaseException], None]) -> None:
        self._native, self._wants, self._report = native, wants, report
        self._names: Dict[int, tuple] = {}
        self._calls: Dict[str, int] = {}
        self._watched: Dict[str, list] = {}  # Cell -> handles of the hooks of its parameters
        self._gradients: Dict[str, dict] = {}  # parameters_grad entries that wait for further parameters
        self._gradient_numbers: Dict[str, int] = {}  # Cell -> number of its next parameters_grad
        self._original = nn.Cell.__call__
        self._step = 0

    @property
    def has_model(self) -> bool:
        return bool(self._names)

    def set_model(self, model: Model) -> None:
        self._names = cell_names(model)

    def exchange(self) -> None:
        cells, original = self, self._original

        @functools.wraps(original, updated=())
        def call(cell, *args, **kwargs):
            return cells.call(original, cell, args, kwargs)

        nn.Cell.__call__ = call

    def restore(self) -> None:
        nn.Cell.__call__ = self._original

    def end_step(self) -> None:
        self._write_gradients()
        self._step += 1
        for handles in self._watched.values():
            for handle in handles:
                handle.remove()
        for numbers in (self._calls, self._watched, self._gradient_numbers):
            numbers.clear()

    def park(self) -> tuple:
        """Ends the step, which can be gone on with: the numbers that were given in it."""
        self._write_gradients()
        numbers = dict(self._calls), dict(self._gradient_numbers)
        self.end_step()
        return numbers

    def resume(self, numbers: tuple) -> None:
        calls, gradients = numbers
        self._calls.update(calls)
        self._gradient_numbers.update(gradients)

    def call(self, original: Callable, cell: nn.Cell, args: tuple, kwargs: dict) -> Any:
        known = self._names.get(id(cell))
        if known is None or self._native.is_inside():
            return original(cell, *args, **kwargs)
        name = known[1]
        number = self._calls.get(name, 0)
        self._calls[name] = number + 1
        forward = f"{name}.forward.{number}"
        with self._suspended():
            entry = self._begin(forward, args, kwargs)
            bracket = self._bracket(name, forward, number, args)
            if bracket is not None:
                self._watch(name, cell)
                args = bracket.arguments(args)
        outer = self._native.enter_module(forward)
        try:
            result = original(cell, *args, **kwargs)
        except BaseException:
            self._native.leave_module(outer)
            if entry is not None:
                entry.finish(True)
            raise
        self._native.leave_module(outer)
        with self._suspended():
            self._end(entry, cell, result)
            if bracket is None:
                return result
            self._native.module_backward(forward, _EXPECTED)
            return bracket.result(result)

    def _suspended(self) -> _RecordingSuspended:
        return _RecordingSuspended(self._native)

    def _begin(self, forward: str, args: tuple, kwargs: dict) -> Any:
        entry = self._native.entry(forward) if self._wants["forward"] else None
        if entry is not None and self._wants["input"]:
            entry.inputs("input_args", args)
            entry.keywords(kwargs)
        return entry

    def _end(self, entry: Any, cell: nn.Cell, result: Any) -> None:
        if entry is None:
            return
        if self._wants["output"]:
            entry.result(result)
        if self._wants.get("parameters", True):
            entry.parameters(_own_parameters(cell))
        entry.finish(True)

    def _bracket(self, name: str, forward: str, number: int, args: tuple) -> Optional["_CellBracket"]:
        if not (self._wants["backward"] and _pynative_executor.enable_grad() and _pynative_executor.requires_grad()):
            return None
        step = self._step

        def begun() -> None:
            if step == self._step:
                self._native.module_backward(forward, _BEGUN)

        def ended(leaving: tuple, arriving: tuple) -> None:
            if step == self._step:
                with self._suspended():
                    self._write_backward(forward, f"{name}.backward.{number}", leaving, arriving)

        return _CellBracket(begun, ended, args, self._report)

    def _write_backward(self, forward: str, backward: str, leaving: tuple, arriving: tuple) -> None:
        entry = self._native.entry(backward)
        if entry is not None:
            if self._wants["input"]:
                entry.inputs("input", arriving)
            if self._wants["output"]:
                entry.result(leaving)
            entry.finish()
        self._native.module_backward(forward, _ENDED)

    def _watch(self, name: str, cell: nn.Cell) -> None:
        """The gradients of the Cell's own parameters: an entry for each backward pass."""
        if name in self._watched:
            return
        parameters = {key: value for key, value in _own_parameters(cell).items() if value.requires_grad}
        self._watched[name] = [value.register_hook(self._added(name, key, set(parameters))) for key, value in parameters.items()]

    def _added(self, name: str, key: str, all_keys: set) -> Callable:
        step = self._step

        def added(gradient: mindspore.Tensor) -> None:
            if step != self._step:
                return
            if key in self._gradients.get(name, {}):  # another pass; the last one did not reach all parameters
                self._write_gradient(name)
            gradients = self._gradients.setdefault(name, {})
            gradients[key] = gradient
            if set(gradients) == all_keys:
                self._write_gradient(name)

        return added

    def _write_gradient(self, name: str) -> None:
        gradients = self._gradients.pop(name)
        number = self._gradient_numbers.get(name, 0)
        self._gradient_numbers[name] = number + 1
        with self._suspended():
            entry = self._native.entry(f"{name}.parameters_grad.{number}")
            if entry is not None:
                for key in sorted(gradients):
                    entry.gradient(key, gradients[key])
                entry.finish()

    def _write_gradients(self) -> None:
        for name in list(self._gradients):
            self._write_gradient(name)


class _CellBracket:
    """A Bracket that also tells when the backward pass of the Cell begins. What the operator cannot take is left as it is."""

    def __init__(self, begun: Callable[[], None], ended: Callable[[tuple, tuple], None], args: tuple,
                 report: Callable[[str, BaseException], None]) -> None:
        self._report = report
        self._around = Bracket(ended, args)
        self._first = Bracket(lambda _leaving, _arriving: begun(), ())

    def arguments(self, args: tuple) -> tuple:
        try:
            return self._around.arguments(args)
        except (TypeError, RuntimeError, ValueError) as error:
            self._report("hooking the arguments of a Cell", error)
            return args

    def result(self, value: Any) -> Any:
        try:
            return self._first.result(self._around.result(value))
        except (TypeError, RuntimeError, ValueError) as error:
            self._report("hooking the results of a Cell", error)
            return value


def _own_parameters(cell: nn.Cell) -> Dict[str, mindspore.Parameter]:
    return {name: parameter for name, parameter in cell._params.items() if parameter is not None}


def checked_model(model: Any) -> List[nn.Cell]:
    """Empty if it is not a Cell or a list of them."""
    cells = [model] if isinstance(model, nn.Cell) else model
    if not isinstance(cells, (list, tuple)) or not all(isinstance(item, nn.Cell) for item in cells):
        return []
    return list(cells)
