#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device `mindspore` from end to end, on a stand-in for MindSpore (tests/data/fake_mindspore).

usage: device_check.py MSPROBE
If a call ends the runner, only that call is skipped; a Python without MindSpore is named; a PyTorch dump is refused."""
import csv
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
FAKE = {"PYTHONPATH": str(ROOT / "tests/data/fake_mindspore"), "MSPROBE_MINDSPORE_PYTHON": sys.executable}
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else "msprobe"


def tensor(*shape) -> dict:
    return {"type": "mindspore.Tensor", "dtype": "Float32", "shape": list(shape), "Max": 2.0, "Min": -1.0, "Mean": 0.5, "Norm": 1.0}


def entry(name: str, *args: dict) -> dict:
    return {f"{name}.forward": {"input_args": list(args), "input_kwargs": {}, "output": [tensor(2, 3)]},
            f"{name}.backward": {"input": [tensor(2, 3)], "output": [tensor(2, 3) for _ in args]}}


RELU = "MintFunctional.relu.0.forward"  # the stand-in cannot differentiate it
CALLS = {**entry("Mint.mul.0", tensor(2, 3), tensor(2, 3)), **entry("Mint.neg.0", tensor(2, 3)),
         RELU: entry("MintFunctional.relu.0", tensor(2, 3))[RELU], **entry("Mint.mul.1", tensor(2, 3), tensor(2, 3))}


@unittest.skipIf(importlib.util.find_spec("numpy") is None, "this Python has no numpy")
class Device(unittest.TestCase):
    def check(self, framework="mindspore", **environment):
        """(exit status, stderr, rows of the result CSV by name)"""
        with tempfile.TemporaryDirectory() as out:
            dump = pathlib.Path(out) / "dump.json"
            dump.write_text(json.dumps({"task": "statistics", "level": "L1", "framework": framework, "dump_data_dir": None, "data": CALLS}))
            done = subprocess.run([PROGRAM, "acc_check", "-api_info", str(dump), "-o", out, "-d", "mindspore"], text=True, check=False,
                                  capture_output=True, env={**os.environ, **FAKE, **environment})
            rows = {}
            for path in pathlib.Path(out).glob("accuracy_checking_result_*.csv"):
                with open(path, encoding="utf-8-sig", newline="") as file:
                    rows = {row["API Name"]: row for row in csv.DictReader(file)}
            return done.returncode, done.stderr, rows

    def test_calls_run_and_pass(self):
        status, errors, rows = self.check()
        self.assertEqual(status, 0, errors)
        for name, row in rows.items():
            wanted = ("pass", "" if RELU.startswith(name) else "pass")
            self.assertEqual((row["Forward Test Success"], row["Backward Test Success"]), wanted, row)

    def test_a_crash_costs_one_row(self):
        status, errors, rows = self.check(FAKE_MINDSPORE_CRASH="1")
        self.assertEqual(status, 1, errors)
        self.assertEqual([row["Forward Test Success"] for row in rows.values()], ["pass", "SKIP", "pass", "pass"])
        self.assertIn("Segmentation fault", rows["Mint.neg.0"]["Message"])

    def test_a_python_without_mindspore_is_named(self):
        status, errors, _ = self.check(MSPROBE_MINDSPORE_PYTHON="/nowhere/python")
        self.assertEqual(status, 2)
        self.assertIn("/nowhere/python cannot run MindSpore", errors)
        self.assertIn("MSPROBE_MINDSPORE_PYTHON=PATH", errors)

    def test_a_pytorch_dump_is_refused(self):
        status, errors, _ = self.check(framework="pytorch")
        self.assertEqual(status, 2)
        self.assertIn("is for MindSpore dumps", errors)


if __name__ == "__main__":
    unittest.main()
