# SPDX-License-Identifier: Apache-2.0
"""Puts a recording wrapper around the APIs and the Cells of MindSpore while something is recorded, and takes it away again."""
import functools
import os
from typing import Callable, Dict

import mindspore
from mindspore import mint
from mindspore.common.api import _pynative_executor

from msprobe.common import call_site
from msprobe.common.ops_file import read_ops
from msprobe.common.session import NativeSession
from msprobe.mindspore import values
from msprobe.mindspore.cells import Cells
from msprobe.mindspore.compilation import Compilation
from msprobe.mindspore.dropout import DropoutOfMint
from msprobe.mindspore.gradients import Bracket

OPS_FILE = os.path.join(os.path.dirname(__file__), "hook_module", "support_wrap_ops.yaml")

# Group of the list -> the first part of an entry's name, and where the names are found.
GROUPS = {"mint": ("Mint", mint), "mint_functional": ("MintFunctional", mint.nn.functional), "tensor": ("Tensor", mindspore.Tensor),
          "ops": ("Functional", mindspore.ops)}


class _Place:
    """An attribute of a module or class that holds an API, and what replaces it while recording."""

    def __init__(self, owner: object, name: str, wrapper: Callable) -> None:
        self._owner, self._name, self._wrapper = owner, name, wrapper
        self._own = vars(owner).get(name)  # a method may be inherited

    def exchange(self) -> None:
        setattr(self._owner, self._name, self._wrapper)

    def restore(self) -> None:
        if self._own is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._own)


class Session(NativeSession):
    """`level`: L1 records calls of APIs, L0 those of Cells, mix both."""

    def __init__(self, settings: dict, level: str, wide_list: bool, is_hidden: Callable[[str], bool]) -> None:
        super().__init__()
        self.warned_of_model = False
        self.native.set_callbacks(self._callbacks(), {})
        names = read_ops(OPS_FILE) if level in ("L1", "mix") else {}
        self._places, functions = self._wrap(names, wide_list, is_hidden)
        self.native.set_apis(functions, [])
        self.cells = Cells(self.native, settings, self.report) if level in ("L0", "mix") else None
        self._parked: Dict[str, tuple] = {}  # directory -> the numbers that Cells have got
        self.configure({"tree": self.cells is not None, **settings})
        self._compilation = Compilation(self._pause, self._resume)

    def _callbacks(self) -> dict:
        absent = ("size_type strided_layout call_site defaults trim_arguments is_grad_enabled disable_torch_function backward "
                  "autograd_backward mode overrides_file handler_code dispatch_code write_modules module_names classify "
                  "operator_mode wraps_tensors written_arguments module_call_code")
        return {**dict.fromkeys(absent.split()), "tensor_type": mindspore.Tensor, "parameter_type": mindspore.Parameter,
                "describe_special": values.describe_special, "read_special": values.read_special,
                "frame_text": call_site.frame_text, "frame_kind": call_site.frame_kind, "report": self.report}

    def _wrap(self, names: dict, wide_list: bool, is_hidden: Callable[[str], bool]) -> tuple:
        """Names that this MindSpore does not have are left out. A wrapper, not the function, is what is known to the native collector:
        one function may have two names."""
        places, functions = [], []
        for group, (prefix, owner) in GROUPS.items():
            for name in names.get(group, []) + (names.get(group + "_more", []) if wide_list else []):
                inner, _, last = name.rpartition(".")
                holder = functools.reduce(lambda found, part: getattr(found, part, None), inner.split(".") if inner else [], owner)
                function = getattr(holder, last, None)
                if holder is None or not callable(function) or isinstance(function, type) or is_hidden(name):
                    continue
                if (prefix, name) == ("MintFunctional", "dropout"):
                    function = DropoutOfMint(function)
                wrapper = self._wrapper(function, last)
                places.append(_Place(holder, last, wrapper))
                functions.append((wrapper, prefix, name))
        return places, functions

    def _wrapper(self, function: Callable, name: str) -> Callable:
        begin_call = self.native.begin_call
        # An operator in front of an argument that is changed in place would hide the change from the graph.
        in_place = (name.endswith("_") and not name.endswith("__")) or (name.startswith("__i") and name not in ("__invert__",))

        @functools.wraps(function, updated=())
        def api(*args, **kwargs):
            call = begin_call(api, args, kwargs)
            if call is None:
                return function(*args, **kwargs)
            record = None
            if not in_place and _pynative_executor.enable_grad() and _pynative_executor.requires_grad():
                record = call.backward_hook()
            if record is None:
                result = call.run(function, args, kwargs)
                call.finish(result)
                return result
            bracket = Bracket(record, args)
            result = call.run(function, bracket.arguments(args), kwargs)
            call.finish(result)
            return bracket.result(result)

        return api

    def start(self) -> None:
        if self._recording or self.is_in_child:
            return
        self._recording = True
        self._resume()
        self._compilation.start()
        self.native.start()

    def stop(self) -> None:
        if not self._recording:
            return
        self._recording = False
        self.native.stop()
        self._compilation.stop()
        self._pause()

    def end_step(self) -> None:
        if self.cells is not None:
            self.cells.end_step()
        super().end_step()

    def park_step(self, key: str) -> None:
        if self.cells is not None:
            self._parked[key] = self.cells.park()
        super().park_step(key)

    def resume_step(self, key: str, tensors: str) -> None:
        super().resume_step(key, tensors)
        if self.cells is not None:
            self.cells.resume(self._parked.pop(key, ({}, {})))

    def forget_parked_steps(self) -> None:
        super().forget_parked_steps()
        self._parked.clear()

    def close(self) -> None:
        """Ends for good."""
        self.stop()
        self.settle()
        self.free()

    def _pause(self) -> None:
        for place in self._places:
            place.restore()
        if self.cells is not None:
            self.cells.restore()

    def _resume(self) -> None:
        for place in self._places:
            place.exchange()
        if self.cells is not None:
            self.cells.exchange()
