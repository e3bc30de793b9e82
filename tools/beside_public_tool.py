#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run this program and the public one on the same random tables and dumps, and list every cell that differs and that no rule of
docs/differences.md explains.

usage: beside_public_tool.py PROGRAM PUBLIC [--rounds N] [--seed N] [--show N]

PUBLIC is the msprobe command of the public package, in an environment of its own:
  python3 -m venv ENV && ENV/bin/pip install mindstudio-probe==26.2.0 protobuf onnx onnxruntime torch
This script needs a Python with PyTorch for the dumps of real data. It is no part of the tests: it needs the network once, and minutes.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable

csv.field_size_limit(1 << 30)
Row = dict[str, str]

# One API of each standard and level, and some that are in no list.
APIS = """Functional.conv2d Functional.conv1d Functional.relu Functional.gelu Functional.layer_norm Functional.linear Functional.embedding
Functional.softmax Functional.leaky_relu Functional.pad Torch.matmul Torch.add Torch.sub Torch.mul Torch.div Torch.bmm Torch.sum Torch.sort
Torch.topk Torch.exp Torch.where Tensor.__add__ Tensor.__mul__ Tensor.__matmul__ Tensor.view Tensor.masked_fill Tensor.abs Tensor.to
NPU.npu_rms_norm NPU.npu_fusion_attention VF.lstm""".split()
FLOATS = ["torch.float32", "torch.float16", "torch.bfloat16"]
OTHERS = ["torch.float64", "torch.int64", "torch.bool", "torch.complex64", "<class 'int'>", "<class 'float'>"]
METRICS = slice(4, 21)
NAME = "API Name"
STATUSES = ["pass", "pass", "pass", "warning", "error", "SKIP"]


class Findings:
    def __init__(self, show: int):
        self.show, self.cells, self.explained, self.unexplained = show, 0, Counter(), 0

    def cell(self, where: str, ours: str, theirs: str, rule: str | None) -> None:
        if rule:
            self.explained[rule] += 1
            return
        self.unexplained += 1
        if self.unexplained <= self.show:
            print(f"  {where}: ours {ours!r}, public {theirs!r}")


def run(command: pathlib.Path, *words: object) -> subprocess.CompletedProcess:
    """Each program with its own Python package: both packages have the same import name."""
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run([command, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=plain)


def read(path: pathlib.Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def tables(out: pathlib.Path) -> dict[str, list[Row]]:
    """The tables of a run, by their names without the time."""
    return {re.sub(r"_\d{14,}", "", path.stem): read(path) for path in sorted(out.glob("*.csv"))}


def as_number(text: str) -> float | None:
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        return None


def alike(ours: str, theirs: str, tolerance: float) -> bool:
    one, two = as_number(ours), as_number(theirs)
    if ours.strip() == theirs.strip():
        return True
    if one is None or two is None or ours.endswith("%") != theirs.endswith("%"):
        return False
    return one == two or (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, rel_tol=tolerance, abs_tol=4e-12)


# Tables of two checks, profile reference: nothing explains a difference but our own words.


def metric(random_: random.Random) -> str:
    kind = random_.random()
    if kind < 0.10:
        return " "
    if kind < 0.16:
        return random_.choice(["nan", "inf", "-inf", "0", "0.00000000000000", "1.00000000000000"])
    return f"{random_.choice([1e-16, 1e-9, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 1000]) * random_.random():.14f}"


def details(random_: random.Random, titles: list[str], count: int) -> tuple[list[list[str]], list[list[str]]]:
    npu, gpu = [], []
    for number in range(count):
        api = f"{random_.choice(APIS)}.{number}"
        directions = ["forward", "backward"] if random_.random() < 0.5 else ["forward"]
        for direction in directions:
            for output in range(random_.choice([1, 1, 1, 2, 3])):
                dtype = random_.choice(FLOATS if random_.random() < 0.8 else OTHERS)
                head = [f"{api}.{direction}.output.{output}", dtype, dtype, random_.choice(["(4, 5)", "(16,)", "()", "(0,)", "(2, 3, 4)"])]
                rows = []
                for _ in range(2):
                    row = [*head, *(metric(random_) for _ in range(METRICS.stop - METRICS.start))]
                    row += [random_.choice(STATUSES), random_.choice(["", " ", "some text"])]
                    rows.append(row + [""] * (len(titles) - len(row)))
                if random_.random() < 0.2:
                    rows[1][METRICS] = rows[0][METRICS]
                npu.append(rows[0])
                if random_.random() < 0.97:
                    gpu.append(rows[1])
    return npu, gpu


def compare_checks(program: pathlib.Path, public: pathlib.Path, random_: random.Random, scratch: pathlib.Path, found: Findings) -> None:
    sample = pathlib.Path(__file__).resolve().parent.parent / "tests/data/api_precision_compare/npu_details.csv"
    with sample.open(encoding="utf-8-sig", newline="") as file:
        titles = next(csv.reader(file))
    files = []
    for name, rows in zip(("npu", "gpu"), details(random_, titles, 300)):
        files.append(scratch / f"{name}.csv")
        with files[-1].open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows([titles, *rows])
    ours, theirs = scratch / "ours", scratch / "theirs"
    options = ["api_precision_compare", "-npu", files[0], "-gpu", files[1]]
    done = run(program, *options, "-o", ours, "--profile", "reference", "--titles", "zh")
    other = run(public, *options, "-o", theirs)
    one, two = tables(ours), tables(theirs)
    if not two or one.keys() != two.keys():
        raise SystemExit(f"no tables: {sorted(one)}, {sorted(two)}\n{done.stderr[-500:]}\n{(other.stderr + other.stdout)[-2000:]}")
    # Neither profile copies faults of execution: a row that broke the public tool is SKIP there.
    broken = {row[NAME] for row in two["api_precision_compare_details"] if "object has no attribute" in row["Message"]}
    broken |= {name.rsplit(".", 3)[0] for name in broken}
    for kind in two:
        name = next(iter(two[kind][0]))
        rows = {row[name]: row for row in one[kind]}
        for row in two[kind]:
            rule = "exception in the public tool" if row[name] in broken else None
            if row[name] not in rows:
                found.cell(f"{kind} {row[name]}", "no row", "a row", rule)
                continue
            for title, cell in row.items():
                if title == "Message":
                    continue
                found.cells += 1
                if not alike(rows[row[name]][title], cell, 1e-9):
                    found.cell(f"{kind} {row[name]} {title}", rows[row[name]][title], cell, rule)
        for missing in rows.keys() - {row[name] for row in two[kind]}:
            found.cell(f"{kind} {missing}", "a row", "no row", "exception in the public tool" if missing in broken else None)


# Two dumps.

STATISTICS = {"Max": "max", "Min": "min", "Mean": "mean", "Norm": "l2norm"}


def tensor(random_: random.Random, md5: bool) -> dict:
    shape = [random_.randint(1, 5) for _ in range(random_.randint(0, 3))]
    scale = random_.choice([0.0, 1e-6, 1.0, 1.0, 300.0])
    low, high = sorted((random_.gauss(0, scale), random_.gauss(0, scale)))
    dtype = random_.choice([*FLOATS, "torch.float32", "torch.int64"])
    values = {"Max": high, "Min": low, "Mean": (low + high) / 2, "Norm": math.hypot(low, high)}
    if dtype == "torch.int64":
        values = {key: int(value) for key, value in values.items()}
    if random_.random() < 0.03:
        values[random_.choice(list(values))] = random_.choice([math.nan, math.inf, -math.inf])
    leaf = {"type": "torch.Tensor", "dtype": dtype, "shape": shape, **values, "requires_grad": random_.random() < 0.5}
    return {**leaf, "md5": f"{random_.getrandbits(32):08x}"} if md5 else leaf


def item(random_: random.Random, md5: bool) -> dict | None:
    kind = random_.random()
    if kind < 0.8:
        return tensor(random_, md5)
    if kind < 0.85:
        return None
    value = random_.choice([1, -3, 0.5, True, "mean"])
    return {"type": type(value).__name__, "value": value}


def entries(random_: random.Random, md5: bool) -> dict:
    data: dict = {}
    counts: Counter = Counter()
    for _ in range(80):
        api = random_.choice(APIS)
        name = f"{api}.{counts[api]}"
        counts[api] += 1
        inputs = [item(random_, md5) for _ in range(random_.randint(1, 3))]
        kwargs = {"dim": {"type": "int", "value": 1}} if random_.random() < 0.2 else {}
        outputs = [tensor(random_, md5) for _ in range(random_.randint(1, 2))]
        data[f"{name}.forward"] = {"input_args": inputs, "input_kwargs": kwargs, "output": outputs}
        if random_.random() < 0.4:
            data[f"{name}.backward"] = {"input": [tensor(random_, md5)], "output": [item(random_, md5)]}
    return data


def leaves(entry: dict) -> list[tuple[list, int]]:
    return [(values, index) for key in ("input_args", "output", "input") for values in [entry.get(key, [])] for index in range(len(values))]


def disturbed(random_: random.Random, data: dict) -> dict:
    """What the other device gave: most of it alike, some of it not, some calls missing."""
    changed = json.loads(json.dumps(data))
    for name in list(changed):
        if random_.random() < 0.03:
            del changed[name]
            continue
        for values, index in leaves(changed[name]):
            leaf = values[index]
            kind = random_.random()
            if leaf is None or leaf["type"] != "torch.Tensor" or kind < 0.5:
                if leaf is None and kind > 0.9:
                    values[index] = {"type": "int", "value": 2}
                continue
            if kind < 0.52:
                leaf["dtype"] = random_.choice(FLOATS)
            elif kind < 0.53:
                leaf["shape"] = [*leaf["shape"], 2]
            elif kind < 0.54:
                values[index] = None
            elif kind < 0.56:
                leaf[random_.choice(list(STATISTICS))] = random_.choice([math.nan, math.inf, -math.inf])
            else:
                factor = 1 + random_.choice([1e-9, 1e-4, 1e-2, 0.1, 0.3, 0.6, 2.0]) * random_.choice([-1, 1])
                for key in STATISTICS:
                    leaf[key] = int(leaf[key] * factor) if leaf["dtype"] == "torch.int64" and math.isfinite(leaf[key]) else leaf[key] * factor
                if "md5" in leaf:
                    leaf["md5"] = f"{zlib.crc32(leaf['md5'].encode()):08x}"
    return changed


def with_files(random_: random.Random, data: dict, golden: dict, folders: list[pathlib.Path]) -> None:
    """Gives the tensors of both dumps files, with the statistics of what is in them."""
    import torch

    torch.manual_seed(random_.getrandbits(31))
    for side, folder in zip((data, golden), folders):
        (folder / "dump_tensor_data").mkdir(parents=True)
    for name, entry in golden.items():
        for key in ("input_args", "output", "input"):
            for index, leaf in enumerate(entry.get(key, [])):
                other = data[name][key][index]
                made = None
                for side, folder in ((other, folders[0]), (leaf, folders[1])):
                    if side is None or side["type"] != "torch.Tensor":
                        continue
                    dtype = getattr(torch, side["dtype"].removeprefix("torch."))
                    if made is None or list(made.shape) != side["shape"]:
                        made = torch.randn(side["shape"]) * random_.choice([0.0, 1e-6, 1.0, 1.0, 300.0])
                    value = made if side is other else made * (1 + random_.choice([0.0, 1e-7, 1e-4, 0.01, 0.5]) * torch.randn(made.shape))
                    value = value.to(dtype)
                    if value.is_floating_point() and value.numel() and random_.random() < 0.02:
                        value.view(-1)[0] = random_.choice([math.nan, math.inf])
                    put(side, value, folder, f"{name}.{'input' if key != 'output' else 'output'}.{index}.pt")
    for name, entry in data.items():
        for key in ("input_args", "output", "input"):
            for index, leaf in enumerate(entry.get(key, [])):
                if leaf is not None and leaf["type"] == "torch.Tensor" and "data_name" not in leaf:
                    value = torch.randn(leaf["shape"]).to(getattr(torch, leaf["dtype"].removeprefix("torch.")))
                    put(leaf, value, folders[0], f"{name}.{'input' if key != 'output' else 'output'}.{index}.pt")


def put(leaf: dict, value: object, folder: pathlib.Path, name: str) -> None:
    import torch

    torch.save(value, folder / "dump_tensor_data" / name)
    plain = value.double()
    leaf.update(data_name=name, Max=plain.max().item(), Min=plain.min().item(), Mean=plain.mean().item(), Norm=plain.norm().item())
    if leaf["dtype"] == "torch.int64":
        leaf.update({key: int(leaf[key]) for key in STATISTICS})


# The rules of docs/differences.md, "Comparing two dumps". Each says whether it explains that a cell differs; `title` is its column.


def is_not_finite(text: str) -> bool:
    number = as_number(text)
    return number is not None and not math.isfinite(number)


def statistics_of(row: Row, side: str) -> list[str]:
    return [row.get(f"{side} {name}", "") for name in STATISTICS.values()]


def null_item(ours: Row, theirs: Row, title: str) -> bool:
    return "None" in (ours["NPU Dtype"], ours["Bench Dtype"]) and (title.endswith(("Dtype", "Shape")) or "one side" in ours["Err_message"]
                                                                  or ours["NPU Dtype"] != ours["Bench Dtype"])


def unmatched(ours: Row, theirs: Row, title: str) -> bool:
    return ours["Result"] == "unmatched"


def nothing_compared(ours: Row, theirs: Row, title: str) -> bool:
    return ours["Result"] == "skipped" or ours.get("NPU Shape") != ours.get("Bench Shape")


def not_finite(ours: Row, theirs: Row, title: str) -> bool:
    return any(map(is_not_finite, statistics_of(ours, "NPU") + statistics_of(ours, "Bench")))


def other_dtype(ours: Row, theirs: Row, title: str) -> bool:
    return ours["NPU Dtype"] != ours["Bench Dtype"]


def zeros(ours: Row, theirs: Row, title: str) -> bool:
    pairs = zip(statistics_of(ours, "NPU"), statistics_of(ours, "Bench"))
    return any(as_number(one) == 0 == as_number(two) for one, two in pairs)


def backward_by_number(ours: Row, theirs: Row, title: str) -> bool:
    """The public tool pairs backward calls by their order: one missing call shifts all others."""
    return ".backward." in ours["NPU Name"] and ours["Bench Name"] == ours["NPU Name"] != theirs["Bench Name"]


def golden_only(ours: Row, theirs: Row, title: str) -> bool:
    return ours["NPU Name"] == "N/A"


RULES: list[Callable[[Row, Row, str], bool]] = [
    golden_only, backward_by_number, null_item, unmatched, other_dtype, nothing_compared, not_finite, zeros]


def compare_dumps(program: pathlib.Path, public: pathlib.Path, random_: random.Random, scratch: pathlib.Path, kind: str, found: Findings) -> None:
    data = entries(random_, kind == "md5")
    golden = disturbed(random_, data)
    folders = [scratch / "target", scratch / "golden"]
    for folder in folders:
        folder.mkdir()
    if kind == "tensor":
        with_files(random_, data, golden, folders)
    for folder, side in zip(folders, (data, golden)):
        head = {"task": "tensor" if kind == "tensor" else "statistics", "level": "L1", "framework": "pytorch"}
        head["dump_data_dir"] = str(folder / "dump_tensor_data") if kind == "tensor" else None
        (folder / "dump.json").write_text(json.dumps({**head, "data": side}))
    ours, theirs = scratch / "ours", scratch / "theirs"
    pair = ["compare", "-tp", folders[0] / "dump.json", "-gp", folders[1] / "dump.json"]
    done, other = run(program, *pair, "-o", ours), run(public, *pair, "-o", theirs)
    one, two = tables(ours), tables(theirs)
    if len(one) != 1 or len(two) != 1:
        raise SystemExit(f"no tables: {sorted(one)}, {sorted(two)}\n{done.stderr[-500:]}\n{(other.stderr + other.stdout)[-2000:]}")
    (mine,), (public_rows,) = one.values(), two.values()
    rows = {row["NPU Name"]: row for row in mine if row["NPU Name"] != "N/A"}
    for row in public_rows:
        name = row["NPU Name"]
        if name not in rows:
            found.cell(f"{kind} {name}", "no row", "a row", None)
            continue
        for title, cell in row.items():
            if title == "Err_message" or title not in rows[name]:
                found.explained["own words"] += title == "Err_message"
                continue
            found.cells += 1
            if not alike(rows[name][title], cell, 1e-6):
                rule = next((rule.__name__ for rule in RULES if rule(rows[name], row, title)), None)
                found.cell(f"{kind} {name} {title}", rows[name][title], cell, rule)
    found.explained["golden_only"] += sum(row["NPU Name"] == "N/A" for row in mine)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("public", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="differing cells to print")
    arguments = parser.parse_args()
    program, public = arguments.program.resolve(), arguments.public.absolute()
    unexplained = 0
    for kind in ("checks", "statistics", "md5", "tensor"):
        found = Findings(arguments.show)
        for number in range(arguments.rounds):
            random_ = random.Random(f"{arguments.seed} {kind} {number}")
            with tempfile.TemporaryDirectory() as name:
                scratch = pathlib.Path(name).resolve()
                if kind == "checks":
                    compare_checks(program, public, random_, scratch, found)
                else:
                    compare_dumps(program, public, random_, scratch, kind, found)
        told = ", ".join(f"{rule} {count}" for rule, count in found.explained.most_common() if rule != "own words")
        print(f"{kind}: {found.cells} cells, {found.unexplained} differ without a rule" + (f"; explained: {told}" if told else ""))
        unexplained += found.unexplained
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
