# SPDX-License-Identifier: Apache-2.0
"""Recording a training of Lightning.

    from msprobe.integrations.lightning import RecordCallback
    Trainer(callbacks=[RecordCallback("dump", steps=[10])])
"""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:  # the older name of the package
    from pytorch_lightning.callbacks import Callback

from msprobe.integrations.step_recorder import NanFound, StepRecorder

__all__ = ["NanFound", "RecordCallback"]


class RecordCallback(Callback):
    """Records optimizer steps (``trainer.global_step``); the arguments are those of StepRecorder."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__()
        self._recorder = StepRecorder(*arguments, **keywords)
        self._step = 0

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._step = trainer.global_step
        self._recorder.begin_step(self._step, pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step > self._step:  # else gradients are still being accumulated
            self._recorder.end_step(self._step)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._recorder.close()
