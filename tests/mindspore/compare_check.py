#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network that the real MindSpore runs, compared with what PyTorch computed for the same numbers (tests/cases/compare_mindspore_pytorch).

usage: compare_check.py PROGRAM        in the Python that has MindSpore, with msprobe on PYTHONPATH"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "cases" / "compare_mindspore_pytorch" / "golden"
PROGRAM = sys.argv.pop(1)


class Compared(unittest.TestCase):
    def compare(self, *options: str) -> dict:
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([sys.executable, "-W", "ignore", str(HERE / "record_pair.py"), "mindspore", scratch + "/dump", *options], check=True,
                           capture_output=True)
            subprocess.run([PROGRAM, "compare", "-tp", scratch + "/dump", "-gp", str(GOLDEN), "-o", scratch, "--json", scratch + "/rows.json"],
                           check=False, capture_output=True)
            return json.loads(pathlib.Path(scratch, "rows.json").read_text())

    def test_the_same_network_agrees(self):
        found = self.compare()
        self.assertIsNone(found["first_divergence"])
        self.assertEqual(found["summary"]["error"], 0)
        self.assertEqual(found["summary"]["warning"], 0)
        self.assertGreater(found["summary"]["pass"], 60)

    def test_a_wrong_call_is_found(self):
        first = self.compare("--fault")["first_divergence"]
        self.assertEqual((first["target"], first["golden"], first["cause"]), ("Mint.add.1.forward", "Torch.add.1.forward", "introduces"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
