#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds of a whole `msprobe compare` of two recordings with 100,000 calls: table, verdicts, and where the runs part.

usage: whole_compare.py PROGRAM [PROGRAM...] [--calls 100000] [--repeats 9] [--threads 2] [--keep DIR]

The golden recording repeats one of tests/data, each time with other values and numbers. The target has noise of 1e-6; in its second
half every value is wrong by 10 to 60 percent; a fifth of its calls is removed, renamed, inserted or computed again. Several
programs take turns; medians are printed. --keep leaves the recordings in DIR, or takes them from there.
"""
import argparse, copy, json, os, random, statistics, subprocess, sys, tempfile, time

RECORDING = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "dumps", "gpt_fp32_statistics", "dump.json")
STATISTICS = ("Max", "Min", "Mean", "Norm")
RENAMED = {"Tensor.__add__": "Torch.add", "Tensor.__mul__": "Torch.mul", "Torch.matmul": "Tensor.matmul",
           "Tensor.transpose": "Torch.transpose", "Tensor.reshape": "Tensor.view"}


def tensors(value):
    if isinstance(value, list):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        if "dtype" in value and "shape" in value:
            yield value
        elif "type" not in value:
            yield from tensors(list(value.values()))


def scaled(entry, factors):
    """A copy of the entry; equal tensors get equal factors."""
    entry = copy.deepcopy(entry)
    for tensor in tensors(list(entry.values())):
        if "float" not in tensor["dtype"]:
            continue
        four = factors(tuple(tensor.get(s) for s in STATISTICS))
        for statistic, factor in zip(STATISTICS, four):
            if isinstance(tensor.get(statistic), float):
                tensor[statistic] *= factor
    return entry


def remembered(make):
    """One value for each key."""
    known = {}

    def value(key):
        if key not in known:
            known[key] = make()
        return known[key]
    return value


def golden_calls(recorded, calls, rng):
    """[api, number, direction, entry], as often as it takes."""
    entries = [(*key.rsplit(".", 2), entry) for key, entry in recorded.items()]
    out, turn = [], 0
    while len(out) < calls:
        factors = remembered(lambda: [rng.uniform(0.5, 2)] * 4)
        out += [[api, f"{turn}.{number}", direction, scaled(entry, factors)] for api, number, direction, entry in entries]
        turn += 1
    return out


def target_calls(golden, rng):
    half = len(golden) // 2
    noise = remembered(lambda: [1 + rng.gauss(0, 1e-6) for _ in STATISTICS])
    wrong = remembered(lambda: [1 + rng.choice((-1, 1)) * rng.uniform(0.1, 0.6) for _ in STATISTICS])
    fates = {}
    out = []
    for at, (api, number, direction, entry) in enumerate(golden):
        entry = scaled(entry, noise if at < half else wrong)
        fate = fates.setdefault((api, number), rng.choice(("remove", "insert", "rename", "again")) if rng.random() < 0.2 else "")
        if fate == "remove":
            continue
        name = RENAMED.get(api, api) if fate == "rename" else api
        out.append([name, f"{number}'" if name != api else number, direction, entry])
        if fate in ("insert", "again") and direction == "forward":
            out.insert(len(out) - (0 if fate == "insert" else min(20, len(out))), [api, f"{number}+", direction, copy.deepcopy(entry)])
    return out


def write(path, calls):
    counts, numbers, data = {}, {}, {}
    for api, number, direction, entry in calls:
        if (api, number) not in numbers:
            numbers[api, number] = counts[api] = counts.get(api, -1) + 1
        data[f"{api}.{numbers[api, number]}.{direction}"] = entry
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}, file, indent=1)
    return len(data)


def make(directory, calls):
    rng = random.Random(21)
    with open(RECORDING) as file:
        golden = golden_calls(json.load(file)["data"], calls, rng)
    target = target_calls(golden, rng)
    print(f"{write(os.path.join(directory, 'target', 'dump.json'), target)} calls against "
          f"{write(os.path.join(directory, 'golden', 'dump.json'), golden)}")


def measure(program, directory, threads):
    with tempfile.TemporaryDirectory(dir=directory) as out:
        start = time.perf_counter()
        child = subprocess.Popen([program, "compare", "-tp", os.path.join(directory, "target", "dump.json"), "-gp",
                                  os.path.join(directory, "golden", "dump.json"), "-o", out, "--threads", str(threads)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        taken = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{program}: exit status {os.waitstatus_to_exitcode(status)}")
    return taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser()
    p.add_argument("programs", nargs="+"), p.add_argument("--calls", type=int, default=100_000), p.add_argument("--repeats", type=int, default=9)
    p.add_argument("--threads", type=int, default=2), p.add_argument("--keep")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = a.keep or scratch
        if not os.path.exists(os.path.join(directory, "target", "dump.json")):
            make(directory, a.calls)
        runs = {program: [] for program in a.programs}
        for _ in range(a.repeats):
            for program in a.programs:
                runs[program].append(measure(program, directory, a.threads))
    for program, found in runs.items():
        seconds, cpu, memory = (statistics.median(column) for column in zip(*found))
        print(f"{program}: {seconds:.2f} s (best {min(found)[0]:.2f}), {cpu:.2f} CPU s, peak {memory:.0f} MB")


main()
