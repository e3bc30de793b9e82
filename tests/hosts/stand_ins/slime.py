# SPDX-License-Identifier: Apache-2.0
"""THUDM/slime with the msProbe guide for it: slime/backends/megatron_utils/actor.py (MegatronTrainRayActor.init and train_actor)."""
import os

import torch

from stand_ins import tiny


class MegatronTrainRayActor:
    def __init__(self, config_path=None):
        self.debugger = None
        if config_path:
            from msprobe.pytorch import PrecisionDebugger, seed_all
            seed_all(mode=True)
            self.debugger = PrecisionDebugger(config_path=config_path)
            self.dump_path_prefix = self.debugger.config.dump_path
        self.model = [tiny.model()]
        self.ref = [tiny.model(1)]
        self.optimizer = torch.optim.SGD(self.model[0].parameters(), lr=0.1)

    def _stage(self, name, model, compute):
        if self.debugger:
            self.debugger.service.config.dump_path = os.path.join(self.dump_path_prefix, name)
            self.debugger.start(model=model)
        result = compute()
        if self.debugger:
            self.debugger.stop()
        return result

    def _log_prob(self, model):
        with torch.no_grad():
            return torch.log_softmax(model[0](tiny.tokens()), -1)

    def _train(self):
        loss = self.model[0](tiny.tokens()).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def train_actor(self):
        self._stage("ref_log_prob", self.ref, lambda: self._log_prob(self.ref))
        self._stage("old_log_prob", self.model, lambda: self._log_prob(self.model))
        loss = self._stage("actor_train", self.model, self._train)
        if self.debugger:
            self.debugger.step()
        return loss


def train(config_path=None, steps=2):
    actor = MegatronTrainRayActor(config_path)
    return [actor.train_actor() for _ in range(steps)]
