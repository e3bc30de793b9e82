#!/usr/bin/env python3
"""Which API names an engine runs, and whether it computes what Python computes.

usage: api_coverage.py ENGINE SUPPORTED_APIS_YAML [--group NAME ...] [--all]

Every name of the groups functional, tensor, torch, _VF and aten gets a few calls that Python can make; their results are
recorded (seed 0, one thread) and the engine replays them in the same precision. Prints the names that do not run or do
not agree, with the reason (--all: every name), and a line per group. Exit status 0: at least 98 % of the names that exist
in this Python's PyTorch, and can be called at all, agree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable

warnings.filterwarnings("ignore")

import torch
import yaml

from api_samples import Sample, by_hand, by_hand_more, database, dispatched, fresh

GROUPS = {"functional": "Functional", "tensor": "Tensor", "torch": "Torch", "_VF": "VF", "aten": "Aten"}
ROOTS = {"functional": torch.nn.functional, "tensor": torch.Tensor, "torch": torch, "_VF": torch._VF, "aten": torch.ops.aten}
WANTED_CALLS = 3
WANTED_SHARE = 0.98


class Unrecordable(Exception):
    pass


class Recorder:
    """A real-data dump of calls."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.data: dict[str, Any] = {}
        os.makedirs(os.path.join(folder, "dump_tensor_data"))

    def tensor(self, tensor: torch.Tensor, place: str) -> dict:
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise Unrecordable("layout")
        name = place + ".pt"
        torch.save(tensor.detach().clone(), os.path.join(self.folder, "dump_tensor_data", name))
        return {"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape), "Max": None, "Min": None,
                "Mean": None, "Norm": None, "requires_grad": tensor.requires_grad, "data_name": name}

    def value(self, value: Any, place: str) -> Any:
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            return self.tensor(value, place)
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
            made, why = 0, "no sample"
            for sample in candidates(name, sources[group]):
                if made == WANTED_CALLS:
                    break
                try:
                    recorder.call(f"{GROUPS[group]}.{name}.{made}", function, sample)
                    made += 1
                except Exception as error:  # Python itself refuses this sample
                    why = f"Python: {error}".split("\n")[0][:100]
            if made == 0:
                reasons[group][name] = why
    return reasons


def replay(engine: str, dump: str) -> dict[str, list[dict]]:
    run = subprocess.run([engine, "--replay", dump, "--equal-precision", "--per-call", "--seed", "0"],
                         capture_output=True, text=True)
    calls: dict[str, list[dict]] = {}
    for line in run.stdout.splitlines():
        call = json.loads(line)
        calls.setdefault(call["call"].rsplit(".", 1)[0], []).append(call)
    if run.returncode not in (0, 1):
        print(f"the engine ended with status {run.returncode}: {run.stderr.strip()[-300:]}")
    return calls


def agrees(call: dict) -> bool:
    # What an uninitialised tensor holds is nobody's business; that it could be made counts.
    uninitialised = "empty" in call["call"] and call["forward_text"].endswith("ulp")
    return call["forward"] in ("equal", "2 ulp") or uninitialised


def report(group: str, names: list[str], reasons: dict[str, str], calls: dict[str, list[dict]], show_all: bool) -> float:
    good = callable_names = 0
    for name in names:
        results = calls.get(f"{GROUPS[group]}.{name}", [])
        bad = [c for c in results if not agrees(c)]
        if results:
            callable_names += 1
            good += not bad
        text = "runs, equal" if results and not bad else bad[0]["forward_text"] if bad else reasons.get(name, "lost")
        if show_all or bad or not results:
            print(f"{group:10} {name:45} {text.splitlines()[0] if text else ''}")
    print(f"{group}: {len(names)} names, {callable_names} with calls that Python makes, {good} run and agree")
    return good / callable_names if callable_names else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("supported")
    parser.add_argument("--group", action="append", choices=list(GROUPS))
    parser.add_argument("--all", action="store_true", help="print every name")
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
    shares = [report(group, names, reasons[group], calls, options.all) for group, names in groups.items()]
    return 0 if min(shares) >= WANTED_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
