# SPDX-License-Identifier: Apache-2.0
"""An installation, used from elsewhere: that of `cmake --install` on the build directory, or the one that $MSPROBE_INSTALLED names, such as
the virtual environment of a `pip install .` whose Python runs this."""
import glob
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import unittest

GIVEN = os.environ.get("MSPROBE_INSTALLED")
BUILD = os.environ.get("MSPROBE_BUILD_DIR")

TRAINING = """
import torch
from msprobe.pytorch import PrecisionDebugger
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
debugger = PrecisionDebugger(dump_path="dump", task="tensor")
debugger.start(model)
torch.nn.functional.cross_entropy(model(torch.randn(6, 8)), torch.randint(0, 4, (6,))).backward()
optimizer.step()
debugger.stop()
debugger.step()
"""


def loaded_libtorch(engine, directory, environment):
    """The file of libtorch_cpu.so that an engine starts with."""
    with tempfile.TemporaryDirectory() as scratch:
        told = {**environment, "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": os.path.join(scratch, "log")}
        subprocess.run([engine, "--help"], cwd=directory, env=told, capture_output=True, check=True)
        logs = "".join(pathlib.Path(log).read_text(encoding="utf-8", errors="replace") for log in glob.glob(os.path.join(scratch, "log.*")))
    return os.path.realpath(re.search(r"calling init: (\S+/libtorch_cpu\.so\S*)", logs).group(1))


@unittest.skipUnless(GIVEN or BUILD, "needs a build directory or an installation")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.elsewhere = os.path.join(os.path.realpath(cls.scratch.name), "elsewhere")
        os.mkdir(cls.elsewhere)
        cls.prefix = GIVEN or os.path.join(os.path.dirname(cls.elsewhere), "installed")
        packages = sysconfig.get_path("purelib", "venv" if "venv" in sysconfig.get_scheme_names() else "posix_prefix", {"base": cls.prefix})
        cls.package = os.path.join(packages, "msprobe")
        # Nothing of the source or build directory is on a path.
        cls.environment = {key: value for key, value in os.environ.items() if not key.startswith("MSPROBE") and key != "PYTHONPATH"}
        cls.environment["PATH"] = os.path.join(cls.prefix, "bin") + os.pathsep + os.environ["PATH"]
        if not GIVEN:
            subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)
            cls.environment["PYTHONPATH"] = packages
        cls.has_engine = os.path.exists(os.path.join(cls.prefix, "bin", "msprobe-engine"))
        places = ("bin", os.path.join("libexec", "msprobe", "torch-*"))  # beside msprobe; in a package beside each engine
        cls.has_sim = any(glob.glob(os.path.join(cls.prefix, place, "libmsprobe-sim.so")) for place in places)
        cls.run_there(sys.executable, "-W", "ignore", "-c", TRAINING)
        (cls.dump,) = glob.glob(os.path.join(cls.elsewhere, "dump", "step0", "*", "dump.json"))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_there(cls, *command, status=0):
        done = subprocess.run(command, cwd=cls.elsewhere, env=cls.environment, capture_output=True, text=True)
        assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def test_the_commands_are_found(self):
        self.assertRegex(self.run_there("msprobe", "--version"), r"\d+\.\d+\.\d+")
        self.assertIn("acc_check", self.run_there("msprobe", "--help"))

    def test_the_package_and_its_files(self):
        script = "import msprobe, api_accuracy_checker; from msprobe.pytorch import PrecisionDebugger, seed_all; print(msprobe.__file__)"
        self.assertEqual(self.run_there(sys.executable, "-c", script).strip(), os.path.join(self.package, "__init__.py"))
        for file in ("pytorch/api_accuracy_checker/config.yaml", "pytorch/hook_module/risk_levels.yaml",
                     "pytorch/hook_module/support_wrap_ops.yaml"):
            self.assertTrue(os.path.exists(os.path.join(self.package, file)), file)
        for file in ("config.yaml", "self_check/dump.json"):
            self.assertTrue(os.path.exists(os.path.join(self.prefix, "share", "msprobe", file)), file)
        self.assertFalse(glob.glob(os.path.join(self.prefix, "**", "site-packages", "share"), recursive=True))

    def test_config_yaml_of_the_package_is_read(self):
        if GIVEN:
            self.skipTest("the given installation stays as it is")
        if not self.has_engine:
            self.skipTest("no engine")
        path = os.path.join(self.package, "pytorch", "api_accuracy_checker", "config.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write("white_list: [linear]\n")
            self.assertIn("checked 2", self.run_there("msprobe", "acc_check", "-api_info", self.dump, "-d", "cpu", "-o", "listed", "-v"))
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def test_check_and_report(self):
        if not self.has_engine:
            self.skipTest("no engine")
        self.assertIn("failed 0", self.run_there("msprobe", "acc_check", "-api_info", self.dump, "-d", "cpu", "-o", "cpu", "-v"))
        (result,) = glob.glob(os.path.join(self.elsewhere, "cpu", "accuracy_checking_result_*.csv"))
        self.run_there("msprobe", "report", result, "--dump", self.dump, "-o", "report.html")
        with open(os.path.join(self.elsewhere, "report.html"), encoding="utf-8") as file:
            self.assertTrue('"kind": "check"' in file.read())

    def test_the_simulated_device_lies_beside_the_engine(self):
        if not self.has_sim:
            self.skipTest("no simulated device, it needs PyTorch 2.6")
        out = self.run_there(
            "msprobe", "acc_check", "-api_info", self.dump, "-d", "sim", "--sim-profile", "tf32", "--allow-tf32", "-o", "sim", "-v"
        )
        self.assertRegex(out, r"checked [1-9].*strict: .*failed 0")
        self.assertIn("times_two", self.run_there("msprobe", "self_check", "--only", "times_two"))

    def test_the_engine_finds_its_pytorch(self):
        if not self.has_engine:
            self.skipTest("no engine")
        torch = self.run_there(sys.executable, "-c", "import torch; print(torch.__path__[0])").strip()
        engine = os.path.join(self.prefix, "bin", "msprobe-engine")
        self.assertEqual(loaded_libtorch(engine, self.elsewhere, self.environment), os.path.realpath(f"{torch}/lib/libtorch_cpu.so"))

    def test_the_engine_of_a_package_says_what_it_was_built_for(self):
        if not glob.glob(os.path.join(self.prefix, "libexec", "msprobe", "torch-*")):
            self.skipTest("no package")
        engine = os.path.join(self.prefix, "bin", "msprobe-engine")
        other = os.path.join(self.elsewhere, "other")
        os.makedirs(os.path.join(other, "torch"))
        for name, text in (("__init__.py", ""), ("version.py", "__version__ = '2.99.0'\n")):
            pathlib.Path(other, "torch", name).write_text(text, encoding="utf-8")
        done = subprocess.run([engine, "--help"], cwd=other, env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, "PyTorch in the working directory is not the user's")
        done = subprocess.run([engine, "--help"], env={**self.environment, "PYTHONPATH": other}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"built for PyTorch [0-9.]+( and [0-9.]+)*, but .* has PyTorch 2\.99\.0\. Install such a PyTorch")


if __name__ == "__main__":
    unittest.main()
