#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Score msprobe acc_check --card on random matrix units of the simulated device.

    python3 tools/score_card.py build/release/bin/msprobe --count 20 --seed 1

Each unit gets a card (products only). Then products and convolutions of random shapes are checked with it: once as the unit
computes them, where every alarm is false; once with every element one number too far from zero, and once with one element four
numbers too far (16 bits only), where every result must be an alarm. The bound over the error comes from the strict reason: "by at
most 0.5 of the bound" is 2. The exit status is 1 if there is an alarm, if its median is above 4, or if a fault of one unit is not
seen.
"""

import argparse
import collections
import csv
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

from score_probe_device import DTYPES, draw, profile

OPERATORS = "[mm, bmm, addmm, convolution]"


def tensor(shape: tuple, dtype: str) -> dict:
    return {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": list(shape), "Max": 2.5, "Min": -2.5, "Mean": 0.0, "Norm": 1.0,
            "requires_grad": False}


def draw_calls(rng: random.Random) -> dict:
    """One call of every kind and dtype."""
    data = {}
    for number, dtype in enumerate(DTYPES):
        def size(most: int) -> int:
            return rng.randint(4, most)
        rows, terms, columns, batch, channels = size(40), 32 + size(400), size(40), size(5), 2 + size(6)
        side, kernel = 8 + size(8), rng.choice([1, 3, 3, 5])
        calls = {"Torch.matmul": [(rows, terms), (terms, columns)], "Torch.bmm": [(batch, rows, terms), (batch, terms, columns)],
                 "Functional.linear": [(batch, rows, terms), (columns, terms), (columns,)],
                 "Torch.addmm": [(rows, columns), (rows, terms), (terms, columns)],
                 "Functional.conv2d": [(batch, channels * 4, side, side), (columns, channels * 4, kernel, kernel), (columns,)]}
        for name, shapes in calls.items():
            inputs = [tensor(shape, dtype) for shape in shapes]
            data[f"{name}.{number}.forward"] = {"input_args": inputs, "input_kwargs": {}, "output": [inputs[0]]}
    return {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}


def check(msprobe: str, place: pathlib.Path, name: str, words: list) -> list:
    out = place / name
    done = subprocess.run([msprobe, "acc_check", "-api_info", str(place / "dump.json"), "-o", str(out), "--card", str(place / "card.json"),
                           "--fail-on", "strict", *words], capture_output=True, text=True)
    assert done.returncode in (0, 1), f"{words}: status {done.returncode}\n{done.stderr}"
    found, = out.glob("accuracy_checking_details_*.csv")
    with open(found, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def is_alarm(row: dict) -> bool:
    return row["Strict Status"] in ("warning", "error")


def kind_of(row: dict) -> str:
    return "convolutions" if "conv2d" in row["API name"] else "products"


def score_unit(options: argparse.Namespace, number: int, totals: collections.Counter, ratios: dict) -> None:
    rng = random.Random(options.seed * 100003 + number)
    config = draw(rng)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        sim = ["-d", "sim", "--sim-profile", profile(config)]
        subprocess.run([options.msprobe, "probe_device", *sim, "--only", "products", "-o", str(place / "card.json")], check=True,
                       capture_output=True)
        (place / "dump.json").write_text(json.dumps(draw_calls(rng)))
        right = check(options.msprobe, place, "right", sim)
        for row in right:
            totals["results"] += 1
            if is_alarm(row):
                totals["alarms"] += 1
                print(f"alarm: {profile(config)} {row['API name']}: {row['Strict Reason']}", flush=True)
            if found := re.search(r"by at most (\S+) of the bound", row["Strict Reason"]):
                ratios[kind_of(row)].append(1 / max(float(found[1]), 1e-6))
        for fault in ("one_ulp", "four_units"):
            (place / "sim.yaml").write_text(f"faults:\n  - {{fault: {fault}, operators: {OPERATORS}}}\n")
            for row in check(options.msprobe, place, fault, [*sim, "--sim-config", str(place / "sim.yaml")]):
                if fault == "four_units" and ".0.forward" in row["API name"]:
                    continue  # float32
                totals[f"{fault}, {kind_of(row)}"] += 1
                totals[f"{fault}, {kind_of(row)}, seen"] += is_alarm(row)
                if not is_alarm(row):
                    print(f"{fault} not seen: {profile(config)} {row['API name']}: {row['Strict Reason']}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("msprobe")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    totals: collections.Counter = collections.Counter()
    ratios = {"products": [], "convolutions": []}
    for number in range(options.count):
        score_unit(options, number, totals, ratios)
    print(f"{options.count} units, {totals['results']} results, {totals['alarms']} alarms")
    for kind, found in ratios.items():
        print(f"{kind}: bound over error: median {statistics.median(found or [0]):.2f}, of {len(found)} results that are not the rounded benchmark")
    missed = 0
    for fault in ("one_ulp", "four_units"):
        for kind in ratios:
            name = f"{fault}, {kind}"
            missed += totals[name] - totals[f"{name}, seen"]
            print(f"{name}: {totals[f'{name}, seen']} of {totals[name]} seen")
    return 1 if totals["alarms"] or missed or statistics.median(ratios["products"] or [0]) > 4 else 0


if __name__ == "__main__":
    sys.exit(main())
