# SPDX-License-Identifier: Apache-2.0
"""What no call of support_wrap_ops.yaml covers: which of it computes something, and under which name it is recorded.

The collector's mode sees every function of PyTorch that runs outside of a recorded call. One that stands for an operator is recorded as
`Aten` (as `Custom`, if the operator is not PyTorch's own). For a function that is written in Python, and for the body of a scripted function, the operators
that run in it are recorded one by one: only there a mode of the dispatcher is on.
"""
import re
import types
from typing import Callable, Dict, FrozenSet, List, Optional, Set, Tuple, Union

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from msprobe import _collect
from msprobe.common.ops_file import parse_ops
from msprobe.pytorch import api_names

# Memory, constants, copies, casts, random numbers, shapes. Views and functions without a tensor result are recognised by their schema.
_NO_ARITHMETIC = re.compile(
    r"(new_)?(empty|zeros|ones|full)(_like|_strided|_permuted|_quantized)?|lift.*|tensor|as_tensor|from_.*|frombuffer|clone|copy_?|_to_copy|_?to_.*|to|detach.*|alias.*|fill_?|zero_?|"
    r"contiguous|arange|range|linspace|logspace|eye|tri[lu]_indices|scalar_tensor|(rand|randn|randint|randperm)(_like)?|normal_?|uniform_?|"
    r"bernoulli_?|exponential_?|geometric_?|cauchy_?|log_normal_?|random_?|multinomial|resize.*|set_.*|requires_grad_|retain_grad|rename_?|"
    r"_local_scalar_dense|item|is_.*|equal|record_stream|_unsafe_view|_reshape_.*|sym_.*|_?pin_memory|_has_compatible.*|"
    r"_record_function.*|_nested_get.*|_nested_from.*|_nested_view.*|_pack_padded_sequence.*|split_with_sizes_copy|"
    r"_chunk_cat|_foreach_(copy|zero)_?|_assert.*|_cast_.*|type_as|_make_dual.*|_fw_primal.*|_unpack_dual|align_.*|view.*_copy|"
    r"_functional_.*|_print|broadcast_tensors|_use_cudnn.*|_cummax_helper|_thnn_.*workspace")

# Namespaces whose operators move data between processes, or serve PyTorch itself.
_OTHERS = frozenset("prim profiler c10d c10d_functional _c10d_functional _c10d_functional_autograd fsdp symm_mem _dtensor rngprims "
                    "debugprims inductor prepacked quantized_decomposed streams export higher_order bucketing".split())
_PYTHON = ("torch.functional", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.signal", "torch.nested", "torch.sparse")

# Methods of tensors that are written in Python and are not in the shipped list: the operators that run in them are recorded.
_METHODS = frozenset("__contains__ __rfloordiv__ __rlshift__ __rmatmul__ __rrshift__".split())

Kind = Union[None, bool, str, Tuple[str, str]]


def _is_view(schema) -> bool:
    return any(value.alias_info and not value.alias_info.is_write for value in schema.returns)


def _makes_tensors(schema) -> bool:
    return (any("Tensor" in str(value.type) for value in schema.returns)
            or any(argument.alias_info and argument.alias_info.is_write for argument in schema.arguments))


def _computes(packet) -> bool:
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return any(_makes_tensors(schema) and not _is_view(schema) for schema in schemas)


def _packet_of(function: object):
    """The operator that a function stands for; None for any other function."""
    if isinstance(function, torch._ops.OpOverloadPacket):
        return function
    if isinstance(function, torch._ops.OpOverload):
        return getattr(function, "overloadpacket", getattr(function, "_overloadpacket", None))
    if isinstance(function, types.FunctionType):
        return None
    name = getattr(function, "__name__", "")
    return getattr(torch.ops.aten, name, None) if name.isidentifier() and not name.startswith("__") else None


def written_arguments(function: object) -> List[Tuple[int, str]]:
    """The arguments that the operator of a function writes into, where it returns nothing."""
    packet = _packet_of(function)
    for overload in packet.overloads() if packet is not None else ():
        schema = getattr(packet, overload)._schema
        if not schema.returns:
            return [(index, argument.name) for index, argument in enumerate(schema.arguments)
                    if argument.alias_info and argument.alias_info.is_write]
    return []


def _namespace_and_name(packet) -> Tuple[str, str]:
    namespace, _, name = packet._qualified_op_name.partition("::")
    return namespace, name


class Uncovered:
    """`groups`: what support_wrap_ops.yaml lists; `hidden` tells for (group, name) whether a filter leaves it out."""

    def __init__(self, groups: Dict[str, List[str]], hidden: Callable[[str, str], bool]) -> None:
        self._wants = {prefix: "all" in groups.get(group, []) for group, prefix in (("aten", "Aten"), ("custom", "Custom"))}
        self._hidden = hidden
        shipped = parse_ops(_collect.SHIPPED_OPS.splitlines(), "support_wrap_ops.yaml")
        kept = {name for group, names in groups.items() for name in names if not hidden(group, name)}
        gone = {group: [name for name in names if name not in groups.get(group, []) or hidden(group, name)]
                for group, names in shipped.items() if group in api_names.PREFIXES}
        self._left_out_names: FrozenSet[str] = frozenset(
            name.rpartition(".")[2].strip("_") for names in gone.values() for name in names if name not in kept)
        self._left_out: Set[object] = {function for function, _, _ in api_names.resolve(gone)[0]}

    @property
    def is_wanted(self) -> bool:
        return any(self._wants.values())

    def classify(self, function: object) -> Kind:
        """None: it computes nothing, or is not wanted. (prefix, name): it is recorded so. True: its operators are. A text: it
        cannot be recorded, and its results are counted under this name."""
        if self._is_left_out(function):
            return None
        packet = _packet_of(function)
        if packet is not None:
            return self._operator(packet)
        if isinstance(function, types.FunctionType):
            return self._python_function(function)
        return None

    def _is_left_out(self, function: object) -> bool:
        try:
            return function in self._left_out
        except TypeError:  # it has no hash
            return False

    def _operator(self, packet) -> Optional[Tuple[str, str]]:
        namespace, name = _namespace_and_name(packet)
        if namespace in _OTHERS:
            return None
        prefix = "Aten" if namespace == "aten" else "Custom"
        group = prefix.lower()
        if not self._wants[prefix] or self._hidden(group, name):
            return None
        if prefix == "Custom":
            return (prefix, f"{namespace}.{name}") if _computes(packet) else None
        if name in _CASTS and prefix == "Aten":  # the quantisation itself; OperatorMode leaves out other conversions
            return prefix, name
        if name.strip("_") in self._left_out_names or _NO_ARITHMETIC.fullmatch(name) or not _computes(packet):
            return None
        return prefix, name

    def _python_function(self, function: types.FunctionType) -> Kind:
        name, module = function.__name__, function.__module__ or ""
        if not self._wants["Aten"] or name.strip("_") in self._left_out_names or self._hidden("aten", name):
            return None
        if module.startswith(_PYTHON):
            return None if name.startswith("_") else True
        if module == "torch._tensor" and name in _METHODS:
            return True
        computes = module == "torch._tensor" and not name.startswith("_") and hasattr(torch.ops.aten, name)
        return f"Tensor.{name}" if computes and not _NO_ARITHMETIC.fullmatch(name) else None


# Types that hold tensors and are recorded as themselves.
_DESCRIBED = frozenset("DTensor AsyncCollectiveTensor FakeTensor FunctionalTensor NestedTensor".split())


def wraps_tensors(kind: type) -> bool:
    """Whether a type of tensors holds others, and computes with these what it likes: torchao's quantised tensors. Its calls are recorded
    as the operators that it runs on what it holds."""
    if any(base.__name__ in _DESCRIBED for base in kind.__mro__):
        return False
    own = getattr(kind, "__torch_dispatch__", None) not in (None, torch.Tensor.__torch_dispatch__)
    return own and hasattr(kind, "__tensor_flatten__")


_CODES = frozenset(getattr(torch, name) for name in ("float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu").split()
                   if hasattr(torch, name))


_CASTS = ("to", "_to_copy")


def _is_other_cast(function: object, args: tuple, kwargs: dict) -> bool:
    """A conversion that is not from or to codes of 8 bits: it loses nothing that a check could find."""
    packet = _packet_of(function)
    if packet is None or _namespace_and_name(packet) not in [("aten", name) for name in _CASTS]:
        return False
    values = (*args, *kwargs.values())
    return not any(value in _CODES if isinstance(value, torch.dtype) else isinstance(value, torch.Tensor) and value.dtype in _CODES
                   for value in values)


class OperatorMode(TorchDispatchMode):
    """Shows every operator that runs in it to the native collector."""

    def __init__(self, native) -> None:
        super().__init__()
        self._native = native

    def __torch_dispatch__(self, function, types_of_arguments, args=(), kwargs=None):
        if any(wraps_tensors(kind) for kind in types_of_arguments):
            return NotImplemented  # the type runs it, and what it runs comes here again
        if _is_other_cast(function, args, kwargs or {}):
            return function(*args, **(kwargs or {}))
        return self._native.run_operator(function, tuple(args), kwargs or {})


class ScriptedCalls:
    """While recording, the operators in the body of a scripted function or module are recorded."""

    def __init__(self, native, is_on: Callable[[], bool]) -> None:
        self._native, self._is_on = native, is_on
        self._own: List[tuple] = []

    def start(self) -> None:
        for kind in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            own = kind.__call__
            self._own.append((kind, own))
            kind.__call__ = self._watched(own)

    def stop(self) -> None:
        for kind, own in self._own:
            kind.__call__ = own
        self._own.clear()

    def _watched(self, own: Callable) -> Callable:
        def call(scripted, *args, **kwargs):
            if self._native.is_inside() or not self._is_on():
                return own(scripted, *args, **kwargs)
            with OperatorMode(self._native):
                return own(scripted, *args, **kwargs)

        return call
