# SPDX-License-Identifier: Apache-2.0
"""Levels L0 and mix: calls of modules, forward and backward, with their parameters and the gradients of these.

Nothing is between a module and its callers: the body of torch.nn.Module._call_impl is exchanged while recording, so arguments and results
stay the objects they are. Gradients are read by hooks on nodes of the autograd graph:

* what arrives at a result, before its node runs;
* what leaves through an argument, from the nodes of this call that lead to it (graph_edges.py);
* what a parameter has got, after its node has added it.

A module's backward entry is complete when the last of these nodes has run. It is written at the next event, so that it follows the
gradients of its parameters, as in the public format."""
import importlib
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Union
from weakref import WeakKeyDictionary

import torch

from msprobe.pytorch.function_body import FunctionBody
from msprobe.pytorch.graph_edges import ModuleGraph, accumulator_of, edge_of, tensors_in

_EXPECTED, _BEGUN, _ENDED = 0, 1, 2  # events for native.module_backward
OPTIMIZER = "optimizer"

Model = Union[torch.nn.Module, Sequence[torch.nn.Module]]


def module_names(model: Model) -> Dict[torch.nn.Module, str]:
    """Module -> Module.{path}.{Class}. The root is not there; a module with two names has the first one."""
    roots = [("", model)] if isinstance(model, torch.nn.Module) else [(f"{at}.", root) for at, root in enumerate(model)]
    names: Dict[torch.nn.Module, str] = {}
    for prefix, root in roots:
        for path, module in root.named_modules():
            if path:
                names.setdefault(module, f"Module.{prefix}{path}.{type(module).__name__}")
    return names


def _graph_task() -> int:
    """Which backward pass runs; older versions of PyTorch do not tell."""
    current = getattr(torch._C, "_current_graph_task_id", None)
    return current() if current is not None else 0


class _RecordingSuspended:
    """While it is entered nothing is recorded on this thread, and no override is called."""

    def __init__(self, native) -> None:
        self._native = native

    def __enter__(self) -> None:
        self._native.suspend_recording(True)
        self._guard = torch._C.DisableTorchFunction()
        self._guard.__enter__()

    def __exit__(self, *exception) -> None:
        self._guard.__exit__(*exception)
        self._native.suspend_recording(False)


class _Gradients:
    """The backward entry of one call, while its parts arrive."""

    def __init__(self, owner: "Modules", forward: str, graph: ModuleGraph) -> None:
        self.owner, self.forward, self.graph = owner, forward, graph
        self.step = owner.step
        self.task: Optional[int] = None  # the backward pass it belongs to
        self.is_written = False
        self._awaited_results: Optional[set] = None
        self._awaited_exits: set = set()

    def hook(self) -> None:
        self.graph.hook(self._arrived, self._leaving)

    def _is_over(self) -> bool:
        return self.is_written or self.step != self.owner.step

    def _begin(self) -> None:
        if self.task is None:
            self.task = _graph_task()
            self.owner.begin_backward(self)

    def _arrived(self, result, gradient: Optional[torch.Tensor], will_follow: set) -> None:
        if self._is_over():
            return
        with self.owner.recording_suspended():
            self.owner.write_waiting(but=self)
            self._begin()
            if self._awaited_results is None:
                self._awaited_results = will_follow
            self._awaited_results.discard(result.index)
            result.take(gradient)
            self._awaited_exits |= result.exits
            self._end_if_complete(at_once=not self.graph.has_exits)

    def _leaving(self, index: int) -> Callable:
        def left(gradients: tuple, _arriving: tuple) -> None:
            if self._is_over():
                return
            with self.owner.recording_suspended():
                self._begin()
                self.graph.add_left(index, gradients)
                self._awaited_exits.discard(index)
                self._end_if_complete(at_once=False)
        return left

    def _end_if_complete(self, at_once: bool) -> None:
        if self._awaited_results or self._awaited_exits:
            return
        if at_once:
            self.write()
        else:
            self.owner.let_wait(self)

    def write(self) -> None:
        if self._is_over():
            return
        self.is_written = True
        self.owner.write_backward(self.forward, self.graph.arrived(), self.graph.left())
        self.graph.clear()


class _ParameterGradients:
    """The entries parameters_grad.{n} of one module."""

    def __init__(self, owner: "Modules", name: str, first: int = 0) -> None:
        self._owner, self._name, self._first = owner, name, first
        self._arrivals: Dict[str, int] = {}  # parameter -> how often its gradient has come in this step
        self._open: Dict[int, Any] = {}
        self._missing: Dict[int, set] = {}

    def watch(self, module: torch.nn.Module) -> None:
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.requires_grad and name not in self._arrivals:
                self._arrivals[name] = self._first
                self._owner.keep(accumulator_of(parameter), self._added(name, parameter))

    def _added(self, name: str, parameter: torch.Tensor) -> Callable:
        step = self._owner.step

        def added(*_gradients) -> None:
            if step != self._owner.step:
                return
            with self._owner.recording_suspended():
                if parameter.grad is not None:
                    self._add(name, parameter.grad)
        return added

    def _add(self, name: str, gradient: torch.Tensor) -> None:
        number = self._arrivals[name]
        self._arrivals[name] = number + 1
        if number not in self._missing:
            self._missing[number] = set(self._arrivals)
            self._open[number] = self._owner.parameters_entry(f"{self._name}.parameters_grad.{number}")
            self._owner.finish_after_pass(self)
        if self._open.get(number) is not None:
            self._open[number].gradient(name, gradient)
        self._missing[number].discard(name)
        if not self._missing[number]:
            self._finish(number)

    def _finish(self, number: int) -> None:
        entry = self._open.pop(number, None)
        if entry is not None:
            entry.finish()

    def finish(self) -> None:
        for number in list(self._open):
            self._finish(number)

    def next_number(self) -> int:
        return max(self._arrivals.values(), default=self._first)


class Modules:
    """`wants` tells which parts the user asked for: forward, backward, input, output, parameters, and with only_raised calls that raise. `with_apis`: they are recorded, too."""

    def __init__(self, native, wants: Dict[str, bool], with_apis: bool) -> None:
        self._native, self._wants, self._with_apis = native, wants, with_apis
        self._bodies = [FunctionBody(torch.nn.Module._call_impl, self._call)]
        self._names: WeakKeyDictionary = WeakKeyDictionary()
        self._calls: Dict[str, int] = {}
        self._parameters: Dict[str, _ParameterGradients] = {}
        self._first_gradients: Dict[str, int] = {}  # module -> the number of its next parameters_grad
        self._kept: List[tuple] = []
        self._waiting: List[_Gradients] = []
        self._begun: List[_Gradients] = []
        self._unfinished: List[_ParameterGradients] = []
        self._tasks: set = set()
        self._optimizer_hooks: List[Any] = []
        self._outer_of_optimizer = threading.local()
        self._recording = False
        self.step = 0

    @property
    def has_model(self) -> bool:
        return bool(self._names)

    def set_model(self, model: Model) -> None:
        self.set_names(module_names(model))

    def calls_of_step(self) -> int:
        return sum(self._calls.values())

    def set_names(self, names: Dict[torch.nn.Module, str]) -> None:
        self._names = WeakKeyDictionary(names)

    def start(self) -> None:
        self._recording = True
        for body in self._bodies:
            body.exchange()
        self._hook_optimizers()

    def stop(self) -> None:
        self._recording = False
        for body in self._bodies:
            body.restore()
        for hook in self._optimizer_hooks:
            hook.remove()
        self._optimizer_hooks.clear()

    def end_step(self) -> None:
        self.write_waiting()
        for entry in self._unfinished:
            entry.finish()
        self.step += 1
        for _node, handle in self._kept:
            handle.remove()
        for collection in (self._calls, self._parameters, self._first_gradients, self._kept, self._waiting, self._begun, self._unfinished, self._tasks):
            collection.clear()

    def park(self) -> tuple:
        """Ends the step, which can be gone on with: how often each module was called in it."""
        self.write_waiting()
        first_gradients = {**self._first_gradients, **{name: entry.next_number() for name, entry in self._parameters.items()}}
        counts = dict(self._calls), first_gradients
        self.end_step()
        return counts

    def resume(self, counts: tuple) -> None:
        calls, first_gradients = counts
        self._calls.update(calls)
        self._first_gradients.update(first_gradients)

    def _hook_optimizers(self) -> None:
        """Calls of optimizers are listed under `optimizer`; versions before PyTorch 2 do not report when one steps."""
        module = importlib.import_module("torch.optim.optimizer")
        if not self._with_apis or not hasattr(module, "register_optimizer_step_pre_hook"):
            return

        def begin(_optimizer, _args, _kwargs):
            self._outer_of_optimizer.name = self._native.enter_module(OPTIMIZER)

        def end(_optimizer, _args, _kwargs):
            self._native.leave_module(getattr(self._outer_of_optimizer, "name", ""))

        self._optimizer_hooks = [module.register_optimizer_step_pre_hook(begin), module.register_optimizer_step_post_hook(end)]

    def recording_suspended(self) -> _RecordingSuspended:
        return _RecordingSuspended(self._native)

    def _call(self, original: Callable, args: tuple, kwargs: dict) -> Any:
        name = self._names.get(args[0]) if self._recording and args else None
        if name is None or self._native.is_inside():
            return original(*args, **kwargs)
        number = self._calls.get(name, 0)
        self._calls[name] = number + 1
        forward = f"{name}.forward.{number}"
        with self.recording_suspended():
            entry, sources = self._begin(forward, args[1:], kwargs)
        outer = self._native.enter_module(forward)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            self._native.leave_module(outer)
            with self.recording_suspended():
                self._end_raised(entry, args[0], error)
            raise
        self._native.leave_module(outer)
        with self.recording_suspended():
            self._end(name, forward, args[0], entry, sources, result)
        return result

    def _begin(self, forward: str, args: tuple, kwargs: dict) -> tuple:
        if self._waiting:
            self.write_waiting()  # it is computed again, in the middle of a backward pass
        entry = self._native.entry(forward) if self._wants["forward"] else None
        if entry is not None and self._wants["input"]:
            entry.inputs("input_args", args)
            entry.keywords(kwargs)
        sources = None
        if torch.is_grad_enabled() and self._wants["backward"]:
            arguments = [tensor for tensor in tensors_in(args) if tensor.requires_grad]
            others = [tensor for tensor in tensors_in(kwargs) if tensor.requires_grad]
            sources = [edge_of(tensor) for tensor in arguments], [edge_of(tensor) for tensor in others]
        return entry, sources

    def _end(self, name: str, forward: str, module: torch.nn.Module, entry, sources: Optional[tuple], result: Any) -> None:
        if entry is not None and not self._wants.get("only_raised"):
            if self._wants["output"]:
                entry.result(result)
            if self._wants.get("parameters", True):
                entry.parameters(_own_parameters(module))
            entry.finish(True)
        if sources is None:
            return
        results = [edge_of(tensor) for tensor in tensors_in(result) if tensor.requires_grad]
        if results:
            self._native.module_backward(forward, _EXPECTED)
            _Gradients(self, forward, ModuleGraph(results, *sources)).hook()
        if module._parameters:
            if name not in self._parameters:
                self._parameters[name] = _ParameterGradients(self, name, self._first_gradients.get(name, 0))
            self._parameters[name].watch(module)

    def _end_raised(self, entry, module: torch.nn.Module, error: BaseException) -> None:
        """The inputs alone; a checkpoint that has computed what it needs stops by an exception, too, and has no result."""
        if entry is None:
            return
        if "Recomputation" in type(error).__name__ and self._wants["output"]:
            entry.result(None)
            entry.parameters(_own_parameters(module))
        entry.finish(True)

    def begin_backward(self, gradients: _Gradients) -> None:
        self._native.module_backward(gradients.forward, _BEGUN)
        self._begun.append(gradients)
        self._call_after_pass()

    def write_backward(self, forward: str, arrived: list, left: list) -> None:
        entry = self._native.entry(_backward(forward))
        if entry is not None:
            if self._wants["input"]:
                entry.inputs("input", tuple(arrived))
            if self._wants["output"]:
                entry.result(tuple(left))
            entry.finish()
        self._native.module_backward(forward, _ENDED)

    def parameters_entry(self, name: str) -> Any:
        entry = self._native.entry(name)
        if entry is not None:
            entry.take_place()
        return entry

    def keep(self, node: Any, hook: Callable) -> None:
        """A parameter's node lives as long as somebody keeps it."""
        self._kept.append((node, node.register_hook(hook)))

    def let_wait(self, gradients: _Gradients) -> None:
        self._native.module_backward(gradients.forward, _ENDED)
        self._waiting.append(gradients)
        self._native.let_modules_wait(True)

    def write_waiting(self, but: Optional[_Gradients] = None) -> None:
        """Backward entries that are complete. They wait for the gradients of their parameters, which come before anything else."""
        waiting, self._waiting = self._waiting, []
        self._native.let_modules_wait(False)
        for gradients in waiting:
            if gradients is not but:
                gradients.write()

    def finish_after_pass(self, parameters: _ParameterGradients) -> None:
        self._unfinished.append(parameters)
        self._call_after_pass()

    def _call_after_pass(self) -> None:
        task = _graph_task()
        if task in self._tasks:
            return
        self._tasks.add(task)
        step = self.step

        def ended() -> None:
            if step == self.step:
                self._tasks.discard(task)
                with self.recording_suspended():
                    self._end_pass(task)

        torch.autograd.Variable._execution_engine.queue_callback(ended)

    def _end_pass(self, task: int) -> None:
        """What was not reached by this backward pass is null."""
        self.write_waiting()
        for gradients in [begun for begun in self._begun if begun.task == task]:
            gradients.write()
        self._begun = [begun for begun in self._begun if not begun.is_written]
        for parameters in self._unfinished:
            parameters.finish()
        self._unfinished.clear()


def _backward(forward: str) -> str:
    start, _, number = forward.rpartition(".forward.")
    return f"{start}.backward.{number}"


def _own_parameters(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    return {name: parameter for name, parameter in module._parameters.items() if parameter is not None}
