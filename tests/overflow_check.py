#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_overflow_check where a CPU lacks a kernel, and as the document writes it. What recordings with known overflows give, and what is
refused, is in tests/cases/overflow_*.

usage: overflow_check.py MSPROBE
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parent.parent
failures = []


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}:\n  expected {wanted}\n  found  {found}")


class Older:
    """forward_info and backward_info with real data, recorded at a path that is not there any more."""

    def __init__(self, directory, pid=0):
        self.directory, self.pid, self.forward, self.backward = directory, pid, {}, {}

    def tensor(self, direction, key, number, values, grad):
        name = f"{direction}_real_data/rank0/{key}.{number}.npy"
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.array(values, dtype=np.float16))
        return {"type": "torch.Tensor", "datapath": f"/home/elsewhere/dump/{name}", "requires_grad": grad}

    def add(self, api, call, inputs, gradient=None, **kwargs):
        key = f"Torch_{api}_{call}_forward"
        args = [self.tensor("forward", key, number, values, gradient is not None) for number, values in enumerate(inputs)]
        self.forward[key] = {"args": args, "kwargs": kwargs}
        if gradient is not None:
            key = f"Torch_{api}_{call}_backward"
            self.backward[key] = [self.tensor("backward", key, 0, gradient, False)]
        return self

    def write(self, closed=True):
        for direction in ("forward", "backward"):
            text = json.dumps(getattr(self, direction))
            (self.directory / f"{direction}_info_{self.pid}.json").write_text(text if closed else text[:-1])
        return self


def known_overflows(directory, **how):
    """mul.0 overflows; mul.1 overflows backward; add.0 does not; all in float16, whose largest number is 65504."""
    return (Older(directory).add("mul", 0, [[300, 2], [300, 3]])
            .add("mul", 1, [[1, 2], [100, 3]], gradient=[1000, 1])
            .add("add", 0, [[1, 2], [3, 4]]).write(**how))


class Runs:
    def __init__(self, program, scratch):
        self.program, self.scratch, self.count = program, scratch, 0

    def __call__(self, what, *options, status, verdicts=None, says=()):
        self.count += 1
        out = self.scratch / f"out{self.count}"
        done = subprocess.run([self.program, "run_overflow_check", *map(str, options), "-o", str(out)], capture_output=True, text=True)
        expect(f"{what}: status ({done.stderr})", done.returncode, status)
        for text in says:
            expect(f"{what}: says {text!r} in\n{done.stderr}", text in done.stderr, True)
        if verdicts is not None:
            rows = {}
            if (out / "overflow_check_result.csv").exists():
                with open(out / "overflow_check_result.csv", encoding="utf-8-sig", newline="") as file:
                    rows = {row["API Name"]: row["Verdict"] for row in csv.DictReader(file)}
            expect(f"{what}: verdicts", rows, verdicts)
        return done


def missing_half_kernel(run, scratch):
    """No CPU kernel knows float16 there: float32, rounded. 300 * 300 overflows, 2 * 2 does not."""
    made = scratch / "half"
    made.mkdir()
    older = Older(made)
    older.add("linalg_det", 0, [[[300, 0], [0, 300]]]).add("linalg_det", 1, [[[2, 0], [0, 2]]]).write()
    text = (made / "forward_info_0.json").read_text().replace("Torch_linalg_det", "Torch_linalg.det")
    (made / "forward_info_0.json").write_text(text.replace("datapath\": \"/home/elsewhere/dump/forward_real_data/rank0/Torch_linalg.det",
                                                           "datapath\": \"/home/elsewhere/dump/forward_real_data/rank0/Torch_linalg_det"))
    run("no half kernel", "-forward", made / "forward_info_0.json", "-d", "recorded", status=1,
        verdicts={"Torch_linalg.det_0_forward": "normal", "Torch_linalg.det_1_forward": "abnormal"})


def as_documented(program, scratch):
    """The example of the document, in the directories it names."""
    tools = scratch / "att" / "debug" / "accuracy_tools"
    shutil.copytree(SOURCE / "python", tools, ignore=shutil.ignore_patterns("__pycache__"))
    place = tools / "api_accuracy_checker" / "run_ut"
    known_overflows(place)
    done = subprocess.run([sys.executable, "run_overflow_check.py", "-forward", "./forward_info_0.json"], cwd=place, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(tools), "MSPROBE_PROGRAM": program})
    expect(f"as documented ({done.stderr})", done.returncode, 1)
    expect("as documented says", "The Torch_mul_0_forward overflow is a normal overflow." in done.stderr, True)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="overflow_") as directory:
        scratch = pathlib.Path(os.path.realpath(directory))
        run = Runs(program, scratch)
        missing_half_kernel(run, scratch)
        as_documented(program, scratch)
    print("\n".join(failures) or "every overflow is told as it is")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
