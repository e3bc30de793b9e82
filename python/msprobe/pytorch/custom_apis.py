# SPDX-License-Identifier: Apache-2.0
"""Functions that a user registers to be recorded, in addition to those of support_wrap_ops.yaml."""
import functools
from typing import Any, Callable, Dict, Tuple

import torch

from msprobe.common import log
from msprobe.pytorch.graph_edges import tensors_in


class CustomApis:
    """Each is replaced on its module by a wrapper, from register() to restore(). A name that was imported before is not seen."""

    def __init__(self, native) -> None:
        self._native = native
        self._wrappers: Dict[Tuple[int, str], Callable] = {}
        self._originals: Dict[Tuple[int, str], Tuple[Any, Callable]] = {}

    def register(self, module: Any, name: str, prefix: str) -> None:
        function: Any = getattr(module, name, None)
        key = (id(module), name)
        if not callable(function):
            log.warning(f"register_custom_api: {getattr(module, '__name__', module)!s} has no function {name!r}; it is not recorded")
            return
        if key in self._originals:
            return
        wrapper = self._wrappers.get(key)
        if wrapper is None or getattr(wrapper, "__wrapped__", None) is not function:
            wrapper = self._wrapper(function)
            self._native.set_apis([(wrapper, prefix, name)], [])
            self._wrappers[key] = wrapper
        self._originals[key] = (module, function)
        setattr(module, name, wrapper)

    def restore(self, module: Any, name: str) -> None:
        _module, function = self._originals.pop((id(module), name), (None, None))
        if function is not None:
            setattr(module, name, function)

    def restore_all(self) -> None:
        for (_id, name), (module, function) in self._originals.items():
            setattr(module, name, function)
        self._originals.clear()

    def _wrapper(self, function: Callable) -> Callable:
        begin_call = self._native.begin_call

        @functools.wraps(function, updated=())
        def api(*args, **kwargs):
            call = begin_call(api, args, kwargs)
            if call is None:
                return function(*args, **kwargs)
            result = call.run(function, args, kwargs)
            call.finish(result)
            _hook_backward(call, result)
            return result

        return api


def _hook_backward(call: Any, result: Any) -> None:
    """Gradients come from the autograd node of the first result, as with every other call."""
    if not torch.is_grad_enabled():
        return
    first: Any = next(iter(tensors_in(result)), None)
    node = None if first is None else first.grad_fn
    hook = None if node is None else call.backward_hook()
    if node is not None and hook is not None:
        node.register_hook(hook)
