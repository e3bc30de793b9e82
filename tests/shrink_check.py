#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msprobe shrink: the smallest size is found, the cause stays what it was, and the script that was written fails as the call does.

    python3 tests/shrink_check.py MSPROBE
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

MSPROBE = sys.argv[1]
os.environ["MSPROBE_PYTHON"] = sys.executable  # in which shrink tries the scripts


def tensor(*shape: int, requires_grad: bool = False, dtype: str = "torch.float32") -> dict:
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": 2.5, "Min": -2.5, "Mean": 0.0,
            "Norm": 1.0, "requires_grad": requires_grad}


def run(*words: str, status: int) -> str:
    done = subprocess.run([MSPROBE, *words], capture_output=True, text=True)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def write_dump(place: pathlib.Path, data: dict) -> None:
    (place / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                                                 "data": data}))


# PyTorch starts a thread for each device of a backward pass. On a busy machine some have not begun when the script ends, and abort an
# interpreter that shuts down: status -6 after the right output. So the script must end without a shutdown, which would come through here.
NO_SHUTDOWN = "import atexit, os, runpy, sys; atexit.register(os._exit, 99); runpy.run_path(sys.argv[1], run_name='__main__')"


def run_script(out: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", NO_SHUTDOWN, str(out / "reproduce.py")], capture_output=True, text=True)


def check_within_check(place: pathlib.Path, sim: list) -> None:
    """acc_check --shrink does the same for the worst call of each cause, beside its CSVs."""
    checked = place / "checked"
    shown = run("acc_check", str(place / "dump.json"), *sim, "-o", str(checked), "--shrink", "-q", status=1)
    scripts = list(checked.glob("accuracy_checking_scripts_*/*/reproduce.py"))
    assert [script.parent.name for script in scripts] == ["Torch.matmul.0"], scripts
    assert f"next:    python3 {scripts[0]}" in shown, shown
    passed = place / "passed"
    run("acc_check", str(place / "dump.json"), "-d", "cpu", "-o", str(passed), "--shrink", status=0)
    assert not list(passed.glob("*scripts*"))


def check_directories(place: pathlib.Path, call: list, sim: list) -> None:
    """Each call has its own; what an earlier call left in a directory goes, and no other dump is overwritten."""
    out = place / "reused"
    (out / "tensors").mkdir(parents=True)
    (out / "tensors" / "Torch.add.0.forward.input.0.pt").write_text("of another call")
    run("shrink", *call, *sim, "-o", str(out), status=0)
    assert all(file.name.startswith("Torch.matmul.0.") for file in (out / "tensors").iterdir())
    before = (place / "dump.json").read_text()
    run("shrink", *call, *sim, "-o", str(place), status=2)
    assert (place / "dump.json").read_text() == before
    done = subprocess.run([MSPROBE, "shrink", *call, *sim], capture_output=True, text=True, cwd=place)
    assert done.returncode == 0 and (place / "shrunk" / "Torch.matmul.0" / "reproduce.py").exists(), done.stdout + done.stderr


# Rule, what the smallest form is said to suffer from, what the script says. Rates go by the name of the call: one of four is hit.
SCRIPTS = [
    ("{fault: times_two, apis: [matmul], rate: 0.5}", "wrong scale: 2 times", "elements are wrong"),
    ("{fault: times_two, operators: [mm], rate: 0.5}", "wrong scale: 2 times", "elements are wrong"),
    ("{fault: lost_block, operators: [mm], direction: forward}", "lost terms", "elements are wrong"),
    ("{fault: dropped_tail, operators: [mm], apis: [Torch.matmul], direction: backward}", "gradient only", "elements are wrong"),
    ("{fault: four_units, apis: [gelu]}", "1 of", "1 of 1 elements are wrong"),
    ("{fault: wrong_dtype, apis: [gelu]}", "wrong dtype", "should be torch.float16"),
]


def check_scripts(place: pathlib.Path) -> None:
    half = tensor(32, 32, dtype="torch.float16")
    data = {"Functional.gelu.0.forward": {"input_args": [half], "input_kwargs": {}, "output": [half]}}
    for i in range(4):
        data[f"Torch.matmul.{i}.forward"] = {"input_args": [tensor(64, 64, requires_grad=True), tensor(64, 64)], "input_kwargs": {},
                                             "output": [tensor(64, 64)]}
        data[f"Torch.matmul.{i}.backward"] = {"input": [tensor(64, 64)], "output": []}
    write_dump(place, data)
    for rule, cause, said in SCRIPTS:
        (place / "sim.yaml").write_text(f"seed: 7\nfaults:\n  - {rule}\n")
        calls = ["Functional.gelu.0"] if "gelu" in rule else [f"Torch.matmul.{i}" for i in range(4)]
        for call in calls:
            out = place / f"script_{call}"
            done = subprocess.run([MSPROBE, "shrink", "-api_info", str(place / "dump.json"), "--only", call, "-d", "sim",
                                   "--sim-config", str(place / "sim.yaml"), "-o", str(out)], capture_output=True, text=True)
            if done.returncode == 0:
                break
        assert done.returncode == 0 and cause in done.stdout, f"{rule}: {done.stdout}{done.stderr}"
        assert "reproduce.py fails as the call does: " in done.stdout, f"{rule}: {done.stdout}"
        script = run_script(out)
        assert script.returncode == 1 and said in script.stdout, f"{rule}: status {script.returncode}: {script.stdout}{script.stderr}"


with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    data = {"Torch.matmul.0.forward": {"input_args": [tensor(512, 512, requires_grad=True), tensor(512, 512)],
                                       "input_kwargs": {}, "output": [tensor(512, 512)]},
            "Torch.matmul.0.backward": {"input": [tensor(512, 512)], "output": []}}
    write_dump(place, data)
    (place / "sim.yaml").write_text("faults:\n  - {fault: wrong_tile, operators: [mm], direction: forward}\n")
    sim = ["-d", "sim", "--sim-config", str(place / "sim.yaml")]
    call = ["-api_info", str(place / "dump.json"), "--only", "Torch.matmul.0"]
    out = place / "shrunk_here"
    said = run("shrink", *call, *sim, "-o", str(out), status=0)
    assert "-> (17, 1), (1, 17)" in said, said
    found = json.loads((out / "dump.json").read_text())["data"]["Torch.matmul.0.forward"]
    assert found["output"][0]["shape"] == [17, 17], found
    run("acc_check", "-api_info", str(out / "dump.json"), "-d", "sim", "--sim-config", str(out / "sim.yaml"), "-o", folder,
        "--fail-on", "strict", status=1)
    run("shrink", *call, "-d", "sim", "-o", str(out), status=2)  # nothing fails on the exact device
    check_directories(place, call, sim)
    check_within_check(place, sim)
    try:
        import torch  # noqa: F401
    except ImportError:
        print("no PyTorch to run the script with")
        sys.exit(0)
    script = run_script(out)
    assert script.returncode == 1 and "1 of 289 elements are wrong" in script.stdout, script.stdout + script.stderr
    print(said, script.stdout, sep="")
    check_scripts(place)
