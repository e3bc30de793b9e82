#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msprobe shrink on a tile fault in a 512 x 512 product: the smallest size is found, and what was written shows the fault.

    python3 tests/shrink_check.py MSPROBE
"""

import json
import pathlib
import subprocess
import sys
import tempfile

MSPROBE = sys.argv[1]


def tensor(*shape: int, requires_grad: bool = False) -> dict:
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(shape), "Max": 2.5, "Min": -2.5, "Mean": 0.0,
            "Norm": 1.0, "requires_grad": requires_grad}


def run(*words: str, status: int) -> str:
    done = subprocess.run([MSPROBE, *words], capture_output=True, text=True)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    data = {"Torch.matmul.0.forward": {"input_args": [tensor(512, 512, requires_grad=True), tensor(512, 512)],
                                       "input_kwargs": {}, "output": [tensor(512, 512)]},
            "Torch.matmul.0.backward": {"input": [tensor(512, 512)], "output": []}}
    (place / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch",
                                                 "dump_data_dir": None, "data": data}))
    (place / "sim.yaml").write_text("faults:\n  - {fault: wrong_tile, operators: [mm], direction: forward}\n")
    sim = ["-d", "sim", "--sim-config", str(place / "sim.yaml")]
    call = ["-api_info", str(place / "dump.json"), "--only", "Torch.matmul.0"]
    out = place / "shrunk"
    said = run("shrink", *call, *sim, "-o", str(out), status=0)
    assert "-> (17, 1), (1, 17)" in said, said
    found = json.loads((out / "dump.json").read_text())["data"]["Torch.matmul.0.forward"]
    assert found["output"][0]["shape"] == [17, 17], found
    run("acc_check", "-api_info", str(out / "dump.json"), "-d", "sim", "--sim-config", str(out / "sim.yaml"), "-o", folder,
        "--fail-on", "strict", status=1)
    run("shrink", *call, "-d", "sim", "-o", str(out), status=2)  # nothing fails on the exact device
    try:
        import torch  # noqa: F401
    except ImportError:
        print("no PyTorch to run the script with")
        sys.exit(0)
    script = subprocess.run([sys.executable, str(out / "reproduce.py")], capture_output=True, text=True)
    assert script.returncode == 1 and "1 of 289 elements are wrong" in script.stdout, script.stdout + script.stderr
    print(said, script.stdout, sep="")
