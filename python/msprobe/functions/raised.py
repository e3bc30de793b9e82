# SPDX-License-Identifier: Apache-2.0
"""Raised precision for functions that are not ours: what a reference makes or casts meanwhile is float64, too."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator

import torch
from torch.overrides import TorchFunctionMode

_WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64, torch.complex64: torch.complex128}
_CASTS = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}
_LEGACY = {"torch.FloatTensor", "torch.HalfTensor", "torch.BFloat16Tensor"}


class Raised(TorchFunctionMode):
    """x.float() and x.to(torch.bfloat16) give float64, and so do tensors that come from elsewhere (the weights of a module)."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__", "size", "dim", "numel", "stride", "__len__"):
            return func(*args, **(kwargs or {}))
        if func in _CASTS:
            return args[0] if args[0].dtype == torch.float64 else args[0].double()
        in_place = (name.endswith("_") and not name.endswith("__")) or "out" in (kwargs or {}) or name.startswith("__i")
        first = args[:1] if in_place else ()
        args = (*first, *(_raised(item) for item in args[len(first):]))
        raised_kwargs: Dict[str, Any] = {key: value if key == "out" else _raised(value) for key, value in (kwargs or {}).items()}
        return func(*args, **raised_kwargs)


def _raised(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        wide = _WIDE.get(value.dtype)
        return value if wide is None else value.to(wide)
    if isinstance(value, torch.dtype):
        return _WIDE.get(value, value)
    if type(value) in (list, tuple):
        return type(value)(_raised(item) for item in value)
    if isinstance(value, str) and value in _LEGACY:
        return "torch.DoubleTensor"
    return value


@contextlib.contextmanager
def raised(wanted: bool) -> Iterator[None]:
    """Does nothing unless `wanted`."""
    if not wanted:
        yield
        return
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Raised():
            yield
    finally:
        torch.set_default_dtype(before)
