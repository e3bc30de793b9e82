#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msprobe predict: the card of a simulated device foretells its products, and says so where it cannot.

    python3 tests/predict_check.py MSPROBE
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

MSPROBE = sys.argv[1]


def tensor(*shape: int, dtype: str = "torch.float32") -> dict:
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": 2.5, "Min": -2.5, "Mean": 0.0, "Norm": 1.0,
            "requires_grad": False}


def entry(*inputs: dict) -> dict:
    return {"input_args": list(inputs), "input_kwargs": {}, "output": [inputs[0]]}


def run(*words: str, status: int = 0) -> str:
    done = subprocess.run([MSPROBE, *words], capture_output=True, text=True)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    half = "torch.bfloat16"
    calls = {"Torch.matmul.0": entry(tensor(33, 300), tensor(300, 40)),
             "Torch.bmm.0": entry(tensor(3, 16, 70, dtype=half), tensor(3, 70, 9, dtype=half)),
             "Functional.linear.0": entry(tensor(4, 5, 96), tensor(31, 96), tensor(31)),
             "Torch.exp.0": entry(tensor(5, 5))}
    dump = place / "dump.json"
    dump.write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                                "data": {f"{name}.forward": call for name, call in calls.items()}}))
    card = place / "card.json"
    sim = ["-d", "sim", "--sim-profile", "unit:block=8,bits=24,cut=down,sum=nearest,inputs=tf32,order=strided"]
    said = run("probe_device", *sim, "--only", "products", "-o", str(card))
    assert "strided" in said and "tf32" in said, said
    equal = total = 0
    for name in ("Torch.matmul.0", "Torch.bmm.0", "Functional.linear.0"):
        said = run("predict", str(dump), "--card", str(card), "--only", name, *sim, "-o", str(place / "out"))
        found = re.search(r"(\d+) of (\d+) elements equal the result of the device", said)
        assert found, said
        equal += int(found[1])
        total += int(found[2])
        assert (place / "out" / f"{name}.forward.output.predicted.0.npy").exists()
    assert equal >= 0.999 * total, f"{equal} of {total}"
    said = run("predict", str(dump), "--card", str(card), "--only", "Torch.exp.0", "-o", str(place / "out"), status=2)
    assert "exp is not a matrix product" in said, said
    said = run("predict", str(dump), "--card", str(card), "--only", "Torch.sin.0", "-o", str(place / "out"), status=2)
    assert "no call named Torch.sin.0" in said, said
    # Another device: some claims differ.
    other = place / "other.json"
    run("probe_device", "-d", "sim", "--sim-profile", "unit8-24-cut", "--only", "products", "-o", str(other))
    said = run("probe_device", "--diff", str(card), str(other), status=1)
    assert "strided" in said and "in_order" in said, said
    run("probe_device", "--diff", str(card), str(card))
    print(f"{equal} of {total} elements predicted")
