# SPDX-License-Identifier: Apache-2.0
"""Gradients of a recorded call: MindSpore's operator for hooks of Cells, put around one API.

The operator returns its tensors unchanged. Applied to the arguments and to the results of a call it hands over, in the backward pass, the
gradients that leave and those that arrive, null if there is none."""
import itertools
from collections import OrderedDict
from typing import Callable, Dict

import mindspore
from mindspore.ops.operations._inner_ops import CellBackwardHook

_FLOATS = frozenset(str(dtype) for dtype in (mindspore.float16, mindspore.bfloat16, mindspore.float32, mindspore.float64,
                                             mindspore.complex64, mindspore.complex128))
_numbers = itertools.count()


def _is_float(value: object) -> bool:
    return isinstance(value, mindspore.Tensor) and str(value.dtype) in _FLOATS


class Bracket:
    """`record` is called with (gradients that leave, gradients that arrive). Without a floating tensor among the positional arguments
    nothing leaves, as far as can be seen."""

    def __init__(self, record: Callable[[tuple, tuple], None], args: tuple) -> None:
        self._around = any(_is_float(value) for value in args)
        # The operator holds its hooks weakly; it holds this attribute as long as the graph needs it.
        hooks: Dict[int, Callable[..., None]] = OrderedDict()
        self._operator = CellBackwardHook(f"msprobe.{next(_numbers)}", None, hooks)
        self._operator.msprobe_hooks = hooks
        if self._around:
            hooks[0] = lambda _cell, leaving, arriving: record(_as_tuple(leaving), _as_tuple(arriving))
            self._operator.register_backward_hook()
        else:
            hooks[0] = lambda _cell, arriving: record((), _as_tuple(arriving))
            self._operator.register_backward_pre_hook()

    def arguments(self, args: tuple) -> tuple:
        return self._operator(args) if self._around else args

    def result(self, value: object) -> object:
        """The result in its own type, with hooked tensors in it."""
        if isinstance(value, mindspore.Tensor):
            return self._operator(value)
        if not isinstance(value, (tuple, list)):
            return value
        hooked = self._operator(tuple(value))
        if hasattr(value, "_fields"):
            return type(value)(*hooked)
        return list(hooked) if isinstance(value, list) else hooked


def _as_tuple(gradients: object) -> tuple:
    return gradients if isinstance(gradients, tuple) else (gradients,)
