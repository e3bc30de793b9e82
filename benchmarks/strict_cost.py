#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the strict status costs on products that a matrix unit computed, in CPU seconds.

usage: strict_cost.py MSPROBE [--repeats 5] [--dumps DIR]

The products are of float32, float16 and bfloat16 inputs, square and with long sums, with zero mean, positive or cancelling; their
results are those of a unit that adds 8 terms at a time and cuts what does not fit (tools/check_unit_silence.py), written as a dump
that `acc_check -d recorded` judges: the device costs nothing. The yardstick is the same dump with the correctly rounded results: of
these the strict status only sees that they are equal. Pinned to one core, runs in turns, medians; the start of the engine, measured
with a dump of one small product, is taken off. With --dumps the dumps are kept, and read again if they are there.
"""
import argparse
import itertools
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import check_unit_silence as units  # noqa: E402
import torch  # noqa: E402

UNIT = units.Unit(block=8, bits=24, cut="zero", keep="zero", parts=1, strided=False, reverse=False, separate=False)
SHAPES = {"square": ((512, 512, 512),), "long": ((32, 16384, 32), (8, 65536, 8)), "wide": ((1024, 128, 512),)}
KINDS = ("normal", "positive", "cancelling")
ALLOWED = 0.30
TIMES = 20  # every product is in its dump so often: the start of the engine takes as long as a few


def write_dumps(place: pathlib.Path) -> dict[str, pathlib.Path]:
    """One dump for each kind of data and each group of shapes, and one for the start."""
    generator = torch.Generator().manual_seed(1)
    paths = {}
    for kind, group in itertools.product((*KINDS, "start"), SHAPES):
        name = "start" if kind == "start" else f"{kind}, {group}"
        if name in paths:
            continue
        dump, exact = (units.Dump(place / (name.replace(", ", "_") + end)) for end in ("", "_exact"))
        paths[name] = dump.directory / "dump.json"
        if paths[name].exists():
            continue
        for (rows, terms, columns), dtype in itertools.product(SHAPES[group] if kind != "start" else ((2, 2, 2),), units.DTYPES):
            left, right = units.factors("normal" if kind == "start" else kind, rows, terms, columns, dtype, generator)
            note = f"{kind}, {rows} x {terms} x {columns} {dtype}"
            dump.add(left, right, units.multiply(UNIT, left, right), note)
            exact.add(left, right, (left.double() @ right.double()).to(dtype), note)
        for written in (dump, exact):
            records = list(written.data.values()) * (1 if kind == "start" else TIMES)
            written.data = {f"Torch.matmul.{i}.forward": record for i, record in enumerate(records)}
            written.write()
    return paths


def cpu_seconds(program: str, dump: pathlib.Path) -> float:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "acc_check", "-api_info", str(dump), "-o", out, "-d", "recorded"], capture_output=True,
                              text=True, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return used() - before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dumps")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        paths = write_dumps(pathlib.Path(args.dumps or scratch))
        ways = {(name, end): path.parent.with_name(path.parent.name + end) / path.name
                for name, path in paths.items() for end in ("", "_exact")}
        times: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
        for _ in range(args.repeats):
            for way, path in ways.items():
                times[way].append(cpu_seconds(args.program, path))
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    start = medians.pop(("start", "")), medians.pop(("start", "_exact"))
    whole = [0.0, 0.0]
    print(f"{'dump':20} {'unit, s':>8} {'exact, s':>8} {'more':>7} {'share':>7}")

    def line(name: str, unit: float, exact: float) -> None:
        print(f"{name:20} {unit:8.3f} {exact:8.3f} {unit / exact - 1:7.0%} {1 - exact / unit:7.0%}", flush=True)

    for name in paths:
        if name == "start":
            continue
        net = [medians[name, ""] - min(start), medians[name, "_exact"] - min(start)]
        line(name, *net)
        whole = [sum(pair) for pair in zip(whole, net)]
    line("all", *whole)
    print(f"allowed: a share of {ALLOWED:.0%} of the CPU time")
    sys.exit(0 if 1 - whole[1] / whole[0] <= ALLOWED else 1)


if __name__ == "__main__":
    main()
