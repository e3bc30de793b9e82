# SPDX-License-Identifier: Apache-2.0
"""Trains a small model on the simulated device, with and without a fault in one operator, and asks where the runs diverge.

usage: first_divergence_check.py PROGRAM SIM_LIBRARY        (PYTHONPATH has the collector)
The faulty run has one more call at its beginning, so every number of that API is one off. Then one call at a time is spoiled, found by the
shape of its result, and only the tensor files are there to tell which.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types

FAULT = "faults:\n  - fault: dropped_tail\n    operators: [gelu]\n"
# What the simulated device does to the only call with a result of that shape, and the call that must be named for it.
ONE_CALL = [("times_two", "addmm", [8, 40], "Functional.linear.1.forward"), ("dropped_tail", "gelu", [8, 24], "Functional.gelu.1.forward"),
            ("times_two", "gelu_backward", [8, 40], "Functional.gelu.0.backward"), ("one_ulp", "gelu", [8, 24], None)]
MODES = {"tensor": {"task": "tensor"}, "statistics": {}, "md5": {"statistics": {"summary_mode": "md5"}}}
# Checksums tell two runs apart by one bit, so the trainings must not differ by more than their faults. MKL promises equal bits from run to
# run only in this mode, and with an unchanging number of threads.
REPRODUCIBLE = {"MKL_CBWR": "COMPATIBLE", "OMP_NUM_THREADS": "1"}


def train(library, out, extra, modes):
    import torch
    import torch.nn.functional as F
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
    from collected import debugger, step_directory
    torch.ops.load_library(library)
    torch._register_device_module("sim", types.ModuleType("torch.sim"))
    for name in modes:
        config = MODES[name]
        torch.manual_seed(3)
        nn = torch.nn
        model = nn.Sequential(
            nn.Linear(16, 32), nn.LayerNorm(32), nn.Linear(32, 40), nn.GELU(), nn.Linear(40, 24), nn.GELU(), nn.Linear(24, 4)
        ).to("sim")
        x, y = torch.randn(8, 16).to("sim"), torch.randn(8, 4).to("sim")
        with debugger(config) as made:
            made.start()
            if extra:
                F.gelu(x)
            (model(x) - y).pow(2).mean().backward()
            made.stop()
            made.step()
            shutil.copytree(step_directory(made), os.path.join(out, name))


def compare(program, target, golden, scratch):
    answer = os.path.join(scratch, "answer.json")
    run = subprocess.run([program, "compare", "-tp", os.path.join(target, "dump.json"), "-gp", os.path.join(golden, "dump.json"),
                          "-o", os.path.join(scratch, "out"), "--json", answer], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), (target, run)
    with open(answer, encoding="utf-8") as file:
        return json.load(file)["first_divergence"], run.stdout


def forget_statistics(path):
    """The files alone decide."""
    def without(value):
        if isinstance(value, list):
            return [without(element) for element in value]
        if isinstance(value, dict):
            return {key: without(element) for key, element in value.items() if key not in ("Max", "Min", "Mean", "Norm")}
        return value
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**document, "data": without(document["data"])}, file)


def main(program, library):
    try:
        import torch  # noqa: F401
    except ImportError:
        print("no PyTorch for this Python")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="divergence_") as scratch:
        fault = os.path.join(scratch, "sim.yaml")
        with open(fault, "w", encoding="utf-8") as file:
            file.write(FAULT)
        made = {}

        def record(name, config, extra, modes):
            made[name] = os.path.join(scratch, name)
            run = subprocess.run(
                [sys.executable, "-W", "ignore", "-X", "faulthandler", os.path.abspath(__file__), "--train", library, made[name], extra,
                 *modes],
                check=False,
                env={**os.environ, **REPRODUCIBLE, "MSPROBE_SIM_CONFIG": config},
            )
            assert run.returncode == 0, (name, run.returncode)

        for name, config, extra in (("golden", "", ""), ("same", "", ""), ("faulty", fault, "extra")):
            record(name, config, extra, MODES)
        for mode in MODES:
            paths = {name: os.path.join(path, mode) for name, path in made.items()}
            found, text = compare(program, paths["same"], paths["golden"], scratch)
            assert found is None and "The runs agree" in text, (mode, found, text)
            found, text = compare(program, paths["faulty"], paths["golden"], scratch)
            assert found and found["cause"] == "introduces", (mode, found, text)
            assert (found["target"], found["golden"]) == ("Functional.gelu.1.forward", "Functional.gelu.0.forward"), (mode, found)
            assert "--only Functional.gelu.1" in found["rerun"] and found["source"], (mode, found)
            assert "The runs diverge at Functional.gelu.1.forward" in text, text
        for what, operator, shape, named in ONE_CALL:
            with open(fault, "w", encoding="utf-8") as file:
                json.dump({"faults": [{"fault": what, "operators": [operator], "shape": shape}]}, file)
            spoiled = f"{what}_{operator}"
            record(spoiled, fault, "", ["tensor"])
            for path in (made[spoiled], made["golden"]):
                forget_statistics(os.path.join(path, "tensor", "dump.json"))
            found, text = compare(program, os.path.join(made[spoiled], "tensor"), os.path.join(made["golden"], "tensor"), scratch)
            assert (found or {}).get("target") == named, (spoiled, found, text)
            assert named is None or found["cause"] == "introduces", (spoiled, found)
        print(f"{len(ONE_CALL)} spoiled calls, {len(MODES)} modes: the call with the fault is named, runs without one agree")


if sys.argv[1] == "--train":
    train(sys.argv[2], sys.argv[3], sys.argv[4] != "", sys.argv[5:])
else:
    main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
