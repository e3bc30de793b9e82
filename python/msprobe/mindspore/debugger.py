# SPDX-License-Identifier: Apache-2.0
"""PrecisionDebugger: the few lines that a training script needs."""
import os
from typing import Any, List, Optional, Union

import mindspore
from mindspore import nn
from mindspore.communication import GlobalComm, get_rank

from msprobe.common import log
from msprobe.common.config import ConfigError
from msprobe.common.debugger import Debugger, one_at_a_time
from msprobe.common.settings_file import listed_names
from msprobe.common.usage import unknown_keywords
from msprobe.mindspore.cells import checked_model
from msprobe.mindspore.session import Session

_TASKS = ("statistics", "tensor")
_SUMMARY_MODES = ("statistics", "md5")


class PrecisionDebugger(Debugger):
    """Records every API call of a training in PyNative mode into ``{dump_path}/step{N}/rank{R}``.

    config_path: config.json (docs/collector.md); the other arguments take the place of its keys.
    task: ``"statistics"`` (value ranges) or ``"tensor"`` (the data).
    dump_path: the directory of the dump.
    level: ``"L1"`` (APIs), ``"L0"`` (Cells) or ``"mix"`` (both); the last two need ``start(model)``.
    step, rank: which to record, e.g. ``[0, "4-6"]``; by default all.

    One for the process: a second construction gives the first one. start, stop and step may be called on the class. ``with PrecisionDebugger(...):`` records the block as one step.
    """

    FRAMEWORK = "mindspore"
    LEVELS = ("L0", "L1", "mix")

    def __init__(self, config_path: Union[str, "os.PathLike[str]", None] = None, task: Optional[str] = None,
                 dump_path: Union[str, "os.PathLike[str]", None] = None, level: Optional[str] = None,
                 step: Optional[List[Union[int, str]]] = None, rank: Optional[List[Union[int, str]]] = None, **unknown: Any) -> None:
        unknown_keywords("PrecisionDebugger", unknown)
        given = {"task": task, "dump_path": dump_path, "level": level, "step": step, "rank": rank}
        if PrecisionDebugger._instance is not None:
            return self._check_again({"config_path": config_path, **given})
        self._begin(config_path, given)

    def _make_session(self, settings: dict) -> Session:
        config = self.config
        if config.task not in _TASKS:
            raise ConfigError(f"task: found {config.task!r}, expected one of {', '.join(_TASKS)} with MindSpore")
        if config.summary_mode not in _SUMMARY_MODES:
            raise ConfigError(f"summary_mode: found {config.summary_mode!r}, expected one of {', '.join(_SUMMARY_MODES)} with MindSpore")
        if config.slice or config.request_id:
            raise ConfigError(f"{config.task}.{'slice' if config.slice else 'request_id'}: not supported with MindSpore")
        return Session({"framework": self.FRAMEWORK, **settings}, config.level, config.wide_list, listed_names())

    def _current_rank(self) -> Optional[int]:
        return get_rank() if GlobalComm.INITED else None

    def _framework_version(self) -> str:
        return str(mindspore.__version__)

    @classmethod
    @one_at_a_time
    def start(cls, model: object = None, token_range: Any = None, rank_id: Optional[int] = None, **unknown: Any) -> None:
        """Begins recording, if this step and this rank are to be recorded.

        model: the Cell, or a list of Cells; needed at the levels L0 and mix, the first time. The operators that it holds as attributes
            (Primitive) are not recorded.
        rank_id: the rank of this process, where MindSpore does not know it.
        token_range: without effect; a line says so.
        """
        unknown_keywords("start", unknown)
        self = cls._existing()
        if token_range is not None:
            self._tell_once("start(token_range): no effect with MindSpore, every call is recorded")
        if model is not None and self.config.level != "L0" and not self._session.warned_of_model:
            self._session.warned_of_model = True
            log.warning("start(model): primitive operators of a model are not recorded, only functions and methods")
        self._set_model(model)
        return self._start(rank_id)

    def _set_model(self, model: object) -> None:
        cells = self._session.cells
        if cells is None or self._session.is_in_child:
            return
        if model is not None:
            models = checked_model(model)
            if not models:
                raise ConfigError(f"model: found {type(model).__name__}, expected an nn.Cell or a list of them")
            cells.set_model(models[0] if isinstance(model, nn.Cell) else models)
        elif not cells.has_model:
            raise ConfigError(f"model: level {self.config.level} records Cells and needs the model: debugger.start(model)")
