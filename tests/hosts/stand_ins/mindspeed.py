# SPDX-License-Identifier: Apache-2.0
"""Ascend/MindSpeed: mindspeed/functional/npu_datadump/npu_datadump.py; Ascend/MindSpeed-LLM and forks of Megatron-LM, which make the debugger
inside of their train_step with the model as a keyword; pytorch/torchtitan trainers, which pass their model parts."""
from functools import wraps

import torch

from stand_ins import tiny


class Trainer:
    def __init__(self):
        self.model = tiny.model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train_step(self):
        loss = self.model(tiny.tokens()).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()


def train(config_path=None, steps=3):
    """--npu-datadump: the debugger is made when the module is imported, and wraps two functions of Megatron."""
    trainer, losses = Trainer(), []
    train_step, on_training_step_end = lambda: losses.append(trainer.train_step()), lambda: None
    if config_path:
        from msprobe.pytorch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=config_path)

        def dump_start_wrapper(fn):
            @wraps(fn)
            def wrapper(*args, **kwargs):
                debugger.start()
                fn(*args, **kwargs)
            return wrapper

        def dump_end_wrapper(fn):
            @wraps(fn)
            def wrapper(*args, **kwargs):
                fn(*args, **kwargs)
                debugger.stop()
                debugger.step()
            return wrapper

        train_step, on_training_step_end = dump_start_wrapper(train_step), dump_end_wrapper(on_training_step_end)
    for _ in range(steps):
        train_step()
        on_training_step_end()
    return losses


def train_llm(dump_path=None, steps=2):
    """Every step makes the debugger again."""
    trainer, losses = Trainer(), []
    for _ in range(steps):
        if dump_path is None:
            losses.append(trainer.train_step())
            continue
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(dump_path=dump_path, level="mix", model=trainer.model)
        debugger.start()
        try:
            losses.append(trainer.train_step())
        finally:
            debugger.stop()
            debugger.step()
    return losses


def train_titan(config_path=None, steps=2):
    trainer, losses = Trainer(), []
    debugger = None
    if config_path:
        from msprobe.pytorch import PrecisionDebugger, seed_all
        seed_all(seed=1234, mode=False, rm_dropout=False)
        debugger = PrecisionDebugger(config_path=config_path)
    for _ in range(steps):
        if debugger:
            debugger.start(model=[trainer.model])
        try:
            losses.append(trainer.train_step())
        finally:
            if debugger:
                debugger.stop()
                debugger.step()
    return losses
