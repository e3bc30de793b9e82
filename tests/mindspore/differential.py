#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every call of a MindSpore dump with the real MindSpore, through the device `mindspore`, and explains every failure or fails itself.

usage: differential.py MSPROBE [DUMP] [--least N]

MSPROBE_MINDSPORE_PYTHON names the Python with MindSpore (tools/test_mindspore.sh makes one). DUMP is the 153 Mint and MintFunctional APIs
in tests/data/mindspore/mint_calls by default. At least --least of its APIs must run, and no call may be wrong by the strict status unless
EXPLAINED says why. No test of the default suite: it needs MindSpore."""
import argparse
import collections
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DUMP = pathlib.Path(__file__).parents[1] / "data" / "mindspore" / "mint_calls" / "dump.json"

MAX_MILLISECONDS = 2.0

# What MindSpore 2.10's CPU computes wrongly, or not at all: (API, part of the reason or message) -> why.
_TANH = "MindSpore's CPU tanh is an approximation, off by up to 1e-4 near 5"
EXPLAINED = {
    ("Mint.tanh", "beyond the bound"): _TANH,
    ("MintFunctional.tanh", "beyond the bound"): _TANH,
    ("Mint.erfinv", "beyond the bound"): "MindSpore's CPU erfinv is wrong near 1",
    ("Mint.masked_select", "invalid gradient"): "a drawn mask keeps another number of elements than the recorded one",
}


def read(directory: pathlib.Path, kind: str) -> list:
    path, = directory.glob(f"accuracy_checking_{kind}_*.csv")
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def api_of(name: str) -> str:
    return re.match(r"(.+?)\.\d+(\.|$)", name).group(1)


def explanation(name: str, text: str) -> str:
    for (api, part), why in EXPLAINED.items():
        if api_of(name) == api and part in text:
            return why
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("msprobe")
    parser.add_argument("dump", nargs="?", default=str(DUMP))
    parser.add_argument("--least", type=int, default=150)
    opts = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        times = pathlib.Path(out) / "times"
        done = subprocess.run([opts.msprobe, "acc_check", "-api_info", opts.dump, "-d", "mindspore", "-o", out], text=True,
                              stdout=subprocess.PIPE, check=False, env={**os.environ, "MSPROBE_RUNNER_LOG": str(times)})
        if done.returncode == 2:
            return 2
        results, details = read(pathlib.Path(out), "result"), read(pathlib.Path(out), "details")
        taken = [[float(cell) / 1e6 for cell in line.split("\t")[2:]] for line in times.read_text().splitlines()]
    print(done.stdout.strip())
    mean = [sum(column) / len(taken) for column in zip(*taken)]
    median = [sorted(column)[len(taken) // 2] for column in zip(*taken)]
    print(f"{len(taken)} calls and gradients: MindSpore itself {mean[0]:.2f} ms (median {median[0]:.2f}), beside it {mean[1]:.2f} ms "
          f"(median {median[1]:.2f}), {mean[2]:.2f} ms of processor time (median {median[2]:.2f})")
    slow = mean[2] > MAX_MILLISECONDS  # processor time: the machine may be busy

    apis, ran, counts = set(), set(), collections.Counter()
    unexplained, explained = [], []
    for row in results:
        name, api = row["API Name"], api_of(row["API Name"])
        apis.add(api)
        if row["Forward Test Success"] != "SKIP":
            ran.add(api)
        for direction in ("Forward", "Backward"):
            status = row[f"{direction} Test Success"]
            counts[f"{direction} {status or 'none'}"] += 1
            if status == "SKIP":
                why = explanation(name, row["Message"])
                (explained if why else unexplained).append(f"{name} {direction.lower()} SKIP: {why or row['Message']}")
    for row in details:
        alarm = row["Strict Status"] in ("error", "warning")
        if row["Status"] == "error" and not alarm:
            counts["outputs beyond 0.0001 by rounding alone (strict status passes)"] += 1
        if alarm:
            why = explanation(row["API Name"], row["Strict Reason"])
            (explained if why else unexplained).append(f"{row['API Name']}: {why or row['Strict Reason']}")

    print(", ".join(f"{key} {count}" for key, count in sorted(counts.items())))
    print(f"APIs that ran on MindSpore: {len(ran)} of {len(apis)}" +
          (f" (not: {', '.join(sorted(apis - ran))})" if apis - ran else ""))
    for title, rows in (("explained", explained), ("unexplained", unexplained)):
        print(f"{title}: {len(rows)}")
        for row in rows:
            print(f"  {row}")
    if slow:
        print(f"the runner takes more than {MAX_MILLISECONDS} ms of processor time beside MindSpore's own")
    return 1 if unexplained or slow or len(ran) < opts.least else 0


if __name__ == "__main__":
    sys.exit(main())
