# SPDX-License-Identifier: Apache-2.0
"""One kernel against one reference, case by case, in a process of their own: the judge is the engine's."""

from __future__ import annotations

import copy
import ctypes
import json
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from msprobe.functions import KERNELS, REFERENCES, Function
from msprobe.functions.cases import Case, Example
from msprobe.functions.files import first_line
from msprobe.functions.guarded import Block, Guarded, same_bits
from msprobe.functions.host import Bridge, answered
from msprobe.functions.messages import decoded, encoded, mapped, tensors_in
from msprobe.functions.raised import raised

API = "Custom.verify.kernel"
_RUNS = 15  # of the reference, beside the first two: as many as the strict status ever wants
# From this share of its size on, by which a rounding of the inputs moves a result, it proves nothing.
_ILL = 1 / 16


def in_dtype(function: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """A module has its weights in the dtype of the case."""
    if isinstance(function, torch.nn.Module) and any(True for _ in function.parameters()):
        return copy.deepcopy(function).to(dtype).eval() if not function.training else copy.deepcopy(function).to(dtype)
    return function


class Trial:
    def __init__(self, engine: ctypes.CDLL, kernel: Callable[..., Any], reference: Callable[..., Any], example: Example) -> None:
        self.example = example
        self._functions = (kernel, reference)
        self._engine = engine
        engine.msprobe_engine_judge.restype = ctypes.c_char_p
        engine.msprobe_engine_judge.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int]
        self._shown: Any = None  # what stands for the kernel's result while it is judged
        KERNELS[API] = Function(API, lambda *_args, **_kwargs: self._shown)
        self._bridge = Bridge(engine, self._answered)
        self._bridge.give({"references": [API], "kernels": [API], "compared": []})
        self._buffers: Dict[Any, Tuple[List[Any], List[Block]]] = {}
        self._modules: Dict[Any, Tuple[Callable[..., Any], Callable[..., Any]]] = {}
        self._last: Optional[Tuple[List[torch.Tensor], List[torch.Tensor]]] = None
        self.stage = "reference"

    def _answered(self, request: Dict[str, Any], tensors: List[torch.Tensor]) -> Any:
        if request["do"] == "kernel":
            return self._shown
        return answered(request, tensors)

    def _pair(self, dtype: torch.dtype) -> Tuple[Callable[..., Any], Callable[..., Any]]:
        if dtype not in self._modules:
            kernel, reference = self._functions
            self._modules[dtype] = (in_dtype(kernel, dtype), in_dtype(reference, dtype))
        return self._modules[dtype]

    def run(self, case: Case, tell: Callable[[str], None]) -> Dict[str, Any]:
        """{"verdict": right, wrong, inconclusive, refused or invalid; "reason", "cause", ...}"""
        kernel, reference = self._pair(case.dtype)
        REFERENCES[API] = Function(API, reference)
        args = self.example.arguments(case)
        on_cpu = mapped(args, lambda tensor: tensor.detach().cpu())
        tell("reference")
        own, changed, shares = self._own_run(reference, on_cpu)
        if isinstance(own, str):
            return {"verdict": "invalid", "reason": own}
        tell("kernel")
        found = self._kernel_runs(case, kernel, args, changed, shares)
        if "verdict" in found:
            return found
        tell("reference")
        return self._judged(case, kernel, args, on_cpu, own, found)

    def _own_run(self, reference: Callable[..., Any], args: List[Any]) -> Tuple[Any, List[bool], bool]:
        """What the reference gives in the dtype itself, which of the tensors it changes, and whether its result shares their memory."""
        given = mapped(args, torch.Tensor.clone)
        try:
            with torch.no_grad():
                own = reference(*given)
        except Exception as error:  # these arguments are not for this function
            return f"{type(error).__name__}: {first_line(error)}", [], False
        changed = [not same_bits(one, other) for one, other in zip(tensors_in(given), tensors_in(args))]
        return own, changed, _shares(own, given)

    # --- The kernel, more than once. ---

    def _kernel_runs(self, case: Case, kernel: Callable[..., Any], args: List[Any], changed: List[bool], shares: bool) -> Dict[str, Any]:
        guard, given = self._guarded(case, args)
        before = [tensor.clone() for tensor in tensors_in(given)]
        try:
            with torch.no_grad():
                result = kernel(*given)
            encoded(result, [])
        except Exception as error:
            return _raised(error, case)
        if any(block.written_outside() for block in guard):
            return _wrong("it writes outside of the tensors it was given", "writes outside of a buffer")
        for place, (tensor, was) in enumerate(zip(tensors_in(given), before)):
            if not changed[place] and not same_bits(tensor, was):
                return _wrong(f"it changes its argument {place}, which the reference does not", "changes an argument")
        result = mapped(encoded_tensors(result), lambda tensor: tensor.detach())
        if not shares and _shares(result, given):
            return _wrong("its result lies in the memory of an argument", "aliases an argument")
        if self._last is not None and any(not same_bits(one, other) for one, other in zip(*self._last)):
            return _wrong("its result is overwritten by the next call", "result overwritten by the next call")
        held = [tensor for tensor in tensors_in(result) if tensor.numel()]
        copies = [tensor.clone() for tensor in held]
        again = self._again(kernel, args, any(changed))
        if isinstance(again, dict):
            return again
        if any(not same_bits(one, other) for one, other in zip(held, copies)):
            return _wrong("its result is overwritten by the next call", "result overwritten by the next call")
        self._last = (held, copies)
        return {"result": mapped(result, lambda tensor: tensor.cpu()), "again": again, "given": None if any(changed) else given}

    def _guarded(self, case: Case, args: List[Any]) -> Tuple[List[Block], List[Any]]:
        """The very same tensors for all cases of one shape: a result that is kept for them shows."""
        key = (case.dtype, case.extents, case.layout, tuple(tuple(tensor.shape) for tensor in tensors_in(args)))
        if key not in self._buffers:
            guard = Guarded(second=False)
            given = mapped(args, guard.put)
            self._buffers[key] = (given, guard.blocks)
            return guard.blocks, given
        given, blocks = self._buffers[key]
        for old, new in zip(tensors_in(given), tensors_in(args)):
            if old.numel() and not any(step == 0 and extent > 1 for extent, step in zip(old.shape, old.stride())):
                old.copy_(new)
            elif old.numel():
                narrow = tuple(slice(0, 1) if step == 0 else slice(None) for step in old.stride())
                old[narrow].copy_(new[narrow])
        return blocks, given

    def _again(self, kernel: Callable[..., Any], args: List[Any], changes: bool) -> Any:
        """The same numbers elsewhere, in memory that held something else; None where the kernel cannot be watched so."""
        guard = Guarded(second=True)
        given = mapped(args, guard.put)
        inputs = len(guard.blocks)
        try:
            with torch.no_grad(), guard:
                result = kernel(*given)
        except Exception:
            return None
        if guard.written_outside():
            where = "the tensors it was given" if any(block.written_outside() for block in guard.blocks[:inputs]) else "its own buffers"
            return _wrong(f"it writes outside of {where}", "writes outside of a buffer")
        return mapped(encoded_tensors(result), lambda tensor: tensor.detach().clone().cpu())

    # --- The judge. ---

    def _judged(self, case: Case, kernel: Callable[..., Any], args: List[Any], on_cpu: List[Any], own: Any, found: Dict[str, Any]) -> Dict[str, Any]:
        verdict = self._judge(found["result"], on_cpu, own)
        again = found["again"]
        if verdict["verdict"] == "wrong" and case.layout == "contiguous":
            return verdict
        same = again is None or _all_same(again, found["result"])
        if verdict["verdict"] != "wrong" and not same:
            second = self._judge(again, on_cpu, own)
            if second["verdict"] == "wrong":
                cause, reason = self._why_it_changes(kernel, found)
                return _wrong(f"{reason}: {second['reason']}", cause, second)
            verdict["note"] = "results differ from run to run, within the bound"
        if verdict["verdict"] == "right":
            share, what = self._sensitivity(case, on_cpu, own)
            if share > _ILL:
                return {"verdict": "inconclusive", "reason": f"{what} {str(case.dtype)[6:]} moves the reference by {share:.2g} of its size", "number": share}
        return verdict

    def _why_it_changes(self, kernel: Callable[..., Any], found: Dict[str, Any]) -> Tuple[str, str]:
        if found["given"] is not None:
            try:
                with torch.no_grad():
                    third = mapped(encoded_tensors(kernel(*found["given"])), lambda tensor: tensor.detach().cpu())
                if not _all_same(third, found["result"]):
                    return "not deterministic", "its result changes from run to run"
            except Exception:
                return "not deterministic", "its result changes from run to run"
        return "reads memory that was never written", "its result depends on its place in memory, or on what the memory held before"

    def _judge(self, result: Any, args: List[Any], own: Any) -> Dict[str, Any]:
        self._shown = result
        tensors: List[torch.Tensor] = []
        request = {"name": API + ".0", "args": [encoded(value, tensors) for value in args], "kwargs": {}, "runs": _RUNS, "seed": self.example.seed,
                   "outputs": _outputs(own)}
        places = (ctypes.c_void_p * max(1, len(tensors)))(*(tensor._cdata for tensor in tensors))
        answer = json.loads(self._engine.msprobe_engine_judge(json.dumps(request).encode(), places, len(tensors)))
        if "skip" in answer:
            if answer["skip"] == "device_failed":
                return _wrong(answer["text"], "")
            return {"verdict": "failed", "reason": answer["text"]}
        return _folded(answer["leaves"])

    def _sensitivity(self, case: Case, args: List[Any], own: Any) -> Tuple[float, str]:
        """By which share of its size the reference moves when its inputs are rounded, or when it computes in the dtype itself.

        The median of the elements, and the largest of the outputs.
        """
        reference = REFERENCES[API].run
        generator = torch.Generator().manual_seed(self.example.seed)
        half_unit = torch.finfo(case.dtype).eps / 2 if case.dtype.is_floating_point else 0

        def move(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.is_floating_point():
                return tensor
            wide = tensor.double()
            return wide * (1 + half_unit * (2 * torch.rand(wide.shape, generator=generator, dtype=torch.float64) - 1))

        try:
            with torch.no_grad(), raised(True):
                moved = reference(*mapped(args, move))
                still = reference(*mapped(args, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor.clone()))
        except Exception:
            return 0.0, ""
        of_inputs, of_steps = _median_share(moved, still), _median_share(own, still)
        return (of_inputs, "a rounding of the inputs to") if of_inputs >= of_steps else (of_steps, "computing in")


def _median_share(one: Any, other: Any) -> float:
    shares = [0.0]
    for left, right in zip(tensors_in(one), tensors_in(other)):
        if left.shape != right.shape or not right.is_floating_point() or right.numel() == 0:
            continue
        size = right.abs()
        share = ((left.double() - right).abs() / size)[(size > 0) & left.isfinite() & right.isfinite()]
        if share.numel():
            shares.append(float(share.median()))
    return max(shares)


def encoded_tensors(value: Any) -> Any:
    """Arrays of other libraries become tensors."""
    tensors: List[torch.Tensor] = []
    return decoded(encoded(value, tensors), tensors)


def _all_same(one: Any, other: Any) -> bool:
    left, right = tensors_in(one), tensors_in(other)
    return len(left) == len(right) and all(same_bits(a, b) for a, b in zip(left, right))


def _shares(result: Any, args: Any) -> bool:
    storages = {tensor.untyped_storage().data_ptr() for tensor in tensors_in(args) if tensor.numel() and tensor.layout == torch.strided}
    return any(tensor.untyped_storage().data_ptr() in storages for tensor in tensors_in(result) if tensor.numel() and tensor.layout == torch.strided)


def _outputs(own: Any) -> List[Dict[str, Any]]:
    items = own if isinstance(own, (list, tuple)) else [own]
    if not all(isinstance(item, torch.Tensor) for item in items):
        return []
    return [{"dtype": str(item.dtype), "shape": list(item.shape)} for item in items]


def _wrong(reason: str, cause: str, more: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    return {**(more or {}), "verdict": "wrong", "reason": reason, "cause": cause}


def _raised(error: BaseException, case: Case) -> Dict[str, Any]:
    text = f"the kernel raised {type(error).__name__}: {first_line(error)}"
    return _wrong(text, "does not run") if case.is_given else {"verdict": "refused", "reason": text}


def _folded(leaves: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The worst of all outputs decides."""
    bad = [leaf for leaf in leaves if leaf["status"] in ("error", "warning")]
    if bad:
        worst = max(bad, key=lambda leaf: decoded(leaf["over"], []) or 0)
        where = f"output {worst['path']}: " if len(leaves) > 1 else ""
        return {"verdict": "wrong", "reason": where + worst["reason"], "cause": worst["cause"], "over": decoded(worst["over"], [])}
    skipped = [leaf for leaf in leaves if leaf["status"].lower() == "skip"]
    doubts = [leaf for leaf in leaves if leaf["status"] == "inconclusive"]
    over = max((decoded(leaf["over"], []) or 0 for leaf in leaves), default=0)
    if len(skipped) + len(doubts) == len(leaves):
        return {"verdict": "inconclusive", "reason": (doubts or skipped or [{"reason": "the reference returns no tensor"}])[0]["reason"], "over": over}
    return {"verdict": "right", "reason": "", "over": over}
