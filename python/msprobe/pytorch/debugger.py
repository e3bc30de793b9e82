# SPDX-License-Identifier: Apache-2.0
"""PrecisionDebugger: the few lines that a training script needs."""
import os
import sys
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Union

import torch

from msprobe.common.config import ConfigError
from msprobe.common.debugger import Debugger, one_at_a_time
from msprobe.common.settings_file import listed_names
from msprobe.common.usage import unknown_keywords
from msprobe.pytorch import risk
from msprobe.pytorch.loader import LoaderWatch
from msprobe.pytorch.overflow_info import OverflowInfo
from msprobe.pytorch.serving import TokenRange, TokensOfRequest, checked_range
from msprobe.pytorch.session import Session


class PrecisionDebugger(Debugger):
    """Records every API call, module or both of a training into ``{dump_path}/step{N}/rank{R}``.

        debugger = PrecisionDebugger(config_path="config.json")     # before the model is used
        for batch in loader:
            debugger.start(model)
            loss = model(batch).sum(); loss.backward(); optimizer.step()
            debugger.stop()
            debugger.step()

    config_path: config.json (docs/collector.md); the other arguments take the place of its keys.
    task: ``"statistics"`` (value ranges), ``"tensor"`` (the data), ``"overflow_check"``, ``"structure"`` or ``"exception_dump"``.
    dump_path: the directory of the dump.
    level: ``"L1"`` (APIs), ``"L0"`` (modules) or ``"mix"``, which need ``start(model)``, or ``"debug"`` (what ``save()`` is given).
    step, rank: which to record, e.g. ``[0, "4-6"]``; by default all.
    dataloader: its batches start and end the steps.

    One for the process: a second construction gives the first one; a dump_path that it names holds from the next start() on. start, stop and
    step may be called on the class. ``with PrecisionDebugger(...):`` records the block as one step. Hosts reach ``debugger.service`` and
    set ``debugger.config.dump_path``; docs/hosts.md has them.
    """

    FRAMEWORK = "pytorch"
    LEVELS = ("L0", "L1", "mix", "debug")
    _model: Any = None  # for a start() without one

    def __init__(self, config_path: Union[str, "os.PathLike[str]", dict, None] = None, task: Optional[str] = None,
                 dump_path: Union[str, "os.PathLike[str]", None] = None, level: Optional[str] = None,
                 step: Optional[List[Union[int, str]]] = None, rank: Optional[List[Union[int, str]]] = None,
                 dataloader: Optional[Iterable] = None, model: Any = None, **unknown: Any) -> None:
        unknown_keywords("PrecisionDebugger", unknown)
        given = {"task": task, "dump_path": dump_path, "level": level, "step": step, "rank": rank}
        if PrecisionDebugger._instance is not None:
            self._model = model if model is not None else self._model
            return self._check_again({"config_path": config_path, **given})
        self._is_counted = False  # with a data loader: whether step() was called since its last batch
        self._model = model
        self._token_range: Optional[TokenRange] = None
        self._tokens = TokensOfRequest()
        self._begin(config_path, given)
        self._watch = LoaderWatch(self._before_batch, self._after_batch, dataloader) if dataloader is not None else None
        self._overflow = OverflowInfo(os.getcwd()) if self.config.task == "overflow_check" else None

    def _make_session(self, settings: dict) -> Session:
        filtered = bool(self.config.scope or self.config.names)
        return Session(settings, _hidden("ALL" if filtered else self.config.risk_level), self.config.level)

    def _current_rank(self) -> Optional[int]:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank()
        return None

    def _device_settings(self) -> dict:
        jit = _jit_compile()
        return {} if jit is None else {"jit_compile": jit}

    @property
    def is_recording(self) -> bool:
        return self._session.is_recording

    @classmethod
    @one_at_a_time
    def start(cls, model: Any = None, token_range: Optional[Sequence[int]] = None, rank_id: Optional[int] = None,
              scheduled_tokens: Optional[Mapping[str, int]] = None, request_id: Optional[str] = None, **unknown: Any) -> None:
        """Begins recording, if this step and this rank are to be recorded.

        model: the module, or a list of modules; needed at the levels L0 and mix, the first time, and for a token_range.
        rank_id: the rank of this process, where torch.distributed does not know it.
        token_range: [first, last]: only these forward passes of the model, counted from 0.
        scheduled_tokens: {request: number of its tokens}: what the batch of a server consists of.
        request_id: only the tokens of this request are recorded, in place of the key request_id of config.json.
        """
        unknown_keywords("start", unknown)
        self = cls._existing()
        model = model if model is not None else self._model
        self._set_model(model)
        self._end_token_range()
        if not self._set_request(scheduled_tokens, request_id if request_id is not None else self.config.request_id):
            return None
        if token_range is None:
            return self._start(rank_id)
        return self._start_range(model, token_range, rank_id)

    def _set_request(self, scheduled_tokens: Optional[Mapping[str, int]], request_id: Any) -> bool:
        """Whether this batch is recorded: if one request is wanted, it must be in it."""
        wanted = request_id not in (None, "")
        if wanted and scheduled_tokens is None:
            self._tell_once(f"request_id {request_id!r}: whole batches are recorded, since start() was not given scheduled_tokens={{request: "
                            "number of tokens}")
        found = (0, 0, 0)
        if wanted and scheduled_tokens is not None:
            place = self._tokens.find(scheduled_tokens, request_id)
            if place is None:
                self._usage.request_is_absent(str(request_id))
                return False
            found = place
        self._session.native.set_request(*found)
        return True

    def _start_range(self, model: Any, token_range: Sequence[int], rank_id: Optional[int]) -> None:
        wanted = checked_range(token_range)
        root = model[0] if isinstance(model, (list, tuple)) and model else model
        if wanted is None or not isinstance(root, torch.nn.Module):
            if wanted is not None:
                self._tell_once("token_range: every forward pass is recorded, since start() was not given the model to count them")
            return self._start(rank_id)
        if self._open_block(rank_id):
            self._token_range = TokenRange(root, *wanted, self._begin_block, self._session.stop)
        return None

    def _end_token_range(self) -> None:
        if self._token_range is not None:
            self._token_range.close()
            self._token_range = None

    def _write_all(self) -> None:
        self._end_token_range()
        super()._write_all()

    @classmethod
    def register_custom_api(cls, module: Any, api: str, api_prefix: Optional[str] = None) -> None:
        """Records calls of ``module.api`` as ``{api_prefix}.{api}``; the prefix is the module's name where none is given."""
        self = cls._existing()
        prefix = api_prefix or getattr(module, "__name__", None) or "Custom"
        if self.config.level in ("L0", "debug"):
            self._tell_once(f"register_custom_api: level {self.config.level} records no APIs; set the level L1 or mix")
        self._session.custom_apis.register(module, api, prefix)

    @classmethod
    def restore_custom_api(cls, module: Any, api: str) -> None:
        """Puts the function back."""
        cls._existing()._session.custom_apis.restore(module, api)

    def _begin_black_box(self, module: torch.nn.Module, name: str) -> None:
        if not self._session.is_recording:
            self._tell_once("module_dump(): nothing is recorded before start()")
        self._session.begin_black_box(module, name)

    def _end_black_box(self) -> None:
        self._session.end_black_box()

    def _set_model(self, model: Any) -> None:
        modules = self._session.modules
        self.service.model = model if model is not None else self.service.model
        if modules is None or self._session.is_in_child:
            return
        model = _module_in(model)
        models = [model] if isinstance(model, torch.nn.Module) else model
        if model is not None:
            if not isinstance(models, (list, tuple)) or not all(isinstance(item, torch.nn.Module) for item in models):
                raise ConfigError(f"model: found {type(model).__name__}, expected a torch.nn.Module or a list of them")
            modules.set_model(model)
        elif not modules.has_model and self._watch is None:
            self._usage.refuse()
            raise ConfigError(f"model: level {self.config.level} records modules and needs the model: debugger.start(model)")

    def _may_record_nothing(self) -> bool:
        return self._token_range is not None or self._watch is not None or super()._may_record_nothing()

    def _tensors_with_gradients(self, value: Any) -> list:
        return [(index, tensor) for index, tensor in indexed_tensors(value) if tensor.requires_grad]

    def _watch_gradient(self, tensor: Any, take: Callable[[Any], None]) -> None:
        tensor.register_hook(take)

    def _framework_version(self) -> str:
        return str(torch.__version__)

    def _written(self, directory: str) -> None:
        if self._overflow is not None:
            self._overflow.add(directory)

    def _count_step(self) -> None:
        """With a data loader every batch is a step, whether step() is called or not."""
        if self._watch is None or not self._is_counted:
            self._loop += 1
        self._is_counted = True

    def _before_batch(self) -> None:
        """With a data loader given, its batches start and end the steps, and the documented exception ends the training."""
        self.stop()

    def _after_batch(self, index: int) -> None:
        if index > 0 and not self._is_counted:
            self.step()
        self._is_counted = False
        if self.config.step and self._loop + self._init_step > self.config.step[-1]:
            raise Exception(f"msprobe: exit after iteration {self.config.step[-1]}")
        self.start()


def _module_in(model: Any) -> Any:
    """Servers hold their model in objects that are not modules themselves."""
    if isinstance(model, (torch.nn.Module, list, tuple)):
        return model
    held = (getattr(model, name, None) for name in ("runnable", "module", "model"))
    return next((module for module in held if isinstance(module, torch.nn.Module)), model)


def indexed_tensors(value: Any, index: str = "") -> Iterable[tuple]:
    """(index, tensor) of the tensors in a value: indices and keys joined by dots."""
    if isinstance(value, torch.Tensor):
        yield index, value
    items: Iterable[tuple] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    for key, item in items:
        yield from indexed_tensors(item, f"{index}.{key}" if index else str(key))


def _jit_compile() -> Optional[bool]:
    """Whether the NPU compiles operators at run time; None without an NPU. torch_npu is not imported for this: a training on an NPU has."""
    torch_npu = sys.modules.get("torch_npu")
    try:
        return None if torch_npu is None else not torch_npu.npu.is_jit_compile_false()
    except (AttributeError, RuntimeError):  # another version, or no device
        return None


def _hidden(risk_level: str) -> Callable[[str, str], bool]:
    """Tells for (group, name) whether it is left out: by risk_level, or by the lists of config.yaml."""
    by_level, by_list = risk.hidden(risk_level), listed_names()
    return lambda group, name: by_level(group, name) or by_list(name)
