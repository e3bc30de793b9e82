#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msprobe metrics --profile reference --json` of recorded pairs gives the numbers that the public tool gave.

usage: metrics_check.py MSPROBE
"""
import json
import math
import pathlib
import subprocess
import sys

DATA = pathlib.Path(__file__).resolve().parent / "data" / "metrics"
FLOATS = {"torch.float16", "torch.bfloat16", "torch.float32", "torch.float64"}
WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def as_number(value):
    if isinstance(value, str):
        return WORDS.get(value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def same(wanted, got, tolerance):
    x, y = as_number(wanted), as_number(got)
    if x is None or y is None:
        return wanted == got or (wanted in (None, "") and got in (None, ""))
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or math.isclose(x, y, rel_tol=tolerance, abs_tol=1e-12)


def wanted_of(case):
    """The recorded numbers by place and name; messages are in words of our own."""
    expected = case["expected"]
    places = {("row",): expected["acc_check_row"].get("values", {})}
    floats = {case["bench_torch_dtype"], case["device_torch_dtype"]} <= FLOATS
    for name, values in expected.get("algorithms", {}).items():
        if "exception" not in values and (floats or name == "binary"):
            places["algorithms", name] = values
    for place, values in places.items():
        yield from ((place, key, value) for key, value in values.items() if key != "message")


def main():
    compared, wrong = 0, []
    for case in json.loads((DATA / "index.json").read_text())["cases"]:
        command = [sys.argv[1], "metrics", DATA / case["bench"], DATA / case["device"], "--bench-dtype", case["bench_torch_dtype"],
                   "--device-dtype", case["device_torch_dtype"], "--api", case["api"], "--profile", "reference", "--json"]
        got = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout)
        tolerance = 1e-4 if case["device_torch_dtype"] in ("torch.float16", "torch.bfloat16") else 1e-6
        for place, key, wanted in wanted_of(case):
            found = got
            for step in (*place, key):
                found = (found or {}).get(step)
            compared += 1
            if not same(wanted, found, tolerance):
                wrong.append(f"{case['case']}: {'.'.join(place)}.{key}: expected {wanted!r}, got {found!r}")
    print("\n".join(wrong[:20]))
    print(f"{compared} numbers compared, {len(wrong)} differ")
    return 1 if wrong or compared < 5000 else 0


if __name__ == "__main__":
    sys.exit(main())
