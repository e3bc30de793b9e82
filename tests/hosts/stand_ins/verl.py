# SPDX-License-Identifier: Apache-2.0
"""volcengine/verl: verl/utils/profiler/precision_debugger_profile.py, and the workers that it decorates."""
import functools
import os
import threading

import torch

from stand_ins import tiny

_GLOBAL_LOCK = threading.Lock()
_STEPS_ON_STOP = {"actor_update", "critic_update"}


class PrecisionDebuggerProfiler:
    """One for each worker; the first stage makes the debugger, every stage sets its directory."""

    def __init__(self, config_path, data_dir, strict=True):
        self.config_path, self.data_dir, self.strict = config_path, data_dir, strict
        self._debugger = None

    def start(self, stage, global_step, model):
        if not _GLOBAL_LOCK.acquire(blocking=False):
            return False
        try:
            from msprobe.pytorch import PrecisionDebugger

            dump_path = os.path.join(self.data_dir, f"step_{global_step}", stage)
            os.makedirs(dump_path, exist_ok=True)
            if self._debugger is None:
                self._debugger = PrecisionDebugger(config_path=self.config_path, dump_path=dump_path)
            if hasattr(self._debugger, "service") and hasattr(self._debugger.service, "config"):
                self._debugger.service.config.dump_path = dump_path
            self._debugger.start(model)
            return True
        except Exception:
            _GLOBAL_LOCK.release()
            if self.strict:
                raise
            return False

    def stop(self, started, do_step):
        if not started:
            return
        try:
            self._debugger.stop()
            if do_step and hasattr(self._debugger, "step"):
                self._debugger.step()
        finally:
            _GLOBAL_LOCK.release()

    def annotate(self, role):
        def decorator(function):
            @functools.wraps(function)
            def wrapper(worker, global_step):
                started = self.start(role, global_step, worker.module)
                try:
                    return function(worker, global_step)
                finally:
                    self.stop(started, role in _STEPS_ON_STOP)
            return wrapper
        return decorator


class _Without:
    def annotate(self, role):
        return lambda function: function


class Worker:
    def __init__(self, seed, profiler, log_prob, update):
        self.module = tiny.model(seed)
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.1)
        self.losses = []
        self.log_prob = functools.partial(profiler.annotate(log_prob)(Worker._log_prob), self)
        self.update = functools.partial(profiler.annotate(update)(Worker._update), self)

    def _log_prob(self, _step):
        with torch.no_grad():
            return torch.log_softmax(self.module(tiny.tokens()), -1)

    def _update(self, _step):
        loss = self.module(tiny.tokens()).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(loss.detach())


def train(config_path=None, data_dir=None, steps=2):
    """Actor and critic in one process, a profiler each."""
    profilers = [PrecisionDebuggerProfiler(config_path, data_dir) if config_path else _Without() for _ in range(2)]
    actor = Worker(0, profilers[0], "actor_compute_log_prob", "actor_update")
    critic = Worker(1, profilers[1], "compute_values", "critic_update")
    for step in range(1, steps + 1):
        for stage in (actor.log_prob, critic.log_prob, actor.update, critic.update):
            stage(step)
    return actor.losses + critic.losses
