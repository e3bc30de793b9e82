#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msprobe with the real torch_npu over the stand-in for CANN (README.md). tools/test_torch_npu.sh runs it.

usage: check.py MSPROBE PYTHON STAND_IN_LIBRARIES [TEST ...]

PYTHON has torch_npu and the PyTorch that the engine beside MSPROBE is built for.
"""
import collections
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, PYTHON, LIBRARIES = sys.argv[1:4]
PROGRAM, LIBRARIES = os.path.abspath(PROGRAM), os.path.abspath(LIBRARIES)
HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
PACKAGE = pathlib.Path(PROGRAM).parent.parent / "python"
DUMPS = PROJECT / "tests" / "data" / "dumps"
GOLDEN = ("convnet_statistics", "convnet_tensor", "gpt2_fp32_statistics_v8.3.3", "gpt2_fp32_tensor", "gpt_fp32_statistics")
Check = collections.namedtuple("Check", "said details bytes alarms skips checked")

# What the plug-in does on this chip that a CPU does not: alarms that are right.
ALARMS = {
    r"Functional\.gelu\.\d+\.(forward|backward)": "approximate='tanh' is ignored",
    r"(Tensor\.double|(Torch|Tensor)\.float_power)\.": "float64 becomes float32",
    r"Functional\.(adaptive_)?max_pool[123]d\.\d+\.forward\.output\.1|\w+\.max_pool2d_with_indices": "indices have the form of a mask",
    r"Aten\.native_dropout_backward\.": "masks are bits",
    r"(Torch|Aten)\._?native_batch_norm(_legit)?\.\d+\.forward\.output\.[12]": "has statistics where the CPU has none",
    r"Functional\.binary_cross_entropy_with_logits\.\d+\.backward\.output\.1": "targets have no gradient",
}
NO_KERNEL = re.compile("would execute its main computation on CPU|not on the device")
NOT_HERE = re.compile(r"not in libopapi\.so|error code is 100024|Failed to find function aclop|unknown data type 33")  # the last: complex32


def stem(row):
    return next(iter(row.values()))


def call_of(row):
    return re.match(r"(.+?\.\d+)\.(forward|backward)", stem(row)).group(1)


class OnTheStandIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.scratch = pathlib.Path(cls.kept.name)
        cls.runs = 0
        cls.dump = cls.scratch / "quickstart" / "step1" / "rank0" / "dump.json"
        cls.python(PROJECT / "examples" / "train.py", cls.scratch / "quickstart", TORCH_DEVICE_BACKEND_AUTOLOAD="0")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @staticmethod
    def environment(**more):
        known = {key: value for key, value in os.environ.items() if not key.startswith(("MSPROBE_CANN", "ASCEND"))}
        known.update(MSPROBE_PYTHON=PYTHON, LD_LIBRARY_PATH=LIBRARIES, MSPROBE_LOG_LEVEL="2")
        known.update(more)
        return known

    @classmethod
    def python(cls, *words, **environment):
        done = subprocess.run([PYTHON, *map(str, words)], env=cls.environment(PYTHONPATH=str(PACKAGE), **environment), capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def msprobe(self, *words, **environment):
        return subprocess.run([PROGRAM, *map(str, words)], env=self.environment(**environment), capture_output=True, text=True)

    def check(self, *words, dump=None, command="acc_check", device=("npu:0",), **environment):
        type(self).runs += 1
        out = self.scratch / f"out{self.runs}"
        done = self.msprobe(command, "-api_info", dump or self.dump, "-d", *device, "-o", out, *words, **environment)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return self.read(out, done.stdout + done.stderr)

    @staticmethod
    def read(out, said=""):
        paths = [next(out.glob(f"accuracy_checking_{kind}_*.csv")) for kind in ("result", "details")]
        with open(paths[1], encoding="utf-8-sig", newline="") as file:
            details = list(csv.DictReader(file))
        alarms = [row for row in details if row["Strict Status"] in ("warning", "error")]
        none = "is None, skip"  # a value that neither side has
        skips = {call_of(row): row["Message"] for row in details if row["Status"] == "SKIP" and none not in row["Message"]
                 and "black list" not in row["Message"]}
        checked = {call_of(row) for row in details} - set(skips)
        return Check(said, details, [path.read_bytes() for path in paths], alarms, skips, checked)

    def calls(self, pattern, dump=None):
        data = json.loads((dump or self.dump).read_text())["data"]
        return {name.rsplit(".", 1)[0] for name in data if re.match(pattern, name)}

    def assert_right(self, done):
        """No strict alarm but those that are right, and nothing lost."""
        wrong = [f"{stem(row)}: {row['Strict Reason']}" for row in done.alarms if not any(re.match(p, stem(row)) for p in ALARMS)]
        self.assertEqual(wrong, [], "\n".join(wrong))

    # What is right is found right.

    def test_quick_start(self):
        done = self.check()
        self.assert_right(done)
        self.assertEqual((len(done.checked), done.skips), (72, {}), done.said)

    def test_recorded_dumps(self):
        for name in GOLDEN:
            with self.subTest(name):
                done = self.check(dump=DUMPS / name / "dump.json")
                self.assert_right(done)
                self.assertEqual(done.skips, {})

    def test_fused_operators(self):
        self.python(HERE / "record.py", "fused", self.scratch / "fused")
        dump = self.scratch / "fused" / "step0" / "rank0" / "dump.json"
        for device in ("recorded", "npu:0"):
            done = self.check(dump=dump, device=(device,))
            self.assert_right(done)
            self.assertEqual(done.skips, {})
        fused = {name.split(".")[1] for name in done.checked if name.startswith("NPU.")}
        self.assertGreaterEqual(len(fused), 16, fused)

    def test_operator_samples(self):
        self.python(HERE / "record.py", "samples", self.scratch / "samples", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        done = self.check(dump=self.scratch / "samples" / "step0" / "rank0" / "dump.json")
        self.assert_right(done)
        lost = {call: message for call, message in done.skips.items() if message.startswith("device_failed")
                and not NO_KERNEL.search(message) and not NOT_HERE.search(message)}
        self.assertEqual(lost, {})
        print(f"samples: {len(done.checked)} calls checked", file=sys.stderr)
        self.assertGreater(len(done.checked), 1000)

    def test_schemas(self):
        """The rows of our table are tested against tests/data/npu_schemas.txt in every build; that file, against the plug-in here."""
        self.assertIn(" 0 differ", self.python(HERE / "schemas.py"))

    # What is wrong is found, and nothing else.

    def test_wrong_kernels(self):
        for fault, pattern in {"aclnnGelu=scale:1.001": r"Functional\.gelu\.", "aclnnMatmul=bfloat16": r"Torch\.matmul\.",
                               "aclnnConvolution=last_eighth": r"Functional\.conv2d\."}.items():
            with self.subTest(fault):
                done = self.check(MSPROBE_CANN_FAULTS=fault)
                forward = {call_of(row) for row in done.alarms if ".forward." in stem(row)}
                self.assertEqual(forward, self.calls(pattern))
                self.assertEqual(done.skips, {})

    def test_failing_kernels(self):
        """Exactly their calls are lost, whatever else ran in the same process."""
        gelus = self.calls(r"Functional\.gelu\.")
        for kind in ("refuse", "error", "sticky", "crash"):
            with self.subTest(kind):
                done = self.check(MSPROBE_CANN_FAULTS=f"aclnnGelu={kind}")
                self.assertEqual(set(done.skips), gelus, done.said)
                wanted = "crashed" if kind == "crash" else "device_failed"
                self.assertEqual({message.split(":")[0] for message in done.skips.values()}, {wanted})
                self.assert_right(done)

    def test_a_kernel_that_hangs(self):
        done = self.check("--timeout", "20", "--only", "Functional.gelu.0", "--only", "Functional.layer_norm.0", MSPROBE_CANN_FAULTS="aclnnGelu=hang")
        self.assertEqual({call: message.split(":")[0] for call, message in done.skips.items()}, {"Functional.gelu.0": "timed_out"}, done.said)

    # The same bytes, however the work is shared.

    def test_workers_and_devices(self):
        for fault in ("", "aclnnGelu=sticky", "aclnnGelu=error"):
            with self.subTest(fault or "no fault"):
                one = self.check(MSPROBE_CANN_FAULTS=fault)
                self.assertEqual(one.bytes, self.check("--jobs", "4", MSPROBE_CANN_FAULTS=fault).bytes)
                both = self.check(command="multi_acc_check", device=("npu:0", "npu:1"), MSPROBE_CANN_FAULTS=fault)
                self.assertEqual(one.bytes, both.bytes)
        numbers = self.check(command="multi_acc_check", device=("0", "1"), MSPROBE_LOG_LEVEL="1")
        self.assertIn("device 0 is npu:0", numbers.said)
        self.assertEqual(len(numbers.checked), 72)

    def test_going_on_after_a_kill(self):
        whole = self.check().bytes
        out = self.scratch / "killed"
        words = [PROGRAM, "acc_check", "-api_info", str(self.dump), "-d", "npu:0", "-o", str(out)]
        slow = self.environment(MSPROBE_CANN_FAULTS="aclnnConvolution=hang")  # stops at the convolutions, which come last
        run = subprocess.Popen([*words, "--timeout", "600"], env=slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        def rows():
            found = list(out.glob("accuracy_checking_result_*.csv"))
            return len(found[0].read_text(errors="replace").splitlines()) if found else 0
        while rows() < 20 and run.poll() is None:
            time.sleep(0.2)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        result = next(out.glob("accuracy_checking_result_*.csv"))
        again = subprocess.run([*words, "-csv_path", str(result)], env=self.environment(), capture_output=True, text=True)
        self.assertIn(again.returncode, (0, 1), again.stdout + again.stderr)
        self.assertEqual(self.read(out).bytes, whole)

    def test_probing(self):
        card = self.scratch / "card.json"
        done = self.msprobe("probe_device", "-d", "npu:0", "-o", card)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(card.read_text())["device"], "npu:0")

    # What is missing is named.

    def refused(self, **environment):
        done = self.msprobe("acc_check", "-api_info", self.dump, "-o", self.scratch / "none", "-d", "npu:0", **environment)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        errors = [line for line in done.stderr.splitlines() if "[ERROR]" in line]
        self.assertEqual(len(errors), 1, done.stderr)
        return errors[0].split("[ERROR] ", 1)[1]

    def test_without_cann(self):
        self.assertEqual(self.refused(LD_LIBRARY_PATH=""),
                         "no device npu:0: libhccl.so: cannot open shared object file: source CANN's set_env.sh")

    def test_without_a_device(self):
        self.assertEqual(self.refused(MSPROBE_CANN_DEVICES="0"),
                         "no device npu:0: torch_npu finds none: look at what npu-smi info lists, and at ASCEND_RT_VISIBLE_DEVICES")

    def test_more_devices_than_there_are(self):
        done = self.msprobe("acc_check", "-api_info", self.dump, "-o", self.scratch / "none", "-d", "npu:2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no device npu:2: PyTorch", done.stderr)
        self.assertEqual(len(self.check("--only", "Functional.gelu.0", device=("npu:7",), MSPROBE_CANN_DEVICES="8").checked), 1)

    def test_another_pytorch(self):
        other = self.scratch / "other" / "torch"
        other.mkdir(parents=True)
        (other / "__init__.py").write_text("__version__ = '2.6.0+cpu'\n")
        self.assertRegex(self.refused(PYTHONPATH=str(other.parent)),
                         r"^no device npu:0: this engine is built for PyTorch [\d.]+, and \S+ has 2\.6\.0\+cpu: name a Python with such a PyTorch")

    def test_half_of_cann(self):
        """set_env.sh was not sourced, though the libraries are found."""
        self.assertIn("source set_env.sh", self.refused(ASCEND_HOME_PATH=str(self.scratch)))

    # The collector beside the plug-in.

    def test_recording_changes_nothing(self):
        said = {}
        for task in ("none", "statistics", "tensor"):
            lines = self.python(HERE / "record.py", "training", self.scratch / f"training_{task}", task).splitlines()
            said[task] = [line for line in lines if line.startswith("trained")]
        self.assertEqual(len(said["none"]), 1)
        self.assertEqual(said["none"], said["statistics"])
        self.assertEqual(said["none"], said["tensor"])
        for task in ("statistics", "tensor"):
            dump = self.scratch / f"training_{task}" / "step1" / "rank0" / "dump.json"
            self.assertIn('"npu:0"', dump.read_text())
            for device in ("npu:0", "cpu") + (("recorded",) if task == "tensor" else ()):
                with self.subTest(task=task, device=device):
                    done = self.check(*(["--hf32"] if device == "recorded" else []), dump=dump, device=(device,))
                    self.assert_right(done)
                    self.assertEqual({call: why for call, why in done.skips.items() if "bench_failed" in why or "device_failed" in why}, {})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(f"OnTheStandIn.{name}" for name in sys.argv[4:])])
