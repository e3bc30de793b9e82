# SPDX-License-Identifier: Apache-2.0
"""Values of Python and numpy as dump.json has them. What is common is done in C++."""
import dataclasses
import enum
import sys
from typing import Any, Dict, Optional, Tuple

Told = Tuple[str, Any]


def describe_python(value: object) -> Optional[Told]:
    """("json", what is written), or ("walk", what is described in its place); None for what is not known here."""
    if value is Ellipsis:
        return "json", {"type": "ellipsis", "value": "..."}
    if isinstance(value, tuple):
        return "walk", getattr(value, "_asdict")() if hasattr(value, "_fields") else tuple(value)  # noqa: B009 - of a named tuple
    if isinstance(value, enum.Enum):
        return "json", None
    for plain in (int, float, str):
        if isinstance(value, plain) and not isinstance(value, bool):
            return _numpy_scalar(value) or ("walk", plain(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "walk", {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return _numpy_scalar(value) or _numpy_array(value)


def _numpy():
    return sys.modules.get("numpy")


def _numpy_scalar(value: object) -> Optional[Told]:
    numpy = _numpy()
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    item = value.item()
    return "json", {"type": type(value).__name__, "value": item} if isinstance(item, (bool, int, float, str)) else None


def _numpy_array(value: object) -> Optional[Told]:
    numpy = _numpy()
    if numpy is None or not isinstance(value, numpy.ndarray):
        return None
    described: Dict[str, object] = {"type": "numpy.ndarray", "dtype": str(value.dtype), "shape": list(value.shape),
            "Max": None, "Min": None, "Mean": None, "Norm": None}
    if value.size and value.dtype.kind in "biuf":
        described["Max"], described["Min"] = value.max().item(), value.min().item()
        if value.dtype.kind == "f":
            described["Mean"], described["Norm"] = value.mean().item(), float(numpy.linalg.norm(value.astype("float64")))
    return "json", described
