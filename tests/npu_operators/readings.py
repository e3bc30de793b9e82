#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents of an operator leave open is found out by a check, and goes onto the card of the device.

usage: readings.py MSPROBE
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import quantise
import torch
from check_dump import strict_statuses
from recorder import Calls, normal, uniform

EMPTY = {"schema": "msprobe device card", "version": 1, "device": "npu:0", "torch": "2.13", "msprobe": "1", "lines": [], "curves": []}


def record(folder, rounds, multiplies):
    """Three calls of each operator, by one reading of the documents."""
    folder.mkdir()
    calls = Calls(folder)
    for _ in range(3):
        args = [
            normal(5, 193, dtype=torch.bfloat16),
            normal(5, 193, dtype=torch.bfloat16),
            uniform(193, low=0.5, high=1.5, dtype=torch.bfloat16),
        ]
        calls.record("npu_add_rms_norm", args, {}, quantise.add_rms_norm(*args, rounds=rounds), "right")
        args = [normal(7, 193), uniform(193, low=10, high=30), normal(193), torch.full((1,), 2.0), torch.tensor([3], dtype=torch.int8)]
        calls.record("npu_rms_norm_quant", args, {}, quantise.rms_norm_quant(*args, multiplies=multiplies), "right")
    calls.finish()


def learn(program, folder, card):
    (details,) = (folder / "out").glob("accuracy_checking_details_*.csv")
    done = subprocess.run([program, "probe_device", "--read", card, "--learn", details, "-o", card], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line["subject"]: line for line in json.loads(card.read_text())["lines"]}


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="msprobe_readings_") as scratch:
        scratch = pathlib.Path(scratch)
        record(scratch / "one", rounds=True, multiplies=False)
        record(scratch / "other", rounds=False, multiplies=True)
        card = scratch / "card.json"
        card.write_text(json.dumps(EMPTY))
        statuses = strict_statuses(program, scratch / "one")
        assert all(status == "pass" for status, _ in statuses.values()), statuses
        lines = learn(program, scratch / "one", card)
        assert lines["npu_add_rms_norm"]["value"] == "rounds the sum before the norm and the norm before gamma, as A2 does", lines
        assert lines["npu_rms_norm_quant"]["value"] == "divides by the scale", lines
        assert lines["npu_rms_norm_quant"]["confidence"] == "high", lines
        statuses = strict_statuses(program, scratch / "other")
        assert all(status == "pass" for status, _ in statuses.values()), statuses
        lines = learn(program, scratch / "other", card)
        assert lines["npu_rms_norm_quant"]["value"] == "multiplies by the scale", lines


main()
