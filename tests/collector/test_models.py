"""Models of several kinds: collected, then checked by acc_check."""
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


@unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe and its engine")
class Models(unittest.TestCase):
    def check(self, task, *models):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([sys.executable, "-W", "ignore", SCRIPT, task, os.path.join(directory, "dump"), *models], check=True)
            for step, model in enumerate(models):
                with self.subTest(model=model, task=task):
                    (path,) = glob.glob(os.path.join(directory, "dump", f"step{step}", "*", "dump.json"))
                    self.assertFalse(os.path.exists(os.path.join(os.path.dirname(path), "dump_error_info.log")))
                    self.check_dump(path, directory)

    def check_dump(self, path, directory):
        done = subprocess.run([MSPROBE, "acc_check", "-api_info", path, "-d", "cpu", "-o", directory], capture_output=True, text=True)
        # The documented limits may fail what bfloat16 rounds, or a mask of infinities; the strict verdicts must not.
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = re.search(r"recorded (\d+), checked (\d+).*strict: passed (\d+), warned \d+, failed (\d+)", done.stdout)
        self.assertTrue(found, done.stdout)
        recorded, checked, _passed, failed = map(int, found.groups())
        self.assertEqual(failed, 0, done.stdout)
        self.assertGreater(recorded, 20)
        self.assertGreaterEqual(checked, 0.9 * recorded, done.stdout)

    def test_real_data(self):
        self.check("tensor", "lstm", "attention", "unet", "autocast")

    def test_random_data(self):
        self.check("statistics", "unet", "lstm")


if __name__ == "__main__":
    unittest.main()
