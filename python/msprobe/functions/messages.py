# SPDX-License-Identifier: Apache-2.0
"""Arguments and results between the engine and Python: JSON, with the tensors themselves beside it (apps/engine/python_functions.cc)."""

from __future__ import annotations

import math
from typing import Any, List

import torch

_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def decoded(value: Any, tensors: List[torch.Tensor]) -> Any:
    """What JSON has no form for is an object of one key."""
    if isinstance(value, list):
        return [decoded(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    (key, content), = value.items()
    if key == "t":
        return tensors[content]
    if key == "k":
        return {name: decoded(item, tensors) for name, item in content.items()}
    if key == "f":
        return _NUMBERS[content]
    if key == "c":
        return complex(*(decoded(part, tensors) for part in content))
    if key == "s":
        return slice(*content)
    if key == "z":
        return torch.Size(content)
    if key == "d":
        return getattr(torch, content.rsplit(".", 1)[-1])
    if key == "v":
        return torch.device(content)
    if key in ("m", "l"):
        return getattr(torch, content)
    return Ellipsis


def encoded(value: Any, tensors: List[torch.Tensor]) -> Any:
    """TypeError for what no API returns."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"t": len(tensors) - 1}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"f": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, complex):
        return {"c": [encoded(value.real, tensors), encoded(value.imag, tensors)]}
    if isinstance(value, torch.Size):
        return {"z": list(value)}
    if isinstance(value, torch.dtype):
        return {"d": str(value)}
    if isinstance(value, (list, tuple)):
        return [encoded(item, tensors) for item in value]
    if isinstance(value, dict):
        return {"k": {str(key): encoded(item, tensors) for key, item in value.items()}}
    if hasattr(value, "__dlpack__"):  # of JAX, CuPy, NumPy, ...
        return encoded(torch.from_dlpack(value), tensors)
    if hasattr(value, "__array__"):  # a NumPy scalar
        return encoded(torch.as_tensor(value.__array__()), tensors)
    raise TypeError(f"it returned a {type(value).__name__}, which is no tensor, number, list or dictionary of them")


def mapped(value: Any, change: Any) -> Any:
    """A copy of nested lists and dictionaries with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        items = [mapped(item, change) for item in value]
        if isinstance(value, torch.Size):
            return value
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return value


def tensors_in(value: Any) -> List[torch.Tensor]:
    found: List[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    mapped(value, keep)
    return found
