# SPDX-License-Identifier: Apache-2.0
"""``msprobe.testing.assert_close``: two tensors are equal within what their dtype, or the standard of an API, allows."""

from __future__ import annotations

import sys
from typing import Any

from msprobe import pair
from msprobe.cause import likely_cause

__all__ = ["assert_close"]


def assert_close(actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, api: str | None = None,
                 dtype: Any = None) -> None:
    """Raise AssertionError unless `actual` is close to `expected`.

    actual, expected: tensors of PyTorch, arrays of NumPy, or anything with ``__dlpack__``.
    rtol, atol: every element must be within ``atol + rtol * |expected|``, as in torch.testing.assert_close; one without the other counts as 0.
    api: judge by the standard of this API, e.g. ``"conv2d"`` or ``"Functional.conv2d.0"``. Without it every element must be within the
        tolerance of actual's dtype: ``rtol * |expected|``, or ``atol`` if ``|expected| <= small_value`` (docs/standards.md).
    dtype: the dtype `actual` was computed in, if it is held in a wider one.

    NaN equals NaN and an infinity itself; on one side only they are never close. Shapes must be equal; dtypes may differ.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    device, bench = pair.lend(actual, dtype), pair.lend(expected)
    if device[2] != bench[2]:
        raise AssertionError(f"shapes differ: actual {device[2]}, expected {bench[2]}")
    tolerance = None if rtol is None and atol is None else (rtol or 0.0, atol or 0.0)
    _check_arguments(api, tolerance)
    if tolerance is not None:
        found = pair.beyond(device, bench, tolerance)
        if found["count"]:
            raise AssertionError(_message(device, bench, pair.compare(device, bench, None), None, found))
        return
    answer = pair.compare(device, bench, api)
    if api is not None:
        if answer["row"]["status"] in ("pass", "warning"):
            return
    elif _within_tolerance(answer):
        return
    raise AssertionError(_message(device, bench, answer, api, pair.beyond(device, bench)))


def _check_arguments(api: str | None, tolerance: tuple[float, float] | None) -> None:
    if tolerance is not None and api is not None:
        raise ValueError("pass api or rtol and atol, not both: an API has a standard of its own")
    if tolerance is not None and not all(value >= 0 for value in tolerance):
        raise ValueError(f"rtol and atol must be 0 or more, not {tolerance}")
    if api is not None and not _is_api(api):
        raise ValueError(f"unknown API {api!r}: expected a name such as 'conv2d', 'linalg.norm' or 'Functional.conv2d.0'")


_KINDS = {"Functional", "Torch", "Tensor", "NPU", "Aten", "VF", "Mint", "MintFunctional", "Primitive", "Custom", "Distributed"}


def _is_api(api: str) -> bool:
    """Whether PyTorch has such a function. Without PyTorch, and for operators that live elsewhere, every name will do."""
    torch = sys.modules.get("torch")
    words = api.split(".")
    if words[0] in _KINDS - {"Functional", "Torch", "Tensor"} or torch is None:
        return all(words)
    words = words[1:] if words[0] in _KINDS else words
    words = words[:-1] if len(words) > 1 and words[-1].isdigit() else words
    homes = (torch.nn.functional, torch, torch.Tensor, torch.ops.aten, torch._C._VariableFunctions)
    return words[0].startswith("npu_") or any(_has(home, words) for home in homes)


def _has(home: Any, words: list[str]) -> bool:
    try:
        for word in words:
            home = getattr(home, word)
    except (AttributeError, RuntimeError):
        return False
    return True


def _within_tolerance(answer: dict[str, Any]) -> bool:
    """No element is beyond the tolerance of the absolute-threshold algorithm; integers are equal."""
    cells = answer["algorithms"].get("absolute_threshold")
    nothing_differs = bool(answer["algorithms"]["binary"]["error_rate"] == 0)
    if cells is None or nothing_differs:  # without it: integers or complex numbers
        return nothing_differs
    return all(cells[key] == 0 for key in ("inf_nan_error_ratio", "rel_err_ratio", "abs_err_ratio"))


def _message(device: pair.Lent, bench: pair.Lent, answer: dict[str, Any], api: str | None, found: dict[str, Any]) -> str:
    shape = device[2]
    total = 1
    for extent in shape:
        total *= extent
    lines = [f"actual ({device[1]}) is not close to expected ({bench[1]}), shape {shape}"]
    if api is not None:
        row = answer["row"]
        lines.append(f"  by the standard of {api}: {row['status']}. {row['message']}".rstrip())
    if found["count"]:
        at = _index(found["worst_at"], shape)
        share = f"{found['count']} of {total} elements ({100 * found['count'] / total:.3g} %)"
        worst = f"worst at {at}: actual {found['actual']!r}, expected {found['expected']!r}"
        if found["small_value"] == 0 or "absolute_threshold" in answer["algorithms"]:
            ulp = f", {found['ulp']:.4g} ulp" if found["ulp"] else ""
            small = f" for values up to {found['small_value']:.3g}" if found["small_value"] else ""
            lines.append(f"  {share} are beyond the tolerance (rtol {found['rtol']:.3g}; atol {found['atol']:.3g}{small})")
            lines.append(f"  {worst}, error {found['error']:.4g} ({found['over']:.4g} x tolerance{ulp})")
        else:
            lines += [f"  {share} differ", f"  {worst}"]
    cosine = answer["row"]["cosine_similarity"]
    if cosine is not None:
        lines.append(f"  cosine similarity {cosine:.9g}, largest absolute error {answer['row']['max_abs_err']:.4g}")
    cause = likely_cause(device, bench)
    if cause:
        lines.append(f"  likely cause: {cause}")
    return "\n".join(lines)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        index.insert(0, flat % extent)
        flat //= extent
    return tuple(index)
