# SPDX-License-Identifier: Apache-2.0
"""Which functions are recorded, and under which names: support_wrap_ops.yaml and what it stands for in this PyTorch."""
import importlib
import os
import sys
from typing import Callable, Dict, Iterator, List, Set, Tuple

import torch

OPS_FILE = os.path.join(os.path.dirname(__file__), "hook_module", "support_wrap_ops.yaml")

COMMUNICATION = "Distributed"

# Group of the list -> first part of an entry's name. Some functions are in two groups (F.conv2d is torch.conv2d); the first one
# names them.
PREFIXES = {"functional": "Functional", "_VF": "VF", "torch": "Torch", "tensor": "Tensor", "torch_npu": "NPU",
            "distributed": COMMUNICATION, "npu_distributed": COMMUNICATION}

# Operators whose calls reach an override under the name of the method behind them, and the name they are recorded under.
OPERATORS = {name: name for name in (
    "__add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __div__ __rdiv__ __idiv__ "
    "__floordiv__ __rfloordiv__ __ifloordiv__ __mod__ __rmod__ __imod__ __pow__ __rpow__ __ipow__ __matmul__ __rmatmul__ "
    "__and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__ __rxor__ __ixor__ __lshift__ __ilshift__ __rshift__ __irshift__ "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__").split()}
OPERATORS.update(__itruediv__="__idiv__", __rtruediv__="__rdiv__")


def _module(group: str):
    if group in ("torch_npu", "npu_distributed"):
        # Only where the training has it: loading a device's library is not the collector's to decide.
        return sys.modules.get("torch_npu" if group == "torch_npu" else "torch_npu.distributed")
    if group == "distributed":
        return torch.distributed if torch.distributed.is_available() else None
    return {"functional": torch.nn.functional, "_VF": importlib.import_module("torch._VF"), "torch": torch,
            "tensor": torch.Tensor}[group]


def _find(module: object, dotted: str):
    for part in dotted.split("."):
        module = getattr(module, part, None)
    return module


def _aliases(group: str, name: str) -> Iterator[str]:
    """F.max_pool2d(return_indices=True) arrives as max_pool2d_with_indices."""
    yield name
    if group == "functional" and "max_pool" in name:
        yield name + "_with_indices"


def resolve(groups: Dict[str, List[str]], hidden: Callable[[str, str], bool] = lambda group, name: False
            ) -> Tuple[List[tuple], List[tuple], Set[str]]:
    """(functions, operators, methods): functions and operators as the native collector takes them, methods that have to be replaced
    for an operator's name to be known. `hidden` tells which names a filter leaves out. torch.linalg.norm keeps its whole name: the
    check would take Torch.norm for another function."""
    functions: List[tuple] = []
    operators: List[tuple] = []
    methods: Set[str] = set()
    for group, prefix in PREFIXES.items():
        module = _module(group)
        for name in groups.get(group, []):
            if module is None or hidden(group, name):
                continue
            for alias in _aliases(group, name):
                function = _find(module, alias)
                # An operator's function without the operator is the plain method: x.eq(y).
                plain = name.strip("_") if group == "tensor" and name in ("__eq__",) else name
                if callable(function):
                    functions.append((function, prefix, plain))
            if group == "tensor" and name in OPERATORS.values():
                operators.append((name, prefix, name))
    methods.update(method for method in OPERATORS if hasattr(torch.Tensor, method))
    return functions, operators, methods
