#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No Python that the program starts imports a file of the current directory or one beside the dump.

usage: isolation_check.py MSPROBE ENGINE

Both directories hold a module for every name of the standard library and for what the programs import; each of them leaves a mark if it
runs. Tried with every Python 3.7 to 3.14 that is found, because they differ: 3.13 imports a module before it runs the text of -c.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ENGINE = map(os.path.abspath, sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parent.parent
FURTHER = {"torch", "numpy", "mindspore", "msprobe", "torch_npu", "torch_mlu", "torch_musa", "torch_xla", "habana_frameworks",
           "intel_extension_for_pytorch", "te", "tbe", "sitecustomize", "usercustomize", "packaging", "typing_extensions"}
# An empty entry of PYTHONPATH, which an unset variable leaves in PYTHONPATH=/x:$OTHER, is the current directory to Python.
SEARCH_PATHS = (None, ":/nowhere:", ".")


def pythons():
    found = {sys.executable}
    for minor in range(7, 15):
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            found.add(path)
    return sorted(found)


def module_names():
    standard = getattr(sys, "stdlib_module_names", None)
    if standard is None:  # before 3.10
        standard = {path.stem for path in pathlib.Path(os.__file__).parent.iterdir()} | set(sys.modules)
    return sorted(name for name in FURTHER | set(standard) if name.isidentifier())


def tensor(kind, dtype):
    return {"type": kind, "dtype": dtype, "shape": [2, 3], "Max": 2.0, "Min": -1.0, "Mean": 0.5, "Norm": 1.0}


def write_dump(path, framework):
    mindspore = framework == "mindspore"
    value = tensor("mindspore.Tensor", "Float32") if mindspore else tensor("torch.Tensor", "torch.float32")
    name = "Mint.exp.0.forward" if mindspore else "Torch.exp.0.forward"
    data = {name: {"input_args": [value], "input_kwargs": {}, "output": [value]}}
    path.write_text(json.dumps({"task": "statistics", "level": "L1", "framework": framework, "dump_data_dir": None, "data": data}))
    return path


class Isolation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()) if hasattr(cls, "enterClassContext")
                                   else tempfile.mkdtemp())
        cls.mark = cls.scratch / "ran"
        cls.here, cls.dump = cls.scratch / "here", cls.scratch / "dump"
        for directory in (cls.here, cls.dump):
            directory.mkdir()
            for name in module_names():
                # What a module of the interpreter itself offers is enough: another import might be hostile too.
                (directory / f"{name}.py").write_text(
                    "import posix\nposix.write(posix.open({!r}, posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT, 0o600), b'{}\\n')\n"
                    .format(str(cls.mark), f"{directory.name}/{name}"))
        cls.torch_dump = write_dump(cls.dump / "torch.json", "pytorch")
        cls.mindspore_dump = write_dump(cls.dump / "mindspore.json", "mindspore")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch, ignore_errors=True)

    def start(self, *words, program=PROGRAM, **environment):
        """Starts the program in the hostile directory, with each search path; the texts that it said."""
        said = []
        for search_path in SEARCH_PATHS:
            known = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MSPROBE_", "VIRTUAL_ENV", "CONDA"))}
            known.update(environment, MSPROBE_ENGINE=environment.get("MSPROBE_ENGINE", ENGINE))
            if search_path is not None:
                known["PYTHONPATH"] = search_path
            done = subprocess.run([program, *map(str, words)], cwd=self.here, env=known, capture_output=True, text=True, timeout=300,
                                  stdin=subprocess.DEVNULL)
            ran = self.mark.read_text() if self.mark.exists() else ""
            self.assertEqual(ran, "", f"{words} with PYTHONPATH={search_path!r}: {done.stderr}")
            said.append(done.stdout + done.stderr)
        return said

    def test_the_trap_works(self):
        (self.here / "this_is_not_there.py").write_text((self.here / "json.py").read_text())
        subprocess.run([sys.executable, "-c", "import this_is_not_there"], cwd=self.here, capture_output=True,
                       env={key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"})
        self.assertIn("here/json", self.mark.read_text())
        self.mark.unlink()

    def test_the_runner_of_mindspore(self):
        for python in pythons():
            with self.subTest(python):
                for said in self.start("acc_check", self.mindspore_dump, "-o", self.scratch / "o", "-d", "mindspore", MSPROBE_MINDSPORE_PYTHON=python):
                    self.assertIn("cannot run MindSpore", said)

    def test_the_look_up_of_mindspore(self):
        for python in pythons():
            with self.subTest(python):
                self.start("acc_check", self.mindspore_dump, "-o", self.scratch / "o", MSPROBE_MINDSPORE_PYTHON=python)

    def test_commands_on_a_mindspore_dump(self):
        self.start("shrink", self.mindspore_dump, "--only", "Mint.exp.0", "-o", self.scratch / "s")
        self.start("compare", "-tp", self.mindspore_dump, "-gp", self.mindspore_dump, "-o", self.scratch / "c")
        self.start("run_overflow_check", "-api_info", self.mindspore_dump, "-o", self.scratch / "v")

    def test_the_search_for_a_plug_in_and_its_host(self):
        for python in pythons():
            with self.subTest(python):
                self.start("acc_check", self.torch_dump, "-o", self.scratch / "o", "-d", "0", MSPROBE_PYTHON=python)
                for said in self.start("acc_check", self.torch_dump, "-o", self.scratch / "o", "-d", "npu:0", MSPROBE_PYTHON=python):
                    self.assertIn("no device npu:0", said)
                self.start("probe_device", "-d", "npu:0", MSPROBE_PYTHON=python)

    def test_the_script_of_a_package_that_picks_an_engine(self):
        package = self.scratch / "package"
        (package / "bin" / "torch-0.1").mkdir(parents=True)
        shutil.copy(ENGINE, package / "bin" / "torch-0.1" / "msprobe-engine")
        picker = package / "bin" / "msprobe-engine"
        text = (ROOT / "apps" / "engine" / "pick_engine.py.in").read_text()
        for python in pythons():
            with self.subTest(python):
                picker.write_text(text.replace("@MSPROBE_ENGINE_PYTHON@", python))
                picker.chmod(0o755)
                for named in (python, sys.executable):
                    self.start("acc_check", self.torch_dump, "-o", self.scratch / "o", "-d", "cpu", MSPROBE_PYTHON=named, MSPROBE_ENGINE=str(picker))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
