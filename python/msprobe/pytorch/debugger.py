# SPDX-License-Identifier: Apache-2.0
"""PrecisionDebugger: the few lines that a training script needs."""
import os
import sys
from typing import Callable, Iterable, List, Optional, Union

import torch

from msprobe.common.config import ConfigError
from msprobe.common.debugger import Debugger
from msprobe.common.settings_file import listed_names
from msprobe.pytorch import risk
from msprobe.pytorch.loader import LoaderWatch
from msprobe.pytorch.overflow_info import OverflowInfo
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
    task: ``"statistics"`` (value ranges), ``"tensor"`` (the data) or ``"overflow_check"``.
    dump_path: the directory of the dump.
    level: ``"L1"`` (APIs), ``"L0"`` (modules) or ``"mix"``; the last two need ``start(model)``.
    step, rank: which to record, e.g. ``[0, "4-6"]``; by default all.
    dataloader: its batches start and end the steps.

    One for the process: a second construction without arguments, or with the same ones, gives the first one. start, stop and step may be
    called on the class. ``with PrecisionDebugger(...):`` records the block as one step.
    """

    FRAMEWORK = "pytorch"
    LEVELS = ("L0", "L1", "mix")

    def __init__(self, config_path: Union[str, "os.PathLike[str]", None] = None, task: Optional[str] = None,
                 dump_path: Union[str, "os.PathLike[str]", None] = None, level: Optional[str] = None,
                 step: Optional[List[Union[int, str]]] = None, rank: Optional[List[Union[int, str]]] = None,
                 dataloader: Optional[Iterable] = None) -> None:
        given = {"task": task, "dump_path": dump_path, "level": level, "step": step, "rank": rank}
        if PrecisionDebugger._instance is not None:
            return self._check_again({"config_path": config_path, **given})
        self._is_counted = False  # with a data loader: whether step() was called since its last batch
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

    @classmethod
    def start(cls, model: Union[torch.nn.Module, List[torch.nn.Module], None] = None, token_range: None = None,
              rank_id: Optional[int] = None, scheduled_tokens: None = None) -> None:
        """Begins recording, if this step and this rank are to be recorded.

        model: the module, or a list of modules; needed at the levels L0 and mix, the first time.
        rank_id: the rank of this process, where torch.distributed does not know it.
        token_range, scheduled_tokens: refused; they are for serving.
        """
        if token_range is not None or scheduled_tokens is not None:
            raise ConfigError("token_range and scheduled_tokens: not supported by this collector")
        self = cls._existing()
        self._set_model(model)
        return self._start(rank_id)

    def _set_model(self, model) -> None:
        modules = self._session.modules
        if modules is None or self._session.is_in_child:
            return
        models = [model] if isinstance(model, torch.nn.Module) else model
        if model is not None:
            if not isinstance(models, (list, tuple)) or not all(isinstance(item, torch.nn.Module) for item in models):
                raise ConfigError(f"model: found {type(model).__name__}, expected a torch.nn.Module or a list of them")
            modules.set_model(model)
        elif not modules.has_model and self._watch is None:
            raise ConfigError(f"model: level {self.config.level} records modules and needs the model: debugger.start(model)")

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
