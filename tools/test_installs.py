#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way to install, with PyTorch in every place: used from another directory, and where the programs look for libraries is read.

usage: test_installs.py [--places clone user system] [--directory DIR] [--python PYTHON] [--flags=-O1]
Ways: the build tree, `cmake --install` and `pip install .`. Places of PyTorch: .venv of the clone, a virtual environment of the user, the
Python of the system. A copy of what is committed is built once for each place; run by hand, it takes a few minutes of compiling for each.
PYTHON (default: python3) has PyTorch; the virtual environments get hard links to its packages, or copies.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests" / "collector"))
from test_installed import loaded_libtorch


def run(*command, **options):
    print("+", *(str(word) for word in command), flush=True)
    done = subprocess.run([str(word) for word in command], **options)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {' '.join(str(word) for word in command)}")


def answer(python, script):
    return subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def make_environment(python, directory):
    """A virtual environment with PyTorch in it."""
    run(python, "-m", "venv", directory)
    packages = pathlib.Path(answer(python, "import torch, os; print(os.path.dirname(torch.__path__[0]))"))
    there = pathlib.Path(answer(directory / "bin" / "python", "import sysconfig; print(sysconfig.get_path('purelib'))"))

    def link(source, target):
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    for item in packages.iterdir():
        target = there / item.name
        if target.exists() or item.name.startswith(("msprobe", "api_accuracy_checker", "__pycache__")):
            continue
        if item.is_dir():
            shutil.copytree(item, target, symlinks=True, copy_function=link)
        elif item.suffix != ".pth":
            link(item, target)
    return directory / "bin" / "python"


class Place:
    """One place of PyTorch: `python` has it, and is what `pip install .` is for."""

    def __init__(self, name, clone, scratch, python):
        self.name, self.clone = name, clone
        self.torch_python = python
        if name == "clone":
            self.torch_python = make_environment(python, clone / ".venv")
        elif name == "user":
            self.torch_python = make_environment(python, scratch / "user_venv")
        self.python = self.torch_python
        if name == "system":  # which stays as it is
            run(python, "-m", "venv", "--system-site-packages", scratch / "beside_system")
            self.python = scratch / "beside_system" / "bin" / "python"
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("MSPROBE") and key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        # The same for every place, so that a compiler cache serves the files that do not see PyTorch.
        self.build = clone / "build" / "release"
        shutil.rmtree(self.build, ignore_errors=True)
        self.elsewhere = scratch / f"elsewhere_{name}"
        self.elsewhere.mkdir()

    def pip(self, flags):
        options = ["--config-settings", f"build-dir={self.build}"]
        options += ["--config-settings", f"cmake.define.CMAKE_CXX_FLAGS_RELEASE={flags}"] if flags else []
        run(self.python, "-m", "pip", "install", "--quiet", *options, self.clone, cwd=self.elsewhere, env=self.environment)
        prefix = answer(self.python, "import sys; print(sys.prefix)")
        # As `activate` of the virtual environment does.
        environment = {**self.environment, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "MSPROBE_INSTALLED": prefix}
        run(self.python, self.clone / "tests" / "collector" / "test_installed.py", cwd=self.elsewhere, env=environment)
        run(self.python, self.clone / "tests" / "runpath_check.py", "--installed", prefix, cwd=self.elsewhere)
        self.check(pathlib.Path(prefix) / "bin" / "msprobe", "pip", environment)

    def cmake(self, flags):
        run("cmake", "--preset", "release", "--fresh", "-B", self.build, "-DMSPROBE_TESTS=OFF", "-DMSPROBE_BENCHMARKS=OFF",
            f"-DMSPROBE_PYTHON={self.torch_python}", f"-DMSPROBE_TORCH={'venv' if self.name == 'clone' else self.torch_directory()}",
            *([f"-DCMAKE_CXX_FLAGS_RELEASE={flags}"] if flags else []), cwd=self.clone, env=self.environment, stdout=subprocess.DEVNULL)
        run("cmake", "--build", self.build, stdout=subprocess.DEVNULL)
        self.check(self.build / "bin" / "msprobe", "tree", self.environment)
        run(self.python, self.clone / "tests" / "runpath_check.py", self.build, cwd=self.elsewhere)
        run(self.python, self.clone / "tests" / "collector" / "test_installed.py", cwd=self.elsewhere,
            env={**self.environment, "MSPROBE_BUILD_DIR": str(self.build)})
        prefix = self.elsewhere / "prefix"
        run("cmake", "--install", self.build, "--prefix", prefix, stdout=subprocess.DEVNULL)
        self.check(prefix / "bin" / "msprobe", "install", self.environment)

    def torch_directory(self):
        return answer(self.torch_python, "import torch; print(torch.__path__[0])")

    def check(self, program, name, environment):
        """The example dump that every installation has, from a directory with nothing in it, on the PyTorch of this place."""
        dump = self.clone / "share" / "msprobe" / "self_check" / "dump.json"
        command = [program, "acc_check", "-api_info", dump, "-d", "cpu", "-o", self.elsewhere / f"result_{name}"]
        done = subprocess.run(command, cwd=self.elsewhere, env=environment, capture_output=True, text=True)
        # Status 1: near their limits the documented verdicts depend on the CPU's kernels. The strict one does not.
        if done.returncode not in (0, 1) or not re.search(r"checked [1-9].*strict: passed [1-9].*failed 0", done.stdout):
            raise RuntimeError(f"status {done.returncode}: {program} acc_check\n{done.stdout}{done.stderr}")
        print(f"{program} {done.stdout.strip().splitlines()[-1]}", flush=True)
        loaded = loaded_libtorch(program.parent / "msprobe-engine", self.elsewhere, environment)
        if loaded != os.path.realpath(f"{self.torch_directory()}/lib/libtorch_cpu.so"):
            raise RuntimeError(f"{program} has the PyTorch of another place: {loaded}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", nargs="+", default=["clone", "user", "system"], choices=["clone", "user", "system"])
    parser.add_argument("--directory", help="where it is done, and left afterwards; default: a temporary one")
    parser.add_argument("--python", default=shutil.which("python3"))
    parser.add_argument("--flags", default="", help="of the compiler, in place of the release's: -O1 is quicker")
    arguments = parser.parse_args()
    kept = pathlib.Path(arguments.directory).resolve() if arguments.directory else None
    with tempfile.TemporaryDirectory(prefix="installs_") as temporary:
        scratch = kept or pathlib.Path(temporary)
        scratch.mkdir(exist_ok=True)
        clone = scratch / "clone"
        run("git", "clone", "--quiet", SOURCE, clone)
        python = answer(arguments.python, "import sys; print(sys.executable)")
        failed = []
        for name in arguments.places:
            try:
                place = Place(name, clone, scratch, python)
                place.pip(arguments.flags)
                place.cmake(arguments.flags)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(f"PyTorch in {name}: {error}")
                print(failed[-1], flush=True)
            else:
                print(f"PyTorch in {name}: build tree, cmake --install and pip install work", flush=True)
    print("\n".join(failed) or "all places work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
