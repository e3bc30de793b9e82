# SPDX-License-Identifier: Apache-2.0
"""Models of several kinds: collected, then checked by acc_check."""
import csv
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

MSPROBE = os.environ.get("MSPROBE")
HAS_ENGINE = os.environ.get("MSPROBE_HAS_ENGINE") == "1"
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.py")

# Calls that make the model what it is: recorded, and right forward and backward.
CHARACTERISTIC = {
    "lstm": ["VF.lstm.0", "VF.gru.0", "Functional.linear.0"],
    "attention": ["Functional.embedding.0", "Functional.multi_head_attention_forward.0", "Functional.layer_norm.0"],
    "unet": ["Functional.conv2d.0", "Functional.group_norm.0", "Functional.conv_transpose2d.0", "Functional.interpolate.0", "Torch.cat.1"],
    "autocast": ["Functional.layer_norm.0", "Functional.cross_entropy.0"],
}
# With random lengths and data of its own a packed sequence cannot be made again.
NOT_WITH_RANDOM_DATA = ("VF._pack_padded_sequence.0", "VF.lstm.0")


def rows_of(kind, directory):
    (path,) = glob.glob(os.path.join(directory, f"accuracy_checking_{kind}_*.csv"))
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


# The gradient of a bias before a batch norm is zero but for rounding. The cosine of noise means nothing, yet the documents judge by it.
def is_gradient_of_idle_bias(row):
    return re.fullmatch(r"Functional\.conv2d\.\d+\.backward\.output\.2", row["API name"]) and float(row["Maximum absolute error"]) < 1e-7


def call_of(row):
    return re.sub(r"\.(forward|backward)\..*", "", row["API name"])


@unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe and its engine")
class Models(unittest.TestCase):
    def check(self, task):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([sys.executable, "-W", "ignore", SCRIPT, task, os.path.join(directory, "dump"), *CHARACTERISTIC], check=True)
            for step, model in enumerate(CHARACTERISTIC):
                with self.subTest(model=model, task=task):
                    (path,) = glob.glob(os.path.join(directory, "dump", f"step{step}", "*", "dump.json"))
                    self.assertFalse(os.path.exists(os.path.join(os.path.dirname(path), "dump_error_info.log")))
                    self.check_dump(path, os.path.join(directory, model), model, task)

    def check_dump(self, path, out, model, task):
        self.check_strictly(path, "cpu", out)
        self.check_documented_verdicts(out, model, task)
        if task == "tensor":
            self.check_strictly(path, "recorded", out + "_recorded")

    def check_strictly(self, path, device, out):
        done = subprocess.run([MSPROBE, "acc_check", "-api_info", path, "-d", device, "-o", out, "-v"], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = re.search(r"recorded (\d+), checked (\d+).*strict: passed (\d+)(?:, inconclusive (\d+))?, warned (\d+), failed (\d+)", done.stdout)
        self.assertTrue(found, done.stdout)
        recorded, checked, passed, inconclusive, warned, failed = (int(number or 0) for number in found.groups())
        self.assertGreater(recorded, 20)
        self.assertGreaterEqual(checked, 0.9 * recorded, done.stdout)
        self.assertEqual((passed + inconclusive + warned, failed), (checked, 0), done.stdout)

    def check_documented_verdicts(self, out, model, task):
        verdicts = {row["API name"]: (row["Forward Test Success"], row["Backward Test Success"]) for row in rows_of("result", out)}
        for name in CHARACTERISTIC[model]:
            if task == "tensor" or name not in NOT_WITH_RANDOM_DATA:
                self.assertEqual(verdicts[name], ("pass", "pass"), name)
        # The documents' limits are too narrow for what bfloat16 rounds; whatever else fails is our fault.
        details = rows_of("details", out)
        rounded = {call_of(row) for row in details if row["DEVICE Dtype"] == "torch.bfloat16"} if model == "autocast" else set()
        failed = {call_of(row) for row in details if row["Status"] not in ("pass", "SKIP") and not is_gradient_of_idle_bias(row)}
        self.assertLessEqual(failed, rounded)

    def test_real_data(self):
        self.check("tensor")

    def test_random_data(self):
        self.check("statistics")


if __name__ == "__main__":
    unittest.main()
