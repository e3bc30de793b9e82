# SPDX-License-Identifier: Apache-2.0
"""Recording a training loop that uses Accelerate.

    from msprobe.integrations.accelerate import recorded
    recorder = recorded(optimizer, model, "dump", steps=[10])     # what accelerator.prepare() gave
"""

from __future__ import annotations

from typing import Any

import torch
from accelerate.optimizer import AcceleratedOptimizer

from msprobe.integrations.step_recorder import NanFound, StepRecorder

__all__ = ["NanFound", "recorded"]


def recorded(optimizer: AcceleratedOptimizer, model: torch.nn.Module, *arguments: Any, **keywords: Any) -> StepRecorder:
    """Records the steps of a prepared optimizer; the further arguments are those of StepRecorder.

    A step begins with the first forward pass of `model` after the last optimizer step and ends with the next one; steps that Accelerate
    leaves out while it accumulates gradients do not count. ``close()`` of what is returned ends it early.
    """
    if not isinstance(optimizer, AcceleratedOptimizer):
        raise TypeError(f"optimizer: found {type(optimizer).__name__}, expected the result of accelerator.prepare(optimizer)")
    recorder = StepRecorder(*arguments, **keywords)
    state = {"step": 0}
    original = optimizer.step

    def begin(_module: torch.nn.Module, _inputs: Any) -> None:
        recorder.begin_step(state["step"], model)

    def step(*step_arguments: Any, **step_keywords: Any) -> Any:
        answer = original(*step_arguments, **step_keywords)
        if optimizer.gradient_state.sync_gradients:
            number, state["step"] = state["step"], state["step"] + 1
            recorder.end_step(number)
        return answer

    model.register_forward_pre_hook(begin)
    optimizer.step = step
    return recorder
