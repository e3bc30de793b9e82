# SPDX-License-Identifier: Apache-2.0
"""Recording a training of the Hugging Face Trainer.

    from msprobe.integrations.transformers import RecordCallback
    Trainer(..., callbacks=[RecordCallback("dump", steps=[10])])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from msprobe.integrations.step_recorder import NanFound, StepRecorder

__all__ = ["NanFound", "RecordCallback"]


class RecordCallback(TrainerCallback):
    """Records optimizer steps; the arguments are those of StepRecorder."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._recorder = StepRecorder(*arguments, **keywords)

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self._recorder.begin_step(state.global_step, model)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._recorder.end_step(state.global_step - 1)  # counted already

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._recorder.close()
