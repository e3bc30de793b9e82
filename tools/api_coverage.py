#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which API names an engine runs, and whether it computes what Python computes.

usage: api_coverage.py ENGINE SUPPORTED_APIS_YAML [--group NAME ...] [--all] [--markdown FILE]

Every name of the groups functional, tensor, torch, _VF and aten gets a few calls that Python can make; their results are
recorded (seed 0, one thread) and the engine replays them in the same precision. Prints the names that do not run or do
not agree, with the reason (--all: every name), and a table of the groups. Exit status 0: at least 98 % of the names that
exist in this Python's PyTorch run and agree.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable

warnings.filterwarnings("ignore")

import numpy as np
import torch
import yaml

from api_samples import Sample, by_hand, by_hand_more, database, dispatched, fresh

GROUPS = {"functional": "Functional", "tensor": "Tensor", "torch": "Torch", "_VF": "VF", "aten": "Aten"}
ROOTS = {"functional": torch.nn.functional, "tensor": torch.Tensor, "torch": torch, "_VF": torch._VF, "aten": torch.ops.aten}
WANTED_CALLS = 3
WANTED_SHARE = 0.98
RUNS, FAILS, ABSENT, NO_KERNEL, NOT_RECORDABLE = "runs", "fails", "absent", "no CPU kernel", "not recordable"
# Why Python makes no call: what its message says, and what that means here.
PYTHON_REFUSES = (
    ("not in this PyTorch", ABSENT, "not in this PyTorch"),
    ("is now removed|unexpected keyword argument '(driver|hermitian)'", ABSENT, "removed: the function only raises an error"),
    ("from the 'CPU' backend", NO_KERNEL, "its operator has no kernel for the CPU"),
    ("Cannot access accelerator", NO_KERNEL, "needs an accelerator"),
    ("only be called on sparse", NOT_RECORDABLE, "takes sparse tensors, which a dump does not hold"),
    ("^Python: function$", NOT_RECORDABLE, "takes a Python function"),
    ("^Python: layout$", NOT_RECORDABLE, "takes a sparse layout, which a dump does not hold"),
    ("^Python: nested$", NOT_RECORDABLE, "gives a nested tensor, which a dump does not hold"),
    ("^no sample: quantized", NOT_RECORDABLE, "takes objects of PyTorch's own classes"),
)


class Unrecordable(Exception):
    pass


class Recorder:
    """A real-data dump of calls."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.data: dict[str, Any] = {}
        os.makedirs(os.path.join(folder, "dump_tensor_data"))

    def tensor(self, tensor: torch.Tensor, place: str) -> dict:
        if tensor.is_quantized or tensor.is_nested:
            raise Unrecordable("nested" if tensor.is_nested else "quantized")
        if tensor.layout != torch.strided:  # results only: what the engine compares is dense, too
            tensor = tensor.to_dense()
        name = place + ".pt"
        torch.save(tensor.detach().clone(), os.path.join(self.folder, "dump_tensor_data", name))
        return {"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape), "Max": None, "Min": None,
                "Mean": None, "Norm": None, "requires_grad": tensor.requires_grad, "data_name": name}

    def value(self, value: Any, place: str) -> Any:
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            return self.tensor(value, place)
        if isinstance(value, np.ndarray):
            return self.tensor(torch.from_numpy(value), place)
        if isinstance(value, torch.Size):
            return {"type": "torch.Size", "value": list(value)}
        if isinstance(value, (list, tuple)):
            return [self.value(item, f"{place}.{i}") for i, item in enumerate(value)]
        if isinstance(value, torch.memory_format):
            return {"type": "torch.memory_format", "format": str(value)}
        if isinstance(value, (torch.dtype, torch.device)):
            return {"type": f"torch.{type(value).__name__}", "value": str(value)}
        if isinstance(value, slice):
            return {"type": "slice", "value": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"type": "ellipsis", "value": "..."}
        if isinstance(value, complex):
            return {"type": "complex", "value": [value.real, value.imag]}
        if isinstance(value, (bool, int, float, str)):
            return {"type": type(value).__name__, "value": value}
        raise Unrecordable(type(value).__name__)

    def call(self, full_name: str, function: Callable, sample: Sample) -> None:
        args, kwargs = sample
        place = f"{full_name}.forward"
        if kwargs.get("layout", torch.strided) != torch.strided:
            raise Unrecordable("layout")
        entry = {"input_args": [self.value(a, f"{place}.input.{i}") for i, a in enumerate(args)],
                 "input_kwargs": {k: self.value(v, f"{place}.kwargs.{k}") for k, v in kwargs.items() if k != "layout"}}
        args, kwargs = fresh(args), fresh(kwargs)
        torch.manual_seed(0)
        out = function(*args, **kwargs)
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        entry["output"] = [self.value(o, f"{place}.output.{i}") for i, o in enumerate(outs)]
        self.data[place] = entry

    def save(self) -> str:
        path = os.path.join(self.folder, "dump.json")
        with open(path, "w") as file:
            json.dump({"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data",
                       "data": self.data}, file)
        return path


def find(group: str, name: str) -> Callable | None:
    function: Any = ROOTS[group]
    for part in name.split("."):
        function = getattr(function, part, None)
    return function if callable(function) else None


def candidates(name: str, sources: list[dict[str, list[Sample]]]) -> list[Sample]:
    plain = name.replace(".", "_").removesuffix("_") if not name.startswith("__") else name
    samples: list[Sample] = []
    for source in sources:
        for key in dict.fromkeys((name, name.replace(".", "_"), plain)):
            samples += source.get(key, [])
    return samples


def record_all(recorder: Recorder, groups: dict[str, list[str]], sources: dict[str, list]) -> dict[str, dict[str, str]]:
    """Records calls for every name; returns why a name has none."""
    reasons: dict[str, dict[str, str]] = {}
    for group, names in groups.items():
        reasons[group] = {}
        for name in names:
            function = find(group, name)
            if function is None:
                reasons[group][name] = "not in this PyTorch"
                continue
            made, why = 0, f"no sample: {name}"
            for sample in candidates(name, sources[group]):
                if made == WANTED_CALLS:
                    break
                try:
                    recorder.call(f"{GROUPS[group]}.{name}.{made}", function, sample)
                    made += 1
                except Exception as error:  # Python itself refuses this sample
                    why = f"Python: {error}".split("\n")[0][:300]
            if made == 0:
                reasons[group][name] = why
    return reasons


def replay(engine: str, dump: str) -> dict[str, list[dict]]:
    run = subprocess.run([engine, "--replay", dump, "--equal-precision", "--per-call"], capture_output=True, text=True)
    calls: dict[str, list[dict]] = {}
    for line in run.stdout.splitlines():
        call = json.loads(line)
        calls.setdefault(call["call"].rsplit(".", 1)[0], []).append(call)
    if run.returncode not in (0, 1):
        print(f"the engine ended with status {run.returncode}: {run.stderr.strip()[-300:]}")
    return calls


def outcome_of(results: list[dict], reason: str) -> tuple[str, str]:
    """One of RUNS, FAILS, ABSENT, NO_KERNEL, NOT_RECORDABLE, and a text."""
    for call in results:
        # What an uninitialised tensor holds is nobody's business; the engine says which APIs give one.
        if call["forward"] not in ("equal", "2 ulp", "not comparable"):
            return FAILS, call["forward_text"]
    if results:
        return RUNS, "executed, equal to Python"
    for pattern, outcome, text in PYTHON_REFUSES:
        if re.search(pattern, reason):
            return outcome, text
    return FAILS, reason


class Group:
    """What became of the names of one group."""

    def __init__(self, group: str, names: list[str], reasons: dict[str, str], calls: dict[str, list[dict]]) -> None:
        self.group = group
        self.names = {name: outcome_of(calls.get(f"{GROUPS[group]}.{name}", []), reasons.get(name, "lost")) for name in names}

    def count(self, *outcomes: str) -> int:
        return sum(outcome in outcomes for outcome, _ in self.names.values())

    @property
    def exist(self) -> int:
        return len(self.names) - self.count(ABSENT)

    @property
    def figures(self) -> list[int]:
        return [len(self.names), self.exist, self.count(NO_KERNEL), self.count(NOT_RECORDABLE), self.count(FAILS), self.count(RUNS)]

    def lines(self, every: bool) -> list[str]:
        shown = ((name, outcome, text) for name, (outcome, text) in self.names.items() if every or outcome != RUNS)
        return [f"{self.group:10} {name:48} {outcome}: {text.splitlines()[0]}" for name, outcome, text in shown]


def shares(figures: list[int]) -> list[str]:
    """Of the names that exist, and of those among them that can be recorded and run on a CPU at all."""
    _, exist, _, _, fail, runs = figures
    return [f"{100 * runs / max(of, 1):.2f} %" for of in (exist, runs + fail)]


def table(groups: list[Group]) -> list[list[str]]:
    """Rows of text: a title, a row per group, the sum."""
    rows = [["group", "names", "exist", "no CPU kernel", "not recordable", "fail", "run and equal",
             "of those that exist", "of those that can"]]
    total = [0] * 6
    for group in groups:
        total = [a + b for a, b in zip(total, group.figures)]
        rows.append([group.group, *map(str, group.figures), *shares(group.figures)])
    return [*rows, ["all", *map(str, total), *shares(total)]]


def markdown(groups: list[Group]) -> str:
    rows = table(groups)
    text = [
        f"""# Coverage of the API names

Made by `tools/api_coverage.py ENGINE SUPPORTED_APIS_YAML --markdown docs/api_coverage.md` with PyTorch {torch.__version__}; do
not edit. Every name of the five executed groups gets up to {WANTED_CALLS} calls that Python can make. Python's results are
recorded (seed 0, one thread), and the engine replays the calls in the same precision: *run and equal* means bit for
bit, or within 2 ulp. *exist* leaves out names that this PyTorch does not have, or whose function only says that it was
removed; *can* leaves out those without a kernel for the CPU and those whose arguments or results no dump holds, too.
"""
    ]
    text += ["| " + " | ".join(row) + " |" for row in rows]
    text.insert(2, "|---" * len(rows[0]) + "|")
    text.append("\n## Every name that does not run\n\n| group | name | outcome | why |\n|---|---|---|---|")
    for group in groups:
        for name, (outcome, why) in group.names.items():
            if outcome != RUNS:
                first = why.splitlines()[0].replace("|", "\\|")
                text.append(f"| {group.group} | `{name}` | {outcome} | {first} |")
    return "\n".join(text) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("supported")
    parser.add_argument("--group", action="append", choices=list(GROUPS))
    parser.add_argument("--all", action="store_true", help="print every name")
    parser.add_argument("--markdown", help="write the figures and the exceptions to this file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with open(options.supported) as file:
        lists = yaml.safe_load(file)
    groups = {group: lists[group] for group in options.group or GROUPS}
    hand, more, data = by_hand(), by_hand_more(), database()
    sources = {group: [hand, data, more] for group in groups}
    if "aten" in groups:
        sources["aten"] = [hand, dispatched(), more, data]
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(folder)
        reasons = record_all(recorder, groups, sources)
        calls = replay(options.engine, recorder.save())
    found = [Group(group, names, reasons[group], calls) for group, names in groups.items()]
    for group in found:
        print(*group.lines(options.all), sep="\n")
    for row in table(found):
        print("".join(f"{cell:16}" for cell in row))
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(markdown(found))
    runs, exist = sum(group.count(RUNS) for group in found), sum(group.exist for group in found)
    return 0 if runs >= WANTED_SHARE * exist else 1


if __name__ == "__main__":
    sys.exit(main())
