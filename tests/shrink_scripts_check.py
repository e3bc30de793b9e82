#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of msprobe shrink for calls under autocast, calls that change their arguments, norms, recurrent layers and calls inside
custom autograd functions: each fails as its call does, agrees with a right device, and is short.

    python3 tests/shrink_scripts_check.py MSPROBE

Ends with 77 where there is no PyTorch to run the scripts with.
"""

import concurrent.futures
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile

try:
    import torch  # noqa: F401  (the scripts run in forks of this process, which saves its start)
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MSPROBE = sys.argv[1]
BF16 = "torch.bfloat16"


def tensor(*shape: int, grad: bool = False, dtype: str = "torch.float32", least: float = -2.5) -> dict:
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": 2.5, "Min": least, "Mean": 0.0, "Norm": 1.0,
            "requires_grad": grad}


def value(given) -> dict | None:
    return None if given is None else {"type": type(given).__name__, "value": given}


def numbers(*given: int) -> list:
    return [value(number) for number in given]


def half(*shape: int, grad: bool = True) -> dict:
    return tensor(*shape, grad=grad, dtype=BF16)


def weight(*shape: int) -> dict:
    return tensor(*shape, grad=True)


def gru_parameters(layers: int, width: int) -> list:
    return [part for _ in range(layers) for part in (weight(3 * width, width), weight(3 * width, width), weight(3 * width), weight(3 * width))]


image, text = half(4, 8, 6, 6), half(4, 9, 16)
lists = [tensor(8), tensor(3, 5)]
changed = {"0.0": lists[0], "0.1": lists[1]}
# Name: (arguments, keywords, output, gradient that arrives, further keys of the forward entry), fault
CALLS = {
    # Under autocast parameters stay float32.
    "Functional.linear.0": ([text, weight(32, 16), weight(32)], {}, [half(4, 9, 32)], [half(4, 9, 32)], {}, "times_two"),
    "Functional.conv2d.0": ([tensor(4, 3, 6, 6), weight(8, 3, 3, 3), weight(8), numbers(1, 1), numbers(1, 1), numbers(1, 1), value(1)], {},
                            [image], [image], {}, "shifted_rows"),
    "Functional.layer_norm.0": ([text, numbers(16), weight(16), weight(16), value(1e-5)], {}, [text], [text], {}, "wrong_gradient"),
    # Norms: Python refuses one value per channel.
    "Functional.group_norm.0": ([image, value(2), weight(8), weight(8), value(1e-5)], {}, [image], [image], {}, "wrong_dtype"),
    "Functional.batch_norm.0": ([image, tensor(8), tensor(8, least=0.5), weight(8), weight(8), value(True), value(0.1), value(1e-5)], {}, [image],
                                [image], {}, "plus_one"),
    # Recurrent layers: lists of tensors, several results.
    "VF.gru.0": ([half(4, 9, 8), half(2, 4, 8, grad=False), gru_parameters(2, 8), value(True), value(2), value(0.0), value(True), value(False),
                  value(True)], {}, [half(4, 9, 8), half(2, 4, 8)], [half(4, 9, 8), half(2, 4, 8)], {}, "one_nan"),
    # Arguments changed in place: a leaf that requires grad, as in an optimizer; with a backward pass; a list, of which nothing is returned.
    "Tensor.addcdiv_.0": ([weight(8), tensor(8), tensor(8, least=0.5)], {"value": value(-0.005)}, [weight(8)], None, {}, "times_two"),
    "Functional.relu.0": ([image], {"inplace": value(True)}, [image], [image], {}, "wrong_gradient"),
    "Aten._foreach_mul_.0": ([lists, value(0.5)], {}, [lists], None, {"mutated": changed}, "zeros"),
    # Inside a custom autograd function: no gradient of its own, mixed dtypes, another result where nothing was asked for.
    "Tensor.__mul__.0": ([half(4, 9, 32, grad=False), weight(32)], {}, [tensor(4, 9, 32)], None, {}, "dropped_tail"),
    # The device has no kernel.
    "VF.rnn_tanh.0": ([tensor(4, 9, 8), tensor(1, 4, 8), [weight(8, 8), weight(8, 8), weight(8), weight(8)], value(True), value(1), value(0.0),
                       value(True), value(False), value(True)], {}, [tensor(4, 9, 8), tensor(1, 4, 8)], [tensor(4, 9, 8)], {}, "no_kernel"),
    "Torch.sigmoid.0": ([half(4, 9, 32)], {}, [half(4, 9, 32, grad=False)], None, {}, "missing_output"),
}


def dump() -> dict:
    data = {}
    for name, (args, kwargs, output, arriving, more, _) in CALLS.items():
        data[f"{name}.forward"] = {"input_args": args, "input_kwargs": kwargs, "output": output, **more}
        if arriving:
            data[f"{name}.backward"] = {"input": arriving, "output": []}
    return {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}


def rules() -> str:
    lines = [f"  - {{fault: {call[-1]}, apis: [{name.rsplit('.', 1)[0]}]}}" for name, call in CALLS.items()]
    return "\n".join(["faults:", *lines]) + "\n"


def run(script: pathlib.Path) -> tuple[int, str]:
    """Status and output of a script, in a fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1), os.dup2(writing, 2)
        try:
            runpy.run_path(str(script), run_name="__main__")
        except BaseException:
            sys.excepthook(*sys.exc_info())
        os._exit(99)
    os.close(writing)
    with os.fdopen(reading) as output:
        said = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def shrink(place: pathlib.Path, name: str) -> str:
    done = subprocess.run([MSPROBE, "shrink", str(place / "dump.json"), "--only", name, "-d", "sim", "--sim-config", str(place / "sim.yaml"),
                           "-o", str(place / name)], capture_output=True, text=True, env={**os.environ, "MSPROBE_PYTHON": sys.executable})
    assert done.returncode == 0, f"{name}: status {done.returncode}: {done.stdout}{done.stderr}"
    assert "reproduce.py fails as the call does: " in done.stdout, f"{name}: {done.stdout}"
    return done.stdout


def check(place: pathlib.Path, name: str) -> None:
    script = place / name / "reproduce.py"
    lines = script.read_text().splitlines()
    assert len(lines) < 40, f"{name}: {len(lines)} lines"
    status, said = run(script)
    assert status == 1, f"{name}: status {status}: {said}"
    (place / name / "sim.yaml").write_text("faults: []\n")  # the kernel is mended
    status, said = run(script)
    assert status == 0, f"{name} on a right device: status {status}: {said}"
    script.write_text(script.read_text().replace("def result(t, device):", "def result(t, device):\n    raise ValueError('not so')"))
    status, said = run(script)
    assert status == 2 and "ValueError: not so" in said, f"{name}: an exception ends with {status}: {said}"


with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    (place / "dump.json").write_text(json.dumps(dump()))
    (place / "sim.yaml").write_text(rules())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, said in zip(CALLS, pool.map(lambda name: shrink(place, name), CALLS)):
            print(said.split("\n")[0])
    for name in CALLS:
        check(place, name)
    print(f"{len(CALLS)} scripts fail as their calls do")
