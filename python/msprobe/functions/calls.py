# SPDX-License-Identifier: Apache-2.0
"""How a user's function is run: raised where it is a benchmark, with the backward pass that was given with it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch

from msprobe.functions import Function
from msprobe.functions.messages import mapped, tensors_in
from msprobe.functions.raised import raised


def run(function: Function, args: List[Any], kwargs: Dict[str, Any], *, raise_to: Optional[torch.dtype] = None,
        autocast: Optional[torch.dtype] = None) -> Any:
    if autocast is not None:
        args, kwargs = (mapped(value, lambda tensor: tensor.to(autocast) if tensor.dtype == torch.float32 else tensor) for value in (args, kwargs))
    wanted = raise_to == torch.float64
    if function.backward is None or not any(tensor.requires_grad for tensor in tensors_in([args, kwargs])):
        with raised(wanted):
            return _called(function, args, kwargs)
    return _run_both(function, args, kwargs, wanted)


def _called(function: Function, args: List[Any], kwargs: Dict[str, Any]) -> Any:
    if function.takes == "torch":
        return function.run(*args, **kwargs)
    change = _to_jax if function.takes == "jax" else (lambda tensor: tensor.detach().numpy())
    return mapped(function.run(*mapped(args, change), **mapped(kwargs, change)), lambda tensor: tensor)


def _to_jax(tensor: torch.Tensor) -> Any:
    import jax.dlpack

    return jax.dlpack.from_dlpack(tensor.detach().contiguous())


class _Both(torch.autograd.Function):
    """The forward and the backward function of a user, as one operation of autograd."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        call.inputs = tensors
        with raised(call.wanted):
            call.result = _called(call.function, *call.arguments())
        outputs = tensors_in(call.result)
        ctx.call = call
        return tuple(output.clone() if any(output is tensor for tensor in tensors) else output for output in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Tuple[Optional[torch.Tensor], ...]:
        call = ctx.call
        args, kwargs = call.arguments()
        with torch.no_grad(), raised(call.wanted):
            given = call.function.backward(*gradients, *args, **kwargs)
        found = [given] if isinstance(given, torch.Tensor) or given is None else list(given)
        if len(found) != len(call.inputs):
            raise ValueError(f"backward returned {len(found)} gradients, not one for each of {len(call.inputs)} tensors")
        return (None, *found)


class _Call:
    def __init__(self, function: Function, args: List[Any], kwargs: Dict[str, Any], wanted: bool) -> None:
        self.function = function
        self.wanted = wanted
        self.inputs: Tuple[torch.Tensor, ...] = ()
        self.result: Any = None
        self._values = (args, kwargs)

    def arguments(self) -> Any:
        left = iter(self.inputs)
        return mapped(self._values, lambda _: next(left).detach())


def _run_both(function: Function, args: List[Any], kwargs: Dict[str, Any], wanted: bool) -> Any:
    call = _Call(function, args, kwargs, wanted)
    outputs = iter(_Both.apply(call, *tensors_in([args, kwargs])))
    return mapped(call.result, lambda _: next(outputs))


def compared(function: Function, output: Any, args: List[Any], kwargs: Dict[str, Any]) -> Any:
    """The outputs as they are compared."""
    output = mapped(output, lambda tensor: tensor.detach())
    if function.postprocess is not None:
        output = function.postprocess(output, *mapped(args, torch.Tensor.clone), **mapped(kwargs, torch.Tensor.clone))
    several = isinstance(output, (list, tuple))
    items = list(output) if several else [output]
    for place, item in enumerate(items):
        if function.outputs is not None and place not in function.outputs:
            items[place] = None
        elif place in function.not_unique:
            items[place] = mapped(item, torch.zeros_like)
    return items if several else items[0]
