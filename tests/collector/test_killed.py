# SPDX-License-Identifier: Apache-2.0
"""Trainings that are killed while they are recorded, at random moments, on a busy machine: what is left can be read, and little is lost.

usage: test_killed.py [--kills N] [--seed N] [--burners N] [--lanes N]
A short run is part of the suite, whose other tests keep the machine busy; --burners does where nothing else runs. MSPROBE and PYTHONPATH as ctest
sets them. Time is CPU time of the killed process.
acc_check runs on what every kill leaves.
"""
import argparse
import contextlib
import ctypes
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
PR_SET_PDEATHSIG = 1


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
    """Of a process that ends with this one, however that ends: a training would go on for long."""
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
            work(*arguments)
        finally:
            os._exit(1)
    return process


def end(process):
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def cpu_time(process):
    """Its CPU seconds; Linux makes the number of the clock from that of the process."""
    return time.clock_gettime(~process << 3 | 2)


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
    """Whether acc_check reads it and runs some calls, the last ones among them."""
    data = load(directory, "dump.json")["data"]
    names = [name.rsplit(".", 1)[0] for name in data if name.startswith(("Torch.relu.", "Torch.stack."))]
    chosen = dict.fromkeys(names[:2] + names[-4:])
    done = subprocess.run([os.environ["MSPROBE"], "acc_check", "-api_info", os.path.join(directory, "dump.json"), "-o", out, "-d", "cpu", "-v",
                           *(["--only", *chosen] if chosen else [])], capture_output=True, text=True)
    wanted = f"checked {len(chosen)} " if chosen else "checked "
    if done.returncode != (0 if data else 2) or wanted not in done.stdout:  # 2: there is nothing to check
        yield f"acc_check ends with {done.returncode}: {done.stdout[-200:]}{done.stderr[-300:]}"


def one_kill(task, path, diary, generator):
    """(what is wrong, rounds of the training, whether acc_check was run)"""
    diary.clear()
    training = fork(train, task, path, diary)
    while generator.random() > 0.001 and not diary.read():  # rarely it does not come so far
        time.sleep(0.005)
    delay = generator.uniform(1.0, 3.0) if generator.random() < 0.1 else generator.uniform(0.0, 0.5)
    moment = cpu_time(training) + delay
    while cpu_time(training) < moment:
        time.sleep(generator.uniform(0.0, 0.02))
    if os.WIFEXITED(end(training)):
        return ["the training ended by itself"], 0, False
    times = diary.read()
    found = glob.glob(os.path.join(path, "step0", "*", "dump.json"))
    if not found:
        return (["nothing is left"] if times else []), 0, False
    wrong = list(check(os.path.dirname(found[0]), task, times))
    replays = bool(os.environ.get("MSPROBE")) and os.environ.get("MSPROBE_HAS_ENGINE", "1") == "1"
    if replays:
        with tempfile.TemporaryDirectory() as out:
            wrong += run_check(os.path.dirname(found[0]), out)
    return wrong, len(times), replays


def kill_some(numbers, generator):
    """Counts of kills, rounds, checks and failures."""
    diary = Diary()
    kills, rounds, checks, failures = 0, 0, 0, 0
    directory = tempfile.mkdtemp(prefix="killed_")
    try:
        for turn, number in enumerate(numbers):
            path = os.path.join(directory, "dump")
            task = ("statistics", "tensor")[turn % 2]
            try:
                wrong, count, is_checked = one_kill(task, path, diary, generator)
            except (ValueError, OSError, zipfile.BadZipFile) as error:
                wrong, count, is_checked = [f"{type(error).__name__}: {error}"], 0, False
            kills, rounds, checks, failures = kills + 1, rounds + count, checks + is_checked, failures + len(wrong)
            for text in wrong:
                print(f"kill {number}, {task}: {text}", flush=True)
            if kills % 10 == 0:
                print(f"{kills} kills in lane, {rounds} rounds, {checks} checked, {failures} failures", flush=True)
            if generator.random() < 0.7:  # else it is overwritten
                shutil.rmtree(path, ignore_errors=True)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(directory)
    return kills, rounds, checks, failures


def run_lane(lane, arguments, pipe):
    counts = kill_some(range(lane, arguments.kills, arguments.lanes), random.Random(f"{arguments.seed}.{lane}"))
    os.write(pipe, json.dumps(counts).encode() + b"\n")
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--burners", type=int, default=0, help="processes that keep the machine busy")
    parser.add_argument("--lanes", type=int, default=1, help="trainings at a time")
    arguments = parser.parse_args()
    burners = [fork(burn) for _ in range(arguments.burners)]
    reader, writer = os.pipe()
    lanes = [fork(run_lane, lane, arguments, writer) for lane in range(arguments.lanes)]
    os.close(writer)
    try:
        with open(reader, encoding="utf-8") as answers:  # until every lane has ended
            counts = [json.loads(line) for line in answers]
    finally:
        for process in burners + lanes:
            with contextlib.suppress(ProcessLookupError):
                end(process)
    kills, rounds, checks, failures = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0, 0)
    print(f"{kills} kills, {rounds} rounds of training, {checks} checked by acc_check, {failures} failures")
    return 1 if failures or rounds == 0 or kills < arguments.kills else 0


if __name__ == "__main__":
    sys.exit(main())
