# SPDX-License-Identifier: Apache-2.0
"""AclGraphDumper: the debugger of servers that capture their forward pass into a graph and replay it on the NPU.

A replayed graph makes no call that Python sees. Where nothing is captured, as on a CPU, the modules are recorded; with an NPU one line says
what to do instead, and the server goes on."""
import atexit
import os
import sys
from typing import Any, Dict, Optional

import torch

from msprobe.common import log, new_file
from msprobe.pytorch.debugger import PrecisionDebugger

_ADVICE = "switch the graph mode off (vLLM: --enforce-eager, SGLang: --disable-cuda-graph) to record what the model computes"


def _captures_graphs() -> bool:
    return "torch_npu" in sys.modules


class AclGraphDumper:
    """config_path: config.json; level L0 where it names none.

    start(model) once, then step() after every forward pass writes ``{dump_path}/step{N}/rank{R}``; step(dump=False) forgets what was recorded
    since the last one, as after a warm-up. The step after the last one has begun, too; it is gone when the process ends.
    """

    def __init__(self, config_path: Optional[str] = None) -> None:
        self._model: Optional[torch.nn.Module] = None
        self._debugger: Optional[PrecisionDebugger] = None
        if _captures_graphs():
            log.warning(f"AclGraphDumper: a replayed NPU graph makes no call that can be recorded, so nothing is; {_ADVICE}")
        else:
            self._debugger = PrecisionDebugger(config_path=config_path, level=_level_of(config_path))
            atexit.register(self._debugger._discard_if_empty)  # the step that the last step() began

    def start(self, model: Optional[torch.nn.Module] = None, **unknown: Any) -> None:
        if self._debugger is not None:
            self._model = model if model is not None else self._model
            if not self._debugger.is_recording:
                self._debugger.start(self._model, **unknown)

    def step(self, dump: bool = True, **unknown: Any) -> None:
        if self._debugger is None or self._model is None:
            return
        self._debugger.stop()
        self._debugger.step(dump=dump, **unknown)
        self._debugger.start(self._model)

    def _maybe_reload_config(self, force: bool = False) -> None:
        if self._debugger is not None:
            self._debugger._maybe_reload_config(force)


def _level_of(config_path: Optional[str]) -> Optional[str]:
    from msprobe.common.config import read_content

    return None if config_path is not None and "level" in read_content(config_path) else "L0"


_saved: Dict[str, int] = {}  # path -> how many were saved there


def acl_save(x: torch.Tensor, path: str) -> torch.Tensor:
    """Saves a tensor as ``{path without .pt}_{n}.pt`` and gives it back."""
    base = path[:-3] if path.endswith(".pt") else path
    capturing = getattr(getattr(torch, "npu", None), "is_current_stream_capturing", None)
    if capturing is not None and capturing():
        log.warning(f"acl_save: {path} is not written while an NPU graph is captured; {_ADVICE}")
        return x
    number = _saved.get(base, 0)
    _saved[base] = number + 1
    if os.path.dirname(base):
        new_file.make_directories(os.path.dirname(base))
    with new_file.new_file(f"{base}_{number}.pt") as file:
        torch.save(x.detach().cpu().clone(), file)
    return x
