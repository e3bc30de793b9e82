# SPDX-License-Identifier: Apache-2.0
"""Hooks the native collector into PyTorch while something is recorded, and takes it out again.

PyTorch's own way to see every call is a TorchFunctionMode. It belongs to a thread; new threads get it through threading.setprofile,
the hook of the standard library that runs in every thread that starts. Older threads get it while a module runs there, through the
global hooks of modules, or a backward pass.
A mode does not see the names of operators, so the operator methods of torch.Tensor are replaced while recording by ones that only
say their name.
"""
import inspect
import sys
import threading
from typing import Any, Dict, List, Optional

import torch
from torch import overrides
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from msprobe import _collect
from msprobe.common import call_site
from msprobe.common.ops_file import read_ops
from msprobe.common.session import NativeSession
from msprobe.pytorch import api_names, values
from msprobe.pytorch.communication import Communication
from msprobe.pytorch.compilation import Compilation
from msprobe.pytorch.custom_apis import CustomApis
from msprobe.pytorch.fast_paths import FUSED, FastPaths
from msprobe.pytorch.function_body import FunctionBody
from msprobe.pytorch.module_names import module_names
from msprobe.pytorch.modules import Modules
from msprobe.pytorch.uncovered import OperatorMode, ScriptedCalls, Uncovered, wraps_tensors, written_arguments

_DTYPES = {getattr(torch, name): name for name in
           ("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 "
            "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2").split() if hasattr(torch, name)}


def _dispatch_code():
    """The code of the function that F.max_pool2d and its like are made of."""
    return torch.nn.functional.max_pool2d.__code__


_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


class _ThreadExit:
    """Kept in a thread's own storage: takes the mode away when the thread ends, while Python can still be called there."""

    def __init__(self, leave) -> None:
        self._leave = leave

    def __del__(self) -> None:
        self._leave()


class Session(NativeSession):
    """`level`: L1 records calls of APIs, L0 those of modules, mix both."""

    def __init__(self, settings: dict, hidden=lambda group, name: False, level: str = "L1") -> None:
        super().__init__()
        self._records_apis = level in ("L1", "mix")
        self._settings = settings
        self.modules = Modules(self.native, settings, self._records_apis) if level in ("L0", "mix") else None
        self._black_box: Optional[Modules] = None  # of module_dump(), from its first call on
        self._is_in_black_box = False
        self._parked: Dict[str, list] = {}
        self.custom_apis = CustomApis(self.native)
        self._passing_on = self._make_pass_on()
        self._mode = type("MsprobeMode", (overrides.TorchFunctionMode,), {"__torch_function__": self._passing_on})()
        groups = read_ops(api_names.OPS_FILE) if self._records_apis else {}
        self._uncovered = Uncovered(groups, hidden)
        self._set_callbacks()
        functions, operators, self._methods = api_names.resolve(groups, hidden)
        if self._records_apis:
            functions += [(getattr(torch, name), "Torch", name) for name in FUSED if hasattr(torch, name) and not hidden("torch", name)]
        self.native.set_apis(functions, operators)
        self.configure({"tree": self.modules is not None, **settings})
        self._communication = Communication(self.native, {function: name for function, prefix, name in functions
                                                          if prefix == api_names.COMMUNICATION})
        self._compilation = Compilation()
        self._scripted = ScriptedCalls(self.native, self._is_on)
        self._fast_paths = FastPaths(self._without_mode)
        self._engine = self._hooked_engine()
        self._replaced: Dict[str, Any] = {}
        self._module_hooks: List[Any] = []
        self._local = threading.local()
        self._earlier_profile = getattr(threading, "_profile_hook", None)
        threading.setprofile(self._equip_thread)

    def _set_callbacks(self) -> None:
        callbacks = {
            "tensor_type": torch.Tensor,
            "parameter_type": torch.nn.Parameter,
            "size_type": torch.Size,
            "strided_layout": torch.strided,
            "describe_special": values.describe_special,
            "read_special": values.read_special,
            "call_site": call_site.call_site,
            "defaults": call_site.defaults,
            "trim_arguments": call_site.trim_arguments,
            "frame_text": call_site.frame_text,
            "frame_kind": call_site.frame_kind,
            "module_names": module_names,
            "module_call_code": torch.nn.Module._call_impl.__code__,
            "is_grad_enabled": torch.is_grad_enabled,
            "disable_torch_function": torch._C.DisableTorchFunction,
            "report": self.report,
            "classify": self._uncovered.classify if self._uncovered.is_wanted else None,
            "written_arguments": written_arguments,
            "wraps_tensors": wraps_tensors,
            "operator_mode": lambda: OperatorMode(self.native),
            "write_modules": self._write_waiting_modules,
            "backward": torch.Tensor.backward,
            "autograd_backward": _autograd_backward,
            "mode": self._mode,
            "overrides_file": overrides.handle_torch_function.__code__.co_filename,
            "handler_code": overrides.handle_torch_function.__code__,
            "dispatch_code": _dispatch_code(),
        }
        self.native.set_callbacks(callbacks, _DTYPES)

    def _all_modules(self) -> List[Modules]:
        return [modules for modules in (self.modules, self._black_box) if modules is not None]

    def _write_waiting_modules(self) -> None:
        for modules in self._all_modules():
            modules.write_waiting()

    def begin_black_box(self, module: torch.nn.Module, name: str) -> None:
        """Until end_black_box() only calls of this module are recorded."""
        self.end_black_box()
        if not self._recording:
            return
        self.stop()
        if self._black_box is None:
            self._black_box = Modules(self.native, self._settings, with_apis=False)
        self._black_box.set_names({module: f"Module.{name}.{type(module).__name__}"})
        self._recording = self._is_in_black_box = True
        self.native.start()
        self._black_box.start()

    def end_black_box(self) -> None:
        if self._is_in_black_box:
            self._leave_black_box()
            self._recording = False
            self.start()

    def _leave_black_box(self) -> None:
        self._is_in_black_box = False
        if self._black_box is not None:
            self._black_box.stop()
            self.native.stop()

    def start(self) -> None:
        if self._recording or self.is_in_child:
            return
        self._recording = True
        if self._records_apis:
            self._start_apis()
        if self.modules is not None:
            self.modules.start()
        self._compilation.start()
        self.native.start()
        if self._records_apis:
            # The native collector is called with the arguments of an override, without a Python frame in between.
            type(self._mode).__torch_function__ = self.native

    def _start_apis(self) -> None:
        for method in self._methods:
            own = torch.Tensor.__dict__.get(method)
            self._replaced[method] = own
            setattr(torch.Tensor, method, _collect.operator(api_names.OPERATORS[method], getattr(torch.Tensor, method)))
        if not self._is_on():
            self._mode.__enter__()
        self._fast_paths.start()
        if self._uncovered.is_wanted:
            self._scripted.start()
        self._module_hooks = self._hook_modules()
        for body in self._engine:
            body.exchange()
        self._communication.start()

    def stop(self) -> None:
        if not self._recording:
            return
        self._recording = False
        if self._is_in_black_box:
            return self._leave_black_box()
        type(self._mode).__torch_function__ = self._passing_on
        self.native.stop()
        if self.modules is not None:
            self.modules.stop()
        self._leave()
        self._compilation.stop()
        self._fast_paths.stop()
        self._scripted.stop()
        self._communication.stop()
        for body in self._engine:
            body.restore()
        for hook in self._module_hooks:
            hook.remove()
        for method, own in self._replaced.items():
            if own is None:
                delattr(torch.Tensor, method)
            else:
                setattr(torch.Tensor, method, own)
        self._replaced.clear()

    def modules_of_step(self) -> Optional[int]:
        return None if self.modules is None else self.modules.calls_of_step()

    def end_step(self) -> None:
        """What is still to come of the calls made so far, gradients and awaited results, is no longer recorded."""
        self._communication.end_step()
        for modules in self._all_modules():
            modules.end_step()
        self.native.end_step()

    def park_step(self, key: str) -> None:
        self._communication.end_step()
        self._parked[key] = [(modules, modules.park()) for modules in self._all_modules()]
        super().park_step(key)

    def resume_step(self, key: str, tensors: str) -> None:
        super().resume_step(key, tensors)
        for modules, counts in self._parked.pop(key, []):
            modules.resume(counts)

    def forget_parked_steps(self) -> None:
        super().forget_parked_steps()
        self._parked.clear()

    def close(self) -> None:
        """Ends for good: nothing of PyTorch or of the standard library is hooked any more."""
        self.stop()
        self.custom_apis.restore_all()
        self._communication.end_step()
        self.settle()
        threading.setprofile(self._earlier_profile)
        self.free()

    def _is_on(self) -> bool:
        return any(mode is self._mode for mode in overrides._get_current_function_mode_stack())

    def _leave(self) -> None:
        """Removes the mode from this thread's stack, wherever it is."""
        if not self._is_on():
            return
        above = []
        while overrides._get_current_function_mode_stack():
            mode = overrides._pop_mode()
            if mode is self._mode:
                break
            above.append(mode)
        for mode in reversed(above):
            overrides._push_mode(mode)

    def _without_mode(self, function, arguments):
        if not self._is_on():
            return function(arguments)
        self._leave()
        try:
            return function(arguments)
        finally:
            self._mode.__enter__()

    def _equip_thread(self, frame, event, argument):
        sys.setprofile(self._earlier_profile)
        if self._recording and self._records_apis:  # later it is lent to this thread while a module runs there
            self._mode.__enter__()
            self._local.exit = _ThreadExit(self._leave)
        if self._earlier_profile is not None:
            self._earlier_profile(frame, event, argument)

    def _make_pass_on(self):
        """What the mode does where it stays on a thread while nothing is recorded: it takes itself off. While it is called it is not on the
        stack, so that happens at the thread's next event. A compiler sees through the rest."""
        def take_off(_frame, _event, _argument) -> None:
            if self._recording or self._is_on():
                sys.setprofile(None)
                if not self._recording:
                    self._leave()

        def pass_on(_mode, func, _types, args=(), kwargs=None):
            if not _is_compiling() and not self._recording and sys.getprofile() is None:
                sys.setprofile(take_off)
            return func(*args, **(kwargs or {}))

        return pass_on

    def _hooked_engine(self) -> list:
        """In newer versions of PyTorch a backward pass can be overridden, so it runs without the mode, and so does what it computes again
        for a checkpoint. The mode is switched on again in the function that runs the engine."""
        function = getattr(torch.autograd.graph, "_engine_run_backward", None)

        def run(original, args, kwargs):
            if self.native.is_inside() or self._is_on():
                return original(*args, **kwargs)
            self._mode.__enter__()
            try:
                return original(*args, **kwargs)
            finally:
                self._leave()

        return [FunctionBody(function, run)] if inspect.isfunction(function) else []

    def _hook_modules(self) -> list:
        """A module that runs where the mode is not on, and not inside a recorded call, has it on while it runs."""
        def begin(module, _inputs):
            if not self.native.is_inside() and not self._is_on():
                self._mode.__enter__()
                self._lent_to().append(module)

        def end(module, _inputs, _output):
            lent_to = self._lent_to()
            if lent_to and lent_to[-1] is module:
                lent_to.pop()
                self._leave()

        always = {"always_call": True} if "always_call" in inspect.signature(register_module_forward_hook).parameters else {}
        return [register_module_forward_pre_hook(begin), register_module_forward_hook(end, **always)]

    def _lent_to(self) -> list:
        if not hasattr(self._local, "lent_to"):
            self._local.lent_to = []
        return self._local.lent_to


def _autograd_backward(tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """What Tensor.backward does after its check for an override."""
    return torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)
