#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices whose plug-in of PyTorch lives in Python: the engine runs in that Python. Tried with tests/hosted/torch_npu.py.

usage: hosted_check.py MSPROBE LIBMSPROBE_SIM

Ends with 77 if this Python has no PyTorch that can load the simulated device.
"""
import collections
import csv
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SIM = map(os.path.abspath, sys.argv[1:3])
HERE = pathlib.Path(__file__).resolve().parent
DUMP = HERE.parent / "examples" / "gpt_statistics" / "dump.json"
FEW = ("--only", "Functional.layer_norm.0", "--only", "Torch.matmul.0", "--only", "Functional.gelu.0")
Check = collections.namedtuple("Check", "result details said bytes")
BROKEN = "raise ImportError('a file in the current directory was imported')\n"


def tensor(*shape, grad=False, dtype="torch.float32"):
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": 2.0, "Min": -2.0, "Mean": 0.1, "Norm": 3.0, "requires_grad": grad}


def text(value):
    return {"type": "str", "value": value}


class Hosted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.runs = 0

    def msprobe(self, *words, cwd=None, **environment):
        known = {key: value for key, value in os.environ.items() if not key.startswith("MSPROBE_TEST")}
        known.update(MSPROBE_PYTHON=sys.executable, PYTHONPATH=str(HERE / "hosted"), MSPROBE_TEST_SIM=SIM)
        known.update(environment)
        return subprocess.run([PROGRAM, *map(str, words)], cwd=cwd or self.scratch, env=known, capture_output=True, text=True)

    def check(self, *words, command="acc_check", dump=DUMP, status=0, **environment):
        """The rows of both files, the text, and the bytes. `status`: None: whether calls failed is not the point."""
        self.runs += 1
        out = self.scratch / f"out{self.runs}"
        done = self.msprobe(command, "-api_info", dump, "-o", out, "-v", *words, **environment)
        self.assertIn(done.returncode, (0, 1) if status is None else (status,), done.stdout + done.stderr)
        paths = [next(out.glob(f"accuracy_checking_{kind}_*.csv")) for kind in ("result", "details")]
        rows = [list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))) for path in paths]
        return Check(*rows, done.stdout + done.stderr, [path.read_bytes() for path in paths])

    def made_dump(self, **calls):
        """A dump of forward calls: name -> (args, kwargs, output)."""
        directory = self.scratch / f"dump{len(list(self.scratch.iterdir()))}"
        directory.mkdir()
        data = {name: {"input_args": args, "input_kwargs": kwargs, "output": [output]} for name, (args, kwargs, output) in calls.items()}
        (directory / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "dump_data_dir": "", "data": data}))
        return directory / "dump.json"

    def failed(self, *words, status=2, **environment):
        done = self.msprobe("acc_check", "-api_info", DUMP, "-o", self.scratch / "none", *words, **environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        errors = [line for line in done.stderr.splitlines() if "[ERROR]" in line]
        self.assertEqual(len(errors), 1, done.stderr)
        return errors[0].split("[ERROR] ", 1)[1]

    def test_a_check_on_npu_needs_no_further_option(self):
        one = self.check("-d", "npu:0")
        self.assertIn("checked 65 (passed 65", one.said)
        two = self.check("-d", "npu:0", "--jobs", "3")
        self.assertEqual(one.bytes, two.bytes)
        both = self.check("-d", "npu:0", "npu:1", command="multi_acc_check")
        self.assertEqual(one.bytes, both.bytes)

    def test_a_bare_number_is_that_of_an_npu(self):
        self.assertIn("device 0 is npu:0", self.check(*FEW).said)
        self.assertIn("device 3 is npu:3", self.check("-d", "3", "-j", *FEW).said)
        without = self.check("-d", "0", *FEW, PYTHONPATH="").said
        self.assertIn("device 0 is cpu", without)

    def test_a_module_in_place_of_a_library(self):
        said = self.check("-d", "0", "--device-lib", "torch_npu", *FEW).said
        self.assertIn("device 0 is npu:0", said)

    def test_wrong_results_are_found(self):
        faults = self.scratch / "faults.yaml"
        faults.write_text("faults:\n  - {fault: times_two, operators: [gelu]}\n")
        found = self.check("-d", "npu:0", status=1, MSPROBE_SIM_CONFIG=str(faults))
        wrong = {next(iter(row.values())).split(".forward")[0] for row in found.details if row.get("Strict Status") == "error"}
        self.assertTrue(wrong and all("gelu" in name for name in wrong), wrong)

    def test_devices_as_text(self):
        ones = ([{"type": "int", "value": 4}], {"device": text("npu:0")}, tensor(4))
        full = ([{"type": "int", "value": 4}], {"device": {"type": "int", "value": 0}}, tensor(4))
        dump = self.made_dump(**{"Torch.ones.0.forward": ones, "Torch.ones.1.forward": full})
        for device in ("cpu", "npu:0"):
            self.assertIn("checked 2 (passed 2", self.check("-d", device, dump=dump).said)
        faults = self.scratch / "ones.yaml"
        faults.write_text("faults:\n  - {fault: times_two, apis: [ones]}\n")
        wrong = self.check("-d", "npu:0", dump=dump, status=1, MSPROBE_SIM_CONFIG=str(faults))
        self.assertEqual([row["Strict Status"] for row in wrong.details], ["error", "error"])

    def test_what_the_cpu_computes_is_not_on_the_device(self):
        found = self.check("-d", "npu:0", *FEW, status=2, MSPROBE_TEST_PLUGIN="on_the_cpu")
        messages = [row["Message"] for row in found.details]
        self.assertEqual(len(messages), 3)
        for message in messages:
            self.assertRegex(message, "^not_on_device: not on the device: its back end leaves aten::")

    def test_a_device_that_fails_costs_its_own_calls(self):
        for wrong in ("sticky", "silent"):
            with self.subTest(wrong):
                one = self.check("-d", "npu:0", status=None, MSPROBE_TEST_PLUGIN=wrong)
                lost = {next(iter(row.values())): row["Message"] for row in one.result if "SKIP" in row.values()}
                self.assertTrue(lost and all(name.startswith("Functional.gelu") for name in lost), lost)
                self.assertEqual(len(set(lost.values())), 1, lost)  # nothing in it is of the call's own process
                self.assertRegex(next(iter(lost.values())), r"^device_failed: .*gelu failed\n\[ERROR\] \(PID, Device, RankID\) ERR00100 call failed at \nin kernel.cc:7")
                if wrong == "silent":
                    continue
                self.assertEqual(one.bytes, self.check("-d", "npu:0", "--jobs", "3", status=None, MSPROBE_TEST_PLUGIN=wrong).bytes)
                both = self.check("-d", "npu:0", "npu:1", command="multi_acc_check", status=None, MSPROBE_TEST_PLUGIN=wrong)
                self.assertEqual(one.bytes, both.bytes)

    def test_files_in_the_current_directory_are_not_imported(self):
        for name in ("os", "struct", "ctypes", "importlib", "json", "torch", "torch_npu", "numpy", "re"):
            (self.scratch / f"{name}.py").write_text(BROKEN)
        self.assertIn("device 0 is npu:0", self.check(*FEW).said)
        self.assertIn("device 0 is cpu", self.check(*FEW, PYTHONPATH="").said)

    def test_why_there_is_no_device(self):
        for wrong, message in {
            "no_library": "libhccl_of_nobody.so: cannot open shared object file: source CANN's set_env.sh",
            "cause": "torch_npu cannot be imported: the first cause",
            "exits": "torch_npu cannot be imported: its import exits with 3",
            "no_device": "torch_npu finds none: look at what npu-smi info lists, and at ASCEND_RT_VISIBLE_DEVICES",
        }.items():
            self.assertEqual(self.failed(MSPROBE_TEST_PLUGIN=wrong), f"no device 0: {message}")
        self.assertIn("no device npu:8: PyTorch", self.failed("-d", "npu:8"))
        self.assertIn(f"no device musa:0: {sys.executable} has no torch_musa: install it there", self.failed("-d", "musa:0"))
        self.assertIn("no device npu:0: the plug-in torch_npu needs a Python, and /no/python cannot be started",
                      self.failed("-d", "npu:0", MSPROBE_PYTHON="/no/python"))

    def test_another_pytorch_than_the_engine_is_built_for(self):
        other = self.scratch / "other"
        (other / "torch").mkdir(parents=True)
        (other / "torch" / "__init__.py").write_text("__version__ = '1.4.0'\n")
        message = self.failed("-d", "npu:0", PYTHONPATH=f"{other}:{HERE / 'hosted'}")
        self.assertRegex(message, r"no device npu:0: this engine is built for PyTorch [\d.]+, and \S+ has 1.4.0: name a Python with such a PyTorch")

    def test_probing(self):
        card = self.scratch / "card.json"
        done = self.msprobe("probe_device", "-d", "npu:0", "--only", "casts", "-o", card)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(card.read_text())["device"], "npu:0")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None or not os.path.exists(SIM):
        print("skipped: this Python has no PyTorch, or there is no simulated device")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
