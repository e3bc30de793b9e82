# SPDX-License-Identifier: Apache-2.0
"""References and kernels of the user's: Python functions that stand for the benchmark, or for the device, of recorded calls.

    @msprobe.reference("Custom.my_ns.my_op")        # acc_check --reference ops.py
    def my_op(x, weight, eps=1e-6): ...

    @msprobe.kernel("Functional.layer_norm")        # acc_check --kernel impl.py
    def layer_norm(x, shape, weight=None, bias=None, eps=1e-5): ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

__all__ = ["Function", "kernel", "reference"]

_TYPES = ("Functional", "Torch", "Tensor", "VF", "Aten", "NPU", "Custom", "Mint", "MintFunctional")
# How people write names in Python, and how recordings do.
_SPELLINGS = (("torch.nn.functional.", "Functional."), ("nn.functional.", "Functional."), ("F.", "Functional."), ("torch.Tensor.", "Tensor."),
              ("torch.ops.aten.", "Aten."), ("torch.ops.", "Custom."), ("torch_npu.", "NPU."), ("torch.", "Torch."))


@dataclass
class Function:
    """What a decorator was told of one API."""

    api: str
    run: Callable[..., Any]
    outputs: Optional[Tuple[int, ...]] = None
    not_unique: Tuple[int, ...] = ()
    postprocess: Optional[Callable[..., Any]] = None
    backward: Optional[Callable[..., Any]] = None
    takes: str = "torch"

    @property
    def changes_comparison(self) -> bool:
        return self.outputs is not None or bool(self.not_unique) or self.postprocess is not None


REFERENCES: Dict[str, Function] = {}
KERNELS: Dict[str, Function] = {}


def api_name(name: str) -> str:
    """As recordings spell it: "Functional.layer_norm" of "torch.nn.functional.layer_norm" and "F.layer_norm"."""
    if not isinstance(name, str) or not name.strip("."):
        raise TypeError(f"the name of an API is a text such as 'Functional.layer_norm', not {name!r}")
    if name.split(".")[0] in _TYPES:
        return name
    for begin, own in _SPELLINGS:
        if name.startswith(begin):
            return own + name[len(begin):]
    return name.replace("::", ".")


def _places(value: Any, name: str) -> Tuple[int, ...]:
    places = (value,) if isinstance(value, int) else tuple(value)
    if not all(isinstance(place, int) and place >= 0 for place in places):
        raise TypeError(f"{name} takes places of outputs such as [0, 2], not {value!r}")
    return places


def reference(api: str, *, outputs: Optional[Sequence[int]] = None, not_unique: Sequence[int] = (),
              postprocess: Optional[Callable[..., Any]] = None,
              backward: Optional[Callable[..., Any]] = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function is the benchmark of every recorded call of `api`.

    It gets the recorded arguments, floating tensors raised to float64, and returns what the API returns.

    api: as recorded ("Custom.my_ns.my_op", "NPU.npu_xxx", "Functional.gelu"), or as written in Python ("torch.ops.my_ns.my_op").
    outputs: places of the outputs that count; others are not compared. All count by default.
    not_unique: places of outputs with more than one right answer: of them only shape and dtype are compared.
    postprocess: called as postprocess(output, *args, **kwargs) with the outputs of both sides; what it returns is compared (rows that
        are padding set to zero, say).
    backward: called as backward(*gradients, *args, **kwargs); returns a gradient, or None, for each tensor among the arguments.
        Without it gradients come from autograd through the function.
    """
    name = api_name(api)
    counted = None if outputs is None else _places(outputs, "outputs")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        REFERENCES[name] = Function(name, function, counted, _places(not_unique, "not_unique"), postprocess, backward)
        return function

    return decorate


def kernel(api: str, *, backward: Optional[Callable[..., Any]] = None, takes: str = "torch") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function stands in place of the device in every recorded call of `api`.

    It gets the recorded arguments on the device of the check, in their dtypes and strides, and returns what the API returns.

    backward: as of reference(); without it gradients come from autograd, where the function takes part in it.
    takes: "torch" tensors, or "jax" or "numpy" arrays that share their memory.
    """
    if takes not in ("torch", "jax", "numpy"):
        raise TypeError(f"takes is 'torch', 'jax' or 'numpy', not {takes!r}")
    name = api_name(api)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        KERNELS[name] = Function(name, function, backward=backward, takes=takes)
        return function

    return decorate
