#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Score the strict status on calls of 8 and 4 bits: right ones of several arithmetics, and ones with a known fault.

    tools/check_low_precision.py build/release/bin/msprobe --out DIR [--seed 1] [--only TEXT]

Scaled products of every layout and dtype, grouped ones, casts and 8-bit results of other operators are computed in NumPy
(low_precision_calls.py), and judged by `acc_check -d recorded`. Every alarm on a right result and every fault that is not seen
is printed; a fault that changes no element by as much as right devices may is left out. Ends with 1 if there is one.
"""

import argparse
import copy
import csv
import glob
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import torch

if not hasattr(torch, "float4_e2m1fn_x2"):
    print("this PyTorch has no float4_e2m1fn_x2")
    sys.exit(77)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import low_precision_calls as lp

NAMES = {
    "_scaled_mm": "Torch._scaled_mm",
    "_scaled_mm_v2": "Torch._scaled_mm_v2",
    "_scaled_grouped_mm": "Torch._scaled_grouped_mm",
    "_scaled_grouped_mm_v2": "Torch._scaled_grouped_mm_v2",
    "_grouped_mm": "Torch._grouped_mm",
}


class Dump:
    """Calls with their tensors. Inputs that several calls share are written once."""

    def __init__(self, folder: pathlib.Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.tensors = folder / "dump_tensor_data"
        self.tensors.mkdir(parents=True)
        self.data: dict = {}
        self.labels: dict[str, tuple[str, str]] = {}
        self.counts: dict[str, int] = {}
        self.files = 0
        self.known: dict[int, tuple[object, dict]] = {}

    def describe(self, value):
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            if id(value) not in self.known:
                name = f"Torch.t.{self.files}.forward.input.0.pt"
                self.files += 1
                torch.save(value, self.tensors / name)
                entry = {
                    "type": "torch.Tensor",
                    "dtype": str(value.dtype),
                    "shape": list(value.shape),
                    "Max": None,
                    "Min": None,
                    "Mean": None,
                    "Norm": None,
                    "requires_grad": False,
                    "data_name": name,
                }
                if not value.is_contiguous():
                    entry["stride"] = list(value.stride())
                self.known[id(value)] = (value, entry)
            return self.known[id(value)][1]
        if isinstance(value, (list, tuple)):
            return [self.describe(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"type": "torch.dtype", "value": str(value)}
        return {"type": type(value).__name__, "value": value}

    def add(self, name: str, args: list, kwargs: dict, result: torch.Tensor, label: tuple[str, str]) -> None:
        self.counts[name] = self.counts.get(name, -1) + 1
        entry = f"{name}.{self.counts[name]}"
        self.data[f"{entry}.forward"] = {
            "input_args": self.describe(args),
            "input_kwargs": {k: self.describe(v) for k, v in kwargs.items()},
            "output": [self.describe(result)],
        }
        self.labels[entry] = label

    def write(self) -> None:
        document = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": self.data}
        (self.folder / "dump.json").write_text(json.dumps(document))


def check(program: str, dump: Dump, device: str, options: list[str]) -> dict[str, tuple[str, str, str, str]]:
    """Strict status, reason, cause and excess of every call."""
    if not dump.data:
        return {}
    dump.write()
    out = dump.folder / f"out_{device}"
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [program, "acc_check", "-api_info", str(dump.folder / "dump.json"), "-d", device, "-o", str(out), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        print(done.stdout[-2000:], done.stderr[-2000:])
        sys.exit(2)
    found: dict[str, tuple[str, str, str, str]] = {}
    for path in glob.glob(str(out / "accuracy_checking_details*.csv")):
        for row in csv.DictReader(open(path, encoding="utf-8-sig")):
            name = ".".join(row["API name"].split(".")[:3])
            found[name] = (
                row.get("Strict Status") or row.get("Status", ""),
                row.get("Strict Reason") or row.get("Message", ""),
                row.get("Likely Cause", ""),
                row.get("Error Over Bound", ""),
            )
    return found


def result_tensor(product: lp.Product, values: np.ndarray, rng: np.random.Generator) -> torch.Tensor:
    undefined = ~product.defined()
    if undefined.any():
        values = np.where(undefined, rng.choice([np.nan, 1e30, 0.0, -7.0], values.shape), values)
    return lp.tensor_of(values, product.out)


def plain_of(product: lp.Product) -> bool:
    return product.parts[0].left.form == "plain" if product.parts else False


ARITHMETICS = {
    "exact": (lp.exact, []),
    "float32, scales first": (lp.single, []),
    "float32, scales after": (lp.single_after, []),
    "25 bits": (lp.unit(25), []),
    "14 bits, promoted": (lp.unit(14, promote=128), ["--unit", "block=32,bits=14,promote=128"]),
    "13 bits, promoted": (lp.unit(13, promote=128), ["--unit", "block=32,bits=13,promote=128"]),
    "13 bits": (lp.unit(13), ["--unit", "block=32,bits=13"]),
}


def right_dumps(folder: pathlib.Path, products: list[lp.Product], rng) -> dict[str, Dump]:
    dumps = {}
    for title, (arithmetic, _) in ARITHMETICS.items():
        dump = Dump(folder / f"right_{title.replace(' ', '_').replace(',', '')}")
        for product in products:
            if "bits" in title and plain_of(product):
                continue
            values = product.summed(arithmetic)
            dump.add(
                NAMES[product.name],
                product.args,
                product.kwargs,
                result_tensor(product, lp.rounded(values, product.out) if product.out in lp.MANTISSA else values, rng),
                (product.label, title),
            )
        dumps[title] = dump
    return dumps


def as_result(product: lp.Product, values: np.ndarray) -> np.ndarray:
    """Numbers of the result's dtype."""
    if product.out in lp.MANTISSA:
        return lp.rounded(values, product.out)
    form = next(f for f, d in lp.DTYPES.items() if d == product.out)
    return lp.TABLES[form][lp.encode(form, values)]


def is_visible(product: lp.Product, right: np.ndarray, wrong: np.ndarray, exact_values: np.ndarray) -> bool:
    """Whether the fault moves an element by more than two units of the result and what sums in float32 may be off."""
    sizes = np.zeros(product.shape)
    for part in product.parts:
        with np.errstate(all="ignore"):
            product.place(sizes, part)[...] = np.nan_to_num(np.abs(part.left.numbers())) @ np.nan_to_num(np.abs(part.right.numbers())).T
    form = next((f for f, d in lp.DTYPES.items() if d == product.out), None)
    digits = {"e4m3fn": 4, "e5m2": 3}.get(form) or lp.MANTISSA[product.out][0]
    least = {"e4m3fn": 2.0**-9, "e5m2": 2.0**-16}.get(form) or 2.0 ** lp.MANTISSA[product.out][1]
    size = np.maximum(np.nan_to_num(np.abs(right)), np.nan_to_num(np.abs(exact_values), posinf=0))
    unit = np.maximum(2.0 ** (np.frexp(size)[1] - digits), least)
    terms = max(part.left.codes.shape[1] for part in product.parts)
    slack = 2 * unit + sizes / (product.scale_result or 1) * (8 + terms**0.5 / 4) * 2.0**-23
    with np.errstate(all="ignore"):
        off = np.abs(right - wrong)
    bad = (off > slack) | (np.isnan(right) != np.isnan(wrong)) | (np.isinf(right) != np.isinf(wrong))
    return bool((bad & product.defined()).any())


def spoiled_dump(folder: pathlib.Path, products: list[lp.Product], rng, title: str = "exact") -> Dump:
    dump = Dump(folder / f"spoiled_{title.replace(' ', '_').replace(',', '')}")
    arithmetic = ARITHMETICS[title][0]
    for product in products:
        exact_values = product.summed(lp.exact)
        right = as_result(product, product.summed(arithmetic))
        for fault, change in lp.BEFORE.items():
            changed = copy.copy(product)
            changed.parts = copy.deepcopy(product.parts)
            if not changed.parts or not change(changed, rng):
                continue
            wrong = as_result(product, changed.summed(arithmetic))
            if is_visible(product, right, wrong, exact_values):
                dump.add(NAMES[product.name], product.args, product.kwargs, result_tensor(product, wrong, rng), (product.label, fault))
        for fault, wrong in lp.spoiled_results(product, right, rng).items():
            wrong = as_result(product, wrong)
            one_element = "two units" in fault and product.out != torch.float32 and not (wrong == right).all()
            if one_element or is_visible(product, right, wrong, exact_values):
                dump.add(NAMES[product.name], product.args, product.kwargs, result_tensor(product, wrong, rng), (product.label, fault))
        terms = max((part.left.codes.shape[1] for part in product.parts), default=0)
        if not plain_of(product) and terms >= 1024 and "positive" in product.label and not product.fast and title == "exact":
            wrong = as_result(product, product.summed(lp.unit(13)))
            dump.add(
                NAMES[product.name], product.args, product.kwargs, result_tensor(product, wrong, rng), (product.label, "sums of 13 bits")
            )
    return dump


def report_alarms(title: str, dump: Dump, found: dict) -> int:
    alarms = {
        n: found.get(n, ("missing", "", "", ""))
        for n in dump.labels
        if found.get(n, ("missing",))[0].lower() not in ("pass", "inconclusive")
    }
    print(f"{title}: {len(dump.labels)} calls, {len(alarms)} alarms")
    for name, result in alarms.items():
        print("  ALARM", name, *dump.labels[name], *result, sep=" | ")
    return len(alarms)


def report_misses(title: str, dump: Dump, found: dict, causes: bool) -> int:
    missed = {
        n: found.get(n, ("missing", "", "", "")) for n in dump.labels if found.get(n, ("missing",))[0].lower() not in ("error", "warning")
    }
    print(f"{title}: {len(dump.labels)} calls, {len(missed)} missed, {100 - 100 * len(missed) / max(len(dump.labels), 1):.2f} % seen")
    for name, result in missed.items():
        print("  MISSED", name, *dump.labels[name], *result, sep=" | ")
    kinds: dict[str, list[str]] = {}
    for name, (_, fault) in dump.labels.items():
        kinds.setdefault(fault, []).append(found.get(name, ("", "", "", ""))[2])
    for fault, named in kinds.items() if causes else ():
        print(f"  {fault}: {len(named)} calls, {len([c for c in named if c])} with a cause: {sorted(set(named))[:6]}")
    return len(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--known", action="store_true", help="judge the faults on units of 13 and 14 bits, too")
    parser.add_argument("--all", action="store_true", help="print the faults that are seen, with their causes")
    options = parser.parse_args()
    torch.set_num_threads(2)
    products = [p for p in lp.products(options.seed) if options.only in p.label]
    rng = np.random.default_rng(options.seed + 1000)
    bad = 0
    casts = [c for c in lp.casts(options.seed) if options.only in c.label]
    right, spoiled, on_cpu = (Dump(options.out / name) for name in ("casts_right", "casts_spoiled", "casts_cpu"))
    for cast in casts:
        for title, result in cast.rights.items():
            right.add(cast.name, cast.args, {}, result, (cast.label, title))
        on_cpu.add(cast.name, cast.args, {}, next(iter(cast.rights.values())), (cast.label, "cpu"))
        for title, result in cast.wrongs.items():
            spoiled.add(cast.name, cast.args, {}, result, (cast.label, title))
    for title, dump, device in (("right casts and moves", right, "recorded"), ("casts and moves on the CPU", on_cpu, "cpu")):
        bad += report_alarms(title, dump, check(options.program, dump, device, []))
    bad += report_misses("faults of casts and moves", spoiled, check(options.program, spoiled, "recorded", []), options.all)
    if casts:
        right, spoiled = (Dump(options.out / f"stochastic_{name}") for name in ("right", "nearest"))
        for cast in casts:
            if "stochastic" in cast.wrongs and cast.name == "Tensor.to":
                right.add(cast.name, cast.args, {}, cast.wrongs["stochastic"], (cast.label, "stochastic"))
                spoiled.add(cast.name, cast.args, {}, cast.rights["nearest"], (cast.label, "nearest"))
        flag = ["--stochastic-casts"]
        bad += report_alarms("right, stochastic casts", right, check(options.program, right, "recorded", flag))
        bad += report_misses("nearest for stochastic", spoiled, check(options.program, spoiled, "recorded", flag), options.all)
    if not products:
        return 1 if bad else 0
    print(f"{len(products)} calls, {sum(p.on_cpu for p in products)} that PyTorch's CPU runs")
    rights = right_dumps(options.out, products, rng)
    for title, dump in rights.items():
        bad += report_alarms(f"right, {title}", dump, check(options.program, dump, "recorded", ARITHMETICS[title][1]))
    cpu = Dump(options.out / "cpu")
    for product in products:
        if product.on_cpu:
            cpu.add(
                NAMES[product.name],
                product.args,
                product.kwargs,
                result_tensor(product, product.summed(lp.exact), rng),
                (product.label, "cpu"),
            )
    bad += report_alarms("PyTorch's CPU", cpu, check(options.program, cpu, "cpu", []))
    for title in ("exact", "13 bits, promoted", "14 bits, promoted") if options.known else ("exact",):
        dump = spoiled_dump(options.out, products, rng, title)
        bad += report_misses(f"faults, {title}", dump, check(options.program, dump, "recorded", ARITHMETICS[title][1]), options.all)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
