# SPDX-License-Identifier: Apache-2.0
"""Ascend/MindSpeed-RL: MsProbe of mindspeed_rl/utils, and the workers that call it (mindspeed_rl/workers: debugger_start(model, tag),
debugger_stop, save_data, step)."""
import os

import torch

from stand_ins import tiny


class MsProbe:
    debugger = saver = None
    dump_path = ""
    hooked_model = []

    @classmethod
    def config_init(cls, dump_path, steps):
        from msprobe.core import SingleSave
        from msprobe.pytorch import PrecisionDebugger

        cls.dump_path, cls.hooked_model = dump_path, []
        cls.debugger = PrecisionDebugger(task="statistics", level="L0", dump_path=dump_path, step=steps)
        cls.saver = SingleSave(os.path.join(dump_path, "data"))

    @classmethod
    def debugger_start(cls, model, tag):
        if cls.debugger is None:
            return
        cls.debugger.service.first_start = not any(model is hooked for hooked in cls.hooked_model)
        cls.debugger.service.config.dump_path = os.path.join(cls.dump_path, tag)
        cls.debugger.start(model=model)
        if not cls.debugger.service.first_start:
            cls.hooked_model.append(model)

    @classmethod
    def debugger_stop(cls):
        if cls.debugger is not None:
            cls.debugger.stop()
            cls.debugger.service.reset_status()

    @classmethod
    def save_data(cls, data):
        if cls.saver is not None:
            cls.saver.save(data)

    @classmethod
    def step(cls):
        if cls.debugger is not None:
            cls.debugger.step()
            cls.saver.step()


def train(dump_path=None, steps=2):
    MsProbe.debugger = MsProbe.saver = None
    if dump_path:
        MsProbe.config_init(dump_path, [0, "1-3"])
    actor, reference = tiny.model(), tiny.model(1)
    optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        MsProbe.debugger_start(model=reference, tag="reference_compute_log_prob")
        with torch.no_grad():
            ref_log_prob = torch.log_softmax(reference(tiny.tokens()), -1)
        MsProbe.debugger_stop()
        MsProbe.debugger_start(actor, tag="actor_update")
        loss = (actor(tiny.tokens()) - ref_log_prob).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        MsProbe.debugger_stop()
        MsProbe.save_data({"ref_log_prob": ref_log_prob, "loss": loss})
        MsProbe.step()
        losses.append(loss.detach())
    return losses
