# SPDX-License-Identifier: Apache-2.0
"""``msprobe.metrics(actual, expected)``: every metric of two tensors, in one vectorised pass over their memory."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Tuple

try:
    from msprobe import _pair
except ImportError as error:
    raise ImportError("msprobe.metrics and msprobe.testing: their native module is missing or built for another Python; run 'pip install .' in "
                      "the directory of msprobe to build it for this one") from error

__all__ = ["metrics"]

# (bytes, dtype, shape), as the native module takes a tensor
Lent = Tuple[Any, str, "Tuple[int, ...]"]  # Python 3.8 has no tuple[...]


def metrics(actual: Any, expected: Any, *, api: str | None = None, dtype: Any = None, threads: int | None = None) -> dict[str, Any]:
    """Every metric of `actual` against `expected`, as a dict.

    actual, expected: tensors of PyTorch, arrays of NumPy, or anything with ``__dlpack__``. Contiguous memory of the CPU is not copied.
    api: the API whose standard gives ``status`` and ``message``, e.g. ``"conv2d"``.
    dtype: the dtype `actual` was computed in, if it is held in a wider one.
    threads: at most so many; by default one for each core.

    The keys are those of ``msprobe metrics --json``; a metric that the dtypes do not have is None.
    """
    answer = compare(lend(actual, dtype), lend(expected), api, threads)
    row: dict[str, Any] = answer["row"]
    row["actual_dtype"], row["expected_dtype"] = row.pop("device_dtype"), row.pop("bench_dtype")
    for cells in answer["algorithms"].values():
        for key, value in cells.items():
            if row.get(_ROW_KEYS.get(key, key)) is None:
                row[_ROW_KEYS.get(key, key)] = value
    return row


# What an algorithm calls otherwise than the row does.
_ROW_KEYS = {"max_rel_error": "max_rel_err", "mean_rel_error": "mean_rel_err", "max_ulp_error": "max_ulp_err",
             "mean_ulp_error": "mean_ulp_err", "ulp_error_proportion": "ulp_err_proportion"}


def compare(actual: Lent, expected: Lent, api: str | None, threads: int | None = None) -> dict[str, Any]:
    """The answer of ``msprobe metrics --json``."""
    count = threads if threads is not None else len(os.sched_getaffinity(0))
    answer: dict[str, Any] = _numbers(json.loads(_pair.compare(actual, expected, api or "", count)))
    return answer


def beyond(actual: Lent, expected: Lent, tolerance: tuple[float, float] | None = None) -> dict[str, Any]:
    """How many elements are beyond the tolerance of actual's dtype, or beyond (rtol, atol), and the worst of them."""
    answer: dict[str, Any] = _numbers(json.loads(_pair.beyond(actual, expected, *(tolerance or ()))))
    return answer


def _numbers(answer: Any) -> Any:
    """JSON has no NaN and infinity: they come as texts."""
    if isinstance(answer, dict):
        return {key: _numbers(value) for key, value in answer.items()}
    return float(answer) if answer in ("nan", "inf", "-inf") else answer


def lend(value: Any, dtype: Any = None) -> Lent:
    """What the native module needs of a tensor. Nothing is copied if it is contiguous, on the CPU, and of `dtype`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _lend_torch(torch, value, dtype)
    import numpy

    if hasattr(value, "__array_interface__") or isinstance(value, (numpy.generic, int, float, complex, bool, list, tuple)):
        return _lend_numpy(numpy, numpy.asarray(value), dtype)
    if hasattr(value, "__dlpack__"):
        if torch is not None:
            return _lend_torch(torch, torch.from_dlpack(value), dtype)
        return _lend_numpy(numpy, numpy.from_dlpack(value), dtype)
    raise TypeError(f"{type(value).__name__} is not a tensor: expected a torch.Tensor, a numpy.ndarray or an object with __dlpack__")


def _lend_torch(torch: Any, tensor: Any, dtype: Any) -> Lent:
    if tensor.layout != torch.strided:
        raise TypeError(f"a tensor of layout {tensor.layout} cannot be compared; pass its .to_dense()")
    if tensor.is_quantized:
        raise TypeError("a quantised tensor cannot be compared; pass its .dequantize()")
    wanted = tensor.dtype if dtype is None else _torch_dtype(torch, dtype)
    plain = tensor.detach().to(device="cpu", dtype=wanted).resolve_conj().resolve_neg().contiguous()
    flat = plain.reshape(-1)
    if flat.dtype != torch.uint8:
        flat = torch.view_as_real(flat).reshape(-1) if flat.dtype.is_complex else flat
        flat = flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)
    return flat.numpy(), str(wanted).replace("torch.", ""), tuple(tensor.shape)


def _torch_dtype(torch: Any, dtype: Any) -> Any:
    if isinstance(dtype, torch.dtype):
        return dtype
    found = getattr(torch, str(dtype).replace("torch.", ""), None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"unknown dtype {dtype!r}")
    return found


def _lend_numpy(numpy: Any, array: Any, dtype: Any) -> Lent:
    wanted = array.dtype if dtype is None else numpy.dtype(str(dtype).replace("torch.", ""))
    if wanted.kind not in "biufcV":
        raise TypeError(f"an array of dtype {wanted} cannot be compared")
    plain = numpy.ascontiguousarray(array.astype(wanted.newbyteorder("="), copy=False))
    return plain.reshape(-1).view(numpy.uint8), wanted.name, tuple(array.shape)
