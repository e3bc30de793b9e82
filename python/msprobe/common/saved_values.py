# SPDX-License-Identifier: Apache-2.0
"""What debugger.save() is given, and the gradients that follow: entries of debug.json."""
import functools
from typing import Any, Callable, Dict


class SavedValues:
    def __init__(self, native: Any) -> None:
        self._native = native
        self._counts: Dict[str, int] = {}  # name -> how often it was saved in this step
        self._step = 0

    def add(self, name: str, value: Any) -> int:
        """The number of this value among those of its name."""
        number = self._counts.get(name, 0)
        self._counts[name] = number + 1
        self._native.save_value(f"{name}.{number}", "debug", value)
        return number

    def for_gradient(self, name: str, number: int, index: str) -> Callable[[Any], None]:
        """Takes the gradient of the tensor at `index` of a value, in the same step."""
        return functools.partial(self._take, self._step, f"{name}_grad.{number}", f"debug.{index}" if index else "debug")

    def end_step(self) -> None:
        self._counts.clear()
        self._step += 1

    def _take(self, step: int, name: str, part: str, gradient: Any) -> None:
        if step == self._step:
            self._native.save_value(name, part, gradient)
