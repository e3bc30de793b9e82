# SPDX-License-Identifier: Apache-2.0
"""For trainings that run inside mindspore.train.Model: one callback in place of start(), stop() and step()."""
from mindspore.train import Callback


class MsprobeStep(Callback):
    """Starts recording when a step begins; stops and ends the step when it ends.

    model: the Cell to record at the levels L0 and mix; by default the network that mindspore.train.Model was given.
    """

    def __init__(self, debugger, model=None) -> None:
        super().__init__()
        self._debugger, self._model = debugger, model

    def on_train_step_begin(self, run_context) -> None:
        if self._debugger.config.level == "L1":
            self._debugger.start()
        else:
            self._debugger.start(self._model if self._model is not None else run_context.original_args().network)

    def on_train_step_end(self, _run_context) -> None:
        self._debugger.stop()
        self._debugger.step()
