# SPDX-License-Identifier: Apache-2.0
"""-d inductor: each recorded call, compiled by torch.compile."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Optional

import torch

from msprobe.functions.messages import tensors_in


class NotCompiled(Exception):
    """torch.compile leaves the call to PyTorch's own kernels; the text says why."""


def function_of(api: str) -> Optional[Callable[..., Any]]:
    """What a recorded name stands for in Python."""
    kind, _, bare = api.partition(".")
    homes: Dict[str, Any] = {"Functional": torch.nn.functional, "Torch": torch, "Tensor": torch.Tensor, "VF": torch._VF, "Aten": torch.ops.aten,
                             "Custom": torch.ops}
    if kind not in homes:
        return None
    try:
        found = operator.attrgetter(bare)(homes[kind])
    except AttributeError:
        return None
    return found if callable(found) else None


def _index(args: List[Any], shape: Optional[List[int]]) -> List[Any]:
    """A dump writes x[0, 2] and x[[0, 2]] alike: the shape of the result tells."""
    if len(args) < 2 or not isinstance(args[1], list):
        return args
    as_tuple = [args[0], tuple(args[1]), *args[2:]]
    if not all(isinstance(item, int) for item in args[1]):
        return as_tuple
    try:
        fits = shape is None or list(args[0].detach()[tuple(args[1])].shape) == shape
    except (IndexError, TypeError):
        fits = False
    return as_tuple if fits else args


def run(api: str, args: List[Any], kwargs: Dict[str, Any], shape: Optional[List[int]]) -> Any:
    function = function_of(api)
    if function is None:
        raise NotCompiled(f"not on the device: PyTorch has no {api} to compile")
    if api in ("Tensor.__getitem__", "Tensor.__setitem__"):
        args = _index(args, shape)
    torch._dynamo.reset()  # else the ninth shape of a function is not compiled any more
    torch._inductor.config.fallback_random = True  # both sides draw the same numbers

    def call(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    if not tensors_in([args, kwargs]):
        raise NotCompiled("not on the device: there is no tensor to compile for")
    try:
        return torch.compile(call, fullgraph=True, dynamic=False)(*args, **kwargs)
    except torch._dynamo.exc.Unsupported as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise NotCompiled(f"not on the device: torch.compile leaves it to PyTorch ({reason[:200]})") from error
