#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well many engines share a skewed list of calls: efficiency at 8 workers, and at 4 MPI ranks with 2 engines each.

usage: scaling.py BUILD_DIR [--calls 10000] [--seconds 40] [--repeats 5]

The calls sleep (in the fake engine of the unit tests, a process like any engine), so the figures tell of the queue, not of the
machine's cores. A call's sleep is drawn from a log-normal distribution, four times as long in the last quarter of the list, and
is its shape (a nanosecond an element), which the queue takes as its cost.
efficiency = sum of all sleeps / (engines * (seconds - start-up)); start-up is the time of the same run with one call that does
not sleep. Beside it: a static split in equal numbers of calls, for which the slowest part decides (computed from the list).
"""
import argparse, json, os, random, statistics, subprocess, sys, tempfile, time


def skewed(calls, seconds):
    numbers = random.Random(1)
    weights = [numbers.lognormvariate(0, 1.5) * (4 if 4 * i >= 3 * calls else 1) for i in range(calls)]
    total = sum(weights)
    return [int(weight / total * seconds * 1e9) for weight in weights]


def write_dump(path, sleeps):
    data = {f"Torch.sleep.{i}.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [sleep]}],
                                         "input_kwargs": {}, "output": []} for i, sleep in enumerate(sleeps)}
    with open(path, "w") as f:
        json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}, f)


def seconds_of(command, dump, scratch):
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        start = time.perf_counter()
        done = subprocess.run([*command, "-api_info", dump, "-o", out, "-d", "cpu"], capture_output=True, text=True)
        taken = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    program = os.path.join(args.build, "bin", "msprobe")
    mpi = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", os.path.join(args.build, "bin", "msprobe-mpi")]
    ways = {"8 workers": [program, "multi_acc_check", "-n", "8"], "4 ranks of 2": [*mpi, "multi_acc_check", "-n", "2"]}
    sleeps = skewed(args.calls, args.seconds)
    total = sum(sleeps) / 1e9
    parts = [sum(sleeps[i * len(sleeps) // 8:(i + 1) * len(sleeps) // 8]) / 1e9 for i in range(8)]
    os.environ["MSPROBE_ENGINE"] = os.path.join(args.build, "src", "engine", "engines", "fake_engine")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MSPROBE_FAKE_DIRECTORY"] = scratch
        dump, empty = os.path.join(scratch, "dump.json"), os.path.join(scratch, "empty.json")
        write_dump(dump, sleeps)
        write_dump(empty, [0])
        print(f"{args.calls} calls that sleep {total:.1f} s together, the longest {max(sleeps) / 1e9:.2f} s; median of {args.repeats}")
        print(f"{'':<16}{'start-up s':>12}{'seconds':>10}{'efficiency':>12}")
        for name, command in ways.items():
            start_up = statistics.median(seconds_of(command, empty, scratch) for _ in range(args.repeats))
            taken = statistics.median(seconds_of(command, dump, scratch) for _ in range(args.repeats))
            print(f"{name:<16}{start_up:>12.2f}{taken:>10.2f}{total / (8 * (taken - start_up)):>11.0%}")
        print(f"{'static split':<16}{'':>12}{max(parts):>10.2f}{total / (8 * max(parts)):>11.0%}")


if __name__ == "__main__":
    main()
