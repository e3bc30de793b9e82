#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What collecting costs: seconds and CPU seconds of a training step, plain, with statistics (of APIs, and of modules too) and with
tensors, in one run.

usage: collector.py [gpt] [gpt_mid] [--steps N] [--dump-path DIR]
Needs `msprobe` importable (PYTHONPATH=build/release/python, or installed). Every kind of step is run N times after one that warms up, in
turns; a ratio is the median of those of every turn, so that a machine that gets slower or faster disturbs all alike.
"""
import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time

import torch

_START = time.perf_counter()
from msprobe.pytorch import PrecisionDebugger
IMPORT_SECONDS = time.perf_counter() - _START

TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "collector", "train.py")


def training_script():
    """The models of the golden trainings; the script runs its main() when it is loaded, so that is left out."""
    with open(TRAIN, encoding="utf-8") as file:
        source = file.read().rsplit("\nmain()", 1)[0]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("train", loader=None))
    exec(compile(source, TRAIN, "exec"), module.__dict__)
    return module


def timed_step(loss_of, model, optimizer, batch, debugger):
    PrecisionDebugger._instance = debugger  # one for a process; here there are two, in turns
    wall, cpu = time.perf_counter(), time.process_time()
    if debugger:
        debugger.start(model)
    loss_of(model, *batch).backward()
    optimizer.step()
    optimizer.zero_grad()
    if debugger:
        debugger.stop()
        debugger.step()
    return time.perf_counter() - wall, time.process_time() - cpu


def make_debugger(task, path, level="L1"):
    PrecisionDebugger._instance = None
    return PrecisionDebugger(task=task, level=level, dump_path=os.path.join(path, task + level))


def measure(train, name, steps, path):
    torch.manual_seed(7)
    model, batch, loss_of = train.build(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    kinds = {"plain": None, "statistics": make_debugger("statistics", path), "mix": make_debugger("statistics", path, "mix"),
             "tensor": make_debugger("tensor", path)}
    found = {kind: [] for kind in kinds}
    for step in range(steps + 1):
        for kind, debugger in kinds.items():
            times = timed_step(loss_of, model, optimizer, batch(step), debugger)
            if step > 0:
                found[kind].append(times)
    for debugger in kinds.values():
        if debugger:
            debugger._session.close()
    for kind, times in found.items():
        print(f"{name:8} {kind:10} {against(found['plain'], times, 0)}   CPU {against(found['plain'], times, 1)}", flush=True)
    print(f"{name:8} mix against statistics of APIs alone, CPU: {against(found['statistics'], found['mix'], 1).strip()}", flush=True)


def against(plain, times, column):
    seconds = statistics.median(turn[column] for turn in times)
    ratio = statistics.median(turn[column] / bare[column] for turn, bare in zip(times, plain))
    return f"{1e3 * seconds:9.1f} ms ({ratio:5.2f}x)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["gpt", "gpt_mid"])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--dump-path")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"import of msprobe.pytorch after torch: {IMPORT_SECONDS:.3f} s")
    train = training_script()
    with tempfile.TemporaryDirectory(dir=arguments.dump_path) as path:
        for name in arguments.models:
            measure(train, name, arguments.steps, os.path.join(path, name))


if __name__ == "__main__":
    sys.exit(main())
