# SPDX-License-Identifier: Apache-2.0
"""For trainings that run inside mindspore.train.Model: one callback in place of start(), stop() and step()."""
from mindspore.train import Callback


class MsprobeStep(Callback):
    """Starts recording when a step begins; stops and ends the step when it ends."""

    def __init__(self, debugger) -> None:
        super().__init__()
        self._debugger = debugger

    def on_train_step_begin(self, _run_context) -> None:
        self._debugger.start()

    def on_train_step_end(self, _run_context) -> None:
        self._debugger.stop()
        self._debugger.step()
