#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""acc_check --card: what the card's arithmetic gives is explained, what it cannot give is suspect.

    python3 tests/card_check.py MSPROBE
"""

import csv
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

MSPROBE = sys.argv[1]
UNIT = "unit:block=8,bits=24,cut=down,sum=zero,inputs=tf32"


def tensor(*shape: int, dtype: str = "torch.float32", grad: bool = True) -> dict:
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": 2.5, "Min": -2.5, "Mean": 0.0, "Norm": 1.0,
            "requires_grad": grad}


def calls(dtype: str) -> dict:
    """Products of every kind, with their gradients."""
    def made(name: str, output: tuple, *inputs: tuple) -> dict:
        given = [tensor(*shape, dtype=dtype) for shape in inputs]
        result = tensor(*output, dtype=dtype)
        return {f"{name}.forward": {"input_args": given, "input_kwargs": {}, "output": [result]},
                f"{name}.backward": {"input": [result], "output": given}}
    number = ["torch.float32", "torch.float16", "torch.bfloat16"].index(dtype)
    return {**made(f"Torch.matmul.{number}", (33, 40), (33, 300), (300, 40)),
            **made(f"Torch.bmm.{number}", (3, 16, 9), (3, 16, 70), (3, 70, 9)),
            **made(f"Functional.linear.{number}", (4, 5, 31), (4, 5, 96), (31, 96), (31,)),
            **made(f"Torch.addmm.{number}", (20, 12), (20, 12), (20, 64), (64, 12)),
            **made(f"Functional.conv2d.{number}", (2, 6, 10, 9), (2, 5, 12, 11), (6, 5, 3, 3), (6,)),
            **made(f"Torch.exp.{number}", (5, 5), (5, 5))}


def run(*words: str, status: int | None = 0) -> str:
    done = subprocess.run([MSPROBE, *words], capture_output=True, text=True)
    assert status in (done.returncode, None), f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def rows(out: pathlib.Path) -> list:
    found, = out.glob("accuracy_checking_details_*.csv")
    with open(found, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def alarms(out: pathlib.Path) -> list:
    return [row for row in rows(out) if row["Strict Status"] in ("warning", "error")]


with tempfile.TemporaryDirectory() as folder:
    place = pathlib.Path(folder)
    dump, card = place / "dump.json", place / "card.json"
    data = {name: entry for dtype in ("float32", "float16", "bfloat16") for name, entry in calls(f"torch.{dtype}").items()}
    dump.write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}))
    sim = ["-d", "sim", "--sim-profile", UNIT]
    run("probe_device", *sim, "--only", "products", "-o", str(card))
    check = ["acc_check", "-api_info", str(dump), "--fail-on", "strict", *sim]

    # Without the card TF32 inputs are an error. With it they are explained, and the bound is the error itself.
    run(*check, "-o", str(place / "without"), status=1)
    assert all("Torch" in row["API name"] or "linear" in row["API name"] or "conv2d" in row["API name"] for row in alarms(place / "without"))
    run(*check, "-o", str(place / "with"), "--card", str(card))
    judged = rows(place / "with")
    explained = [row for row in judged if row["Likely Cause"].startswith("arithmetic of the device: it adds in blocks of 8, 24 bits")]
    apis = {re.sub(r"\.\d+\.(forward|backward).*", r".\1", row["API name"]) for row in explained}
    assert {"Torch.matmul.forward", "Torch.bmm.backward", "Functional.linear.forward", "Torch.addmm.forward", "Functional.conv2d.forward",
            "Functional.conv2d.backward"} <= apis, apis
    assert not any("exp" in api for api in apis), apis
    shares = [float(found[1]) for row in judged if "exp" not in row["API name"]
              and (found := re.search(r"by at most (\S+) of the bound", row["Strict Reason"]))]
    assert statistics.median(1 / share for share in shares) <= 4, shares

    # A fault of one unit, of all elements and of one: the bound without a card excuses the first.
    for fault in ("one_ulp", "four_units"):
        rules = place / f"{fault}.yaml"
        rules.write_text(f"faults:\n  - {{fault: {fault}, operators: [mm, bmm, addmm, convolution]}}\n")
        out = place / fault
        run(*check, "-o", str(out), "--card", str(card), "--sim-config", str(rules), status=1)
        wrong = {row["API name"].split(".forward")[0] for row in alarms(out) if "forward" in row["API name"]}
        kinds = ("Torch.matmul", "Torch.bmm", "Functional.linear", "Torch.addmm", "Functional.conv2d")
        wanted = {f"{kind}.{number}" for kind in kinds for number in range(0 if fault == "one_ulp" else 1, 3)}
        assert wrong == wanted, (fault, wrong ^ wanted)

    # Another device, and the same results continued with another card.
    said = run("acc_check", "-api_info", str(dump), "-d", "cpu", "-o", str(place / "cpu"), "--card", str(card), status=None)
    assert "the card is that of sim, and this check runs on cpu" in said, said
    result, = (place / "with").glob("accuracy_checking_result_*.csv")
    run(*check, "-csv_path", str(result), "--card", str(card))
    said = run(*check, "-csv_path", str(result), status=2)
    assert "these results were made with card" in said, said
    other = json.loads(card.read_text())
    other["lines"] = [line for line in other["lines"] if line["field"] != "unit"]
    card.write_text(json.dumps(other))
    said = run(*check, "-o", str(place / "none"), "--card", str(card), status=2)
    assert "no matrix unit was found on sim," in said, said
    print(f"{len(explained)} of {len(judged)} results explained by the card")
