#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that the strict status is silent on correct matrix units that this script emulates itself, with whole numbers in NumPy.

    tools/check_unit_silence.py build/release/bin/msprobe [--seed 0] [--units 6] [--terms 65536] [--dumps DIR]

Draws units at random (block, bits, ways of cutting, order), multiplies matrices of float32, float16 and bfloat16 with up to
65,536 terms on them, with normal, positive, cancelling and wide data, and writes the results as a dump. `acc_check -d recorded`
then judges them. The second dump holds float32 products whose inputs were rounded to TF32, judged with --allow-tf32; the third
products with subnormal results. Every alarm is printed; the exit status is 1 if there is one. With --dumps the dumps are kept, and
judged again if they are there.
"""

import argparse
import csv
import dataclasses
import glob
import itertools
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import torch

LENGTHS = (48, 500, 4096, 16384, 65536)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
KINDS = ("normal", "positive", "cancelling", "wide")


@dataclasses.dataclass(frozen=True)
class Unit:
    block: int
    bits: int        # kept behind the leading one of the largest term
    cut: str         # zero, down, nearest: what happens to the bits of a term that do not fit
    keep: str        # the same, for a partial sum that becomes a float32
    parts: int       # the terms are split into so many runs, added in float32 at the end
    strided: bool    # run i takes every `parts`-th term
    reverse: bool
    separate: bool   # a block is added to the running sum in float32


def draw_unit(rng: random.Random) -> Unit:
    cut = rng.choice(("zero", "zero", "down", "nearest"))
    return Unit(block=rng.choice((1, 2, 4, 4, 8, 8, 16, 32)), bits=rng.choice((23, 24, 25)), cut=cut, keep=rng.choice((cut, "zero", "nearest")),
                parts=rng.choice((1, 1, 1, 2, 4)), strided=rng.random() < 0.5, reverse=rng.random() < 0.25, separate=rng.random() < 0.2)


def whole(values: np.ndarray, how: str) -> np.ndarray:
    return {"zero": np.trunc, "down": np.floor, "nearest": np.rint}[how](values)


def to_float32(values: np.ndarray, how: str) -> np.ndarray:
    """Exact sums, in float64, to numbers of float32 (subnormal ones included)."""
    exponent = np.maximum(np.frexp(values)[1] - 24, -149)
    return np.ldexp(whole(np.ldexp(values, -exponent), how), exponent)


def run_of(unit: Unit, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Adds left[k, i] * right[k, j] over k as the unit does. Every number is one of float32, held in float64."""
    total = np.zeros((left.shape[1], right.shape[1]))
    left_exponent, right_exponent = np.frexp(left)[1] - 1, np.frexp(right)[1] - 1
    left_exponent[left == 0], right_exponent[right == 0] = -200, -200
    for start in range(0, len(left), unit.block):
        block = slice(start, start + unit.block)
        terms = left[block, :, None] * right[block, None, :]
        top = (left_exponent[block, :, None] + right_exponent[block, None, :]).max(axis=0)
        if not unit.separate:
            top = np.maximum(top, np.where(total == 0, -400, np.frexp(total)[1] - 1))
        shift = unit.bits - np.maximum(top, -300)
        added = whole(np.ldexp(terms, shift), unit.cut).sum(axis=0)
        if unit.separate:
            total = to_float32(total + to_float32(np.ldexp(added, -shift), unit.keep), unit.keep)
        else:
            total = to_float32(np.ldexp(added + whole(np.ldexp(total, shift), unit.cut), -shift), unit.keep)
    return total


def multiply(unit: Unit, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    terms = left.shape[1]
    order = np.arange(terms)[:: -1 if unit.reverse else 1]
    runs = [order[i:: unit.parts] for i in range(unit.parts)] if unit.strided else np.array_split(order, unit.parts)
    l, r = left.double().numpy().T, right.double().numpy()
    total = np.zeros((l.shape[1], r.shape[1]))
    for run in runs:
        total = (total + run_of(unit, l[run], r[run])).astype(np.float32).astype(np.float64)
    return torch.from_numpy(total).float().to(left.dtype)


def factors(kind: str, rows: int, terms: int, columns: int, dtype: torch.dtype, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    left, right = torch.randn(rows, terms, generator=generator), torch.randn(terms, columns, generator=generator)
    if kind == "positive":
        left, right = left.abs(), right.abs()
    if kind == "wide":
        left = left * torch.exp2(torch.randint(-8, 9, left.shape, generator=generator).float())
    if kind == "cancelling":  # the second half takes back the first, up to one part in a hundred
        half = terms // 2
        left, right = left.abs(), right.abs()
        left[:, half:2 * half] = left[:, :half]
        right[half:2 * half] = -right[:half] * (1 + 0.01 * torch.randn(half, columns, generator=generator))
    return (left / terms ** 0.5).to(dtype), right.to(dtype)


def as_tf32(tensor: torch.Tensor) -> torch.Tensor:
    pattern = tensor.view(torch.int32)
    return ((pattern + ((pattern >> 13) & 1) + 0xFFF) & ~0x1FFF).view(torch.float32)


class Dump:
    """A dump of matmul calls with their tensors."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory, self.data, self.notes = directory, {}, {}
        (directory / "dump_tensor_data").mkdir(parents=True, exist_ok=True)

    def tensor(self, name: str, tensor: torch.Tensor) -> dict:
        torch.save(tensor.clone(), self.directory / "dump_tensor_data" / f"{name}.pt")
        wide = tensor.double()
        return {"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape), "Max": wide.max().item(), "Min": wide.min().item(),
                "Mean": wide.mean().item(), "Norm": wide.norm().item(), "requires_grad": False, "data_name": f"{name}.pt"}

    def add(self, left: torch.Tensor, right: torch.Tensor, output: torch.Tensor, note: str) -> None:
        name = f"Torch.matmul.{len(self.notes)}"
        self.notes[name] = note
        self.data[f"{name}.forward"] = {
            "input_args": [self.tensor(f"{name}.forward.input.{i}", value) for i, value in enumerate((left, right))],
            "input_kwargs": {}, "output": [self.tensor(f"{name}.forward.output.0", output)]}

    def write(self) -> None:
        document = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": self.data}
        (self.directory / "dump.json").write_text(json.dumps(document))
        (self.directory / "notes.json").write_text(json.dumps(self.notes))

    def alarms(self, program: str, *options: str) -> int:
        self.notes = json.loads((self.directory / "notes.json").read_text())
        out = self.directory / "out"
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.run([program, "acc_check", "-api_info", str(self.directory / "dump.json"), "-o", str(out), "-d", "recorded", *options],
                             capture_output=True, text=True)
        found = glob.glob(str(out / "accuracy_checking_details_*.csv"))
        if not found:
            sys.exit(f"acc_check ended with {run.returncode}: {run.stderr[-300:]}")
        with open(found[0], encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        bad = [row for row in rows if row["Strict Status"] in ("warning", "error")]
        for row in bad:
            name = row["API name"].rsplit(".forward", 1)[0]
            print(f"  {self.notes[name]}: {row['Strict Status']}, {row['Strict Reason']} [{row['Likely Cause']}]")
        judged = sum(row["Strict Status"] in ("pass", "warning", "error") for row in rows)
        print(f"{self.directory.name}: {judged} of {len(self.notes)} products judged, {len(bad)} alarms", flush=True)
        return len(bad) + len(self.notes) - judged


def write_dumps(args: argparse.Namespace, plain: Dump, tf32: Dump, small: Dump) -> None:
    rng, generator = random.Random(args.seed), torch.Generator().manual_seed(args.seed)
    for _ in range(args.units):
        unit = draw_unit(rng)
        for kind, terms in itertools.product(KINDS, [length for length in LENGTHS if length <= args.terms]):
            rows, columns = rng.choice(((8, 8), (3, 5), (12, 7), (1, 16), (16, 16)))
            for dtype in DTYPES:
                left, right = factors(kind, rows, terms, columns, dtype, generator)
                note = f"{unit}, {kind}, {rows} x {terms} x {columns} {dtype}"
                plain.add(left, right, multiply(unit, left, right), note)
                if dtype == torch.float32:
                    tf32.add(left, right, multiply(unit, as_tf32(left), as_tf32(right)), note)
        for size in (1e-19, 1e-21, 1e-22):
            left, right = factors(rng.choice(KINDS), 8, 200, 9, torch.float32, generator)
            small.add(left * size * 14, right * size, multiply(unit, left * size * 14, right * size), f"{unit}, results of {size * size:g}")
    for dump in (plain, tf32, small):
        dump.write()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--units", type=int, default=6)
    parser.add_argument("--terms", type=int, default=max(LENGTHS), help="the longest sums")
    parser.add_argument("--dumps", help="a directory for the dumps; judged again if they are there")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(args.dumps or scratch)
        plain, tf32, small = (Dump(place / name) for name in ("plain", "tf32", "subnormal"))
        if not (small.directory / "notes.json").exists():
            write_dumps(args, plain, tf32, small)
        bad = plain.alarms(args.program) + tf32.alarms(args.program, "--allow-tf32") + small.alarms(args.program)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
