#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs with another build of the collector: CPU time of a step, both builds in turns.

usage: collector_builds.py OLD NEW [--models gpt gpt_mid] [--tasks statistics tensor] [--turns 9] [--dump-path DIR]
OLD and NEW are directories to import `msprobe` from (build/release/python of two clones). Each build runs in a process of its own, the old
one in two: what these differ by is what the measurement cannot tell. A turn is some steps of each process, a few at a time while the rest
waits; the figure is the median of the turns, user and system time of all threads.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

STEPS = {"gpt": 5, "gpt_mid": 1}   # of a process at a time
BLOCKS = {"gpt": 8, "gpt_mid": 1}  # of so many steps in a turn


def work(model_name, task, path):
    """The process of one build: records as many steps as a line of its input says, and answers with their CPU seconds."""
    import torch
    from collector import training_script
    from msprobe.pytorch import PrecisionDebugger
    torch.set_num_threads(1)
    torch.manual_seed(7)
    model, batch, loss_of = training_script().build(model_name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    debugger = PrecisionDebugger(task=task, dump_path=path)
    for line in sys.stdin:
        begun = time.process_time()
        for step in range(int(line)):
            debugger.start(model)
            loss_of(model, *batch(step)).backward()
            optimizer.step()
            optimizer.zero_grad()
            debugger.stop()
            debugger.step()
        print(time.process_time() - begun, flush=True)


class Worker:
    def __init__(self, packages, model, task, path):
        self._path = path
        self._process = subprocess.Popen([sys.executable, "-W", "ignore", __file__, "--work", model, task, path], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         env={**os.environ, "PYTHONPATH": os.path.abspath(packages)})

    def record(self, steps):
        """CPU milliseconds of a step."""
        print(steps, file=self._process.stdin, flush=True)
        seconds = float(self._process.stdout.readline())
        for name in os.listdir(self._path):
            shutil.rmtree(os.path.join(self._path, name))
        return 1e3 * seconds / steps

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def measure(builds, model, task, turns, directory):
    paths = {name: tempfile.mkdtemp(dir=directory) for name in builds}
    workers = {name: Worker(packages, model, task, paths[name]) for name, packages in builds.items()}
    found = {name: [] for name in builds}
    for worker in workers.values():
        worker.record(1)
    for turn in range(turns):
        order = list(workers)
        order = order[turn % len(order):] + order[:turn % len(order)]
        blocks = [{name: workers[name].record(STEPS[model]) for name in order} for _ in range(BLOCKS[model])]
        for name in workers:
            found[name].append(statistics.fmean(block[name] for block in blocks))
    for worker in workers.values():
        worker.close()
    median = {name: statistics.median(times) for name, times in found.items()}
    for name, times in found.items():
        print(f"{model:8} {task:10} {name:10} {median[name]:9.2f} ms ({100 * (median[name] / median['old'] - 1):+5.1f} %)   "
              f"{min(times):.2f} to {max(times):.2f}", flush=True)


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--models", nargs="+", default=list(STEPS))
    parser.add_argument("--tasks", nargs="+", default=["statistics", "tensor"])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--dump-path")
    arguments = parser.parse_args()
    builds = {"old": arguments.old, "new": arguments.new, "old again": arguments.old}
    with tempfile.TemporaryDirectory(dir=arguments.dump_path) as directory:
        for model in arguments.models:
            for task in arguments.tasks:
                measure(builds, model, task, arguments.turns, directory)


if __name__ == "__main__":
    sys.exit(main())
