"""Trainings that are killed while they are recorded, at random moments, on a busy machine: what is left can be read, and little is lost.

usage: test_killed.py [--kills N] [--seed N] [--burners N]
A short run is part of the suite; MSPROBE and PYTHONPATH as ctest sets them. Time is CPU time of the killed process: the machine may be busy.
"""
import argparse
import contextlib
import glob
import io
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import torch

from msprobe.pytorch import PrecisionDebugger

LOST_SECONDS = 0.1
LOST_SECONDS_OF_STACKS = 1.0
MAX_ROUNDS = 200000


class Diary:
    """Memory that outlives the process that writes into it: when each round of the training ended, in CPU seconds of that process."""

    def __init__(self):
        self._times = memoryview(mmap.mmap(-1, 8 * (MAX_ROUNDS + 1))).cast("d")

    def clear(self):
        self._times[0] = 0

    def note(self, number):
        self._times[number + 1] = time.process_time()
        self._times[0] = number + 1

    def read(self):
        return list(self._times[1:int(self._times[0]) + 1])


def train(task, path, diary):
    """Never ends."""
    torch.set_num_threads(1)
    sys.stderr = io.StringIO()
    debugger = PrecisionDebugger(task=task, dump_path=path)
    weight = torch.rand(24, 24, requires_grad=True)
    parts = [torch.rand(8, 8) for _ in range(60)]
    debugger.start()
    for number in range(MAX_ROUNDS):
        with torch.no_grad():
            weight += 1e-3  # no tensor is equal to an earlier one
        torch.relu(weight).sum().backward()
        if number % 10 == 0:
            torch.stack(parts)  # a long entry
        diary.note(number)
    os._exit(1)


def burn():
    while True:
        pass


def fork(work, *arguments):
    process = os.fork()
    if process == 0:
        try:
            work(*arguments)
        finally:
            os._exit(1)
    return process


def end(process):
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def load(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        return json.load(file)


def tensors(value):
    if isinstance(value, dict) and "data_name" in value:
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors(item)


def rounds_before(times, seconds):
    return sum(moment < times[-1] - seconds for moment in times)


def check(directory, task, times):
    """What is wrong with what a killed training left."""
    dump, stacks, construct = (load(directory, name) for name in ("dump.json", "stack.json", "construct.json"))
    if construct != {}:
        yield "construct.json is not empty"
    for number in range(rounds_before(times, LOST_SECONDS)):
        for name in (f"Torch.relu.{number}.forward", f"Torch.relu.{number}.backward"):
            if not {"output", "input"} & set(dump["data"].get(name, ())):
                yield f"{name} is lost: round {number} of {len(times)} ended {times[-1] - times[number]:.3f} s of CPU time before"
                return
    stacked = {name for names, _frames in stacks.values() for name in names}
    for number in range(rounds_before(times, LOST_SECONDS_OF_STACKS)):
        if f"Torch.relu.{number}.forward" not in stacked:
            yield f"stack.json: round {number} of {len(times)} is lost, {times[-1] - times[number]:.3f} s of CPU time before"
            return
    for name, entry in dump["data"].items():
        if task == "tensor" and "output" in entry:
            for tensor in tensors(entry):
                with zipfile.ZipFile(os.path.join(directory, "dump_tensor_data", tensor["data_name"])) as archive:
                    if archive.testzip() is not None:
                        yield f"{name}: {tensor['data_name']} is broken"


def run_check(directory, out):
    """Whether acc_check reads it: some calls, the last ones among them."""
    names = [name.rsplit(".", 1)[0] for name in load(directory, "dump.json")["data"] if name.startswith(("Torch.relu.", "Torch.stack."))]
    chosen = dict.fromkeys(names[:20] + names[-20:])
    if not chosen:
        return
    done = subprocess.run([os.environ["MSPROBE"], "acc_check", "-api_info", os.path.join(directory, "dump.json"), "-o", out, "-d", "cpu",
                           "--only", *chosen], capture_output=True, text=True)
    if done.returncode != 0:
        yield f"acc_check ends with {done.returncode}: {done.stderr[-300:]}"


def one_kill(task, path, diary, generator, replays):
    """(what is wrong, rounds of the training)"""
    diary.clear()
    training = fork(train, task, path, diary)
    delay = generator.uniform(1.0, 3.0) if generator.random() < 0.1 else generator.uniform(0.0, 0.5)
    while generator.random() > 0.001 and not diary.read():  # rarely it does not come so far
        time.sleep(0.005)
    time.sleep(delay)
    if os.WIFEXITED(end(training)):
        return ["the training ended by itself"], 0
    times = diary.read()
    found = glob.glob(os.path.join(path, "step0", "*", "dump.json"))
    if not found:
        return (["nothing is left"] if times else []), 0
    wrong = list(check(os.path.dirname(found[0]), task, times))
    if replays and not wrong and os.environ.get("MSPROBE") and os.environ.get("MSPROBE_HAS_ENGINE", "1") == "1":
        with tempfile.TemporaryDirectory() as out:
            wrong += run_check(os.path.dirname(found[0]), out)
    return wrong, len(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--burners", type=int, default=2, help="processes that keep the machine busy")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    diary = Diary()
    burners = [fork(burn) for _ in range(arguments.burners)]
    failures, rounds = 0, 0
    directory = tempfile.mkdtemp(prefix="killed_")
    try:
        for number in range(arguments.kills):
            path = os.path.join(directory, "dump")
            task = ("statistics", "tensor")[number % 2]
            try:
                wrong, count = one_kill(task, path, diary, generator, replays=number % 50 in (6, 7))
            except (ValueError, OSError, zipfile.BadZipFile) as error:
                wrong, count = [f"{type(error).__name__}: {error}"], 0
            rounds += count
            for text in wrong:
                failures += 1
                print(f"kill {number}, {task}: {text}", flush=True)
            if generator.random() < 0.7:  # else it is overwritten
                shutil.rmtree(path, ignore_errors=True)
    finally:
        for burner in burners:
            end(burner)
        with contextlib.suppress(OSError):
            shutil.rmtree(directory)
    print(f"{arguments.kills} kills, {rounds} rounds of training, {failures} failures")
    return 1 if failures or rounds == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
