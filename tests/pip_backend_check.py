#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pip install .` says what is missing before it downloads or compiles anything (tools/pip/msprobe_build.py).

usage: pip_backend_check.py CXX      the compiler that msprobe was built with
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
ASK = """
import sys
sys.path.insert(0, sys.argv[1])
import msprobe_build
print(msprobe_build.get_requires_for_build_wheel({"cmake.define.MSPROBE_ENGINE": "OFF"} if sys.argv[2] == "OFF" else {}))
"""


def ask(engine="OFF", python=sys.executable, **environment):
    variables = {key: value for key, value in os.environ.items() if key not in ("CMAKE_ARGS", "CMAKE_PREFIX_PATH", "PYTHONPATH")} | environment
    return subprocess.run([python, "-c", ASK, SOURCE / "tools" / "pip", engine], env=variables, capture_output=True, text=True, check=False)


def expect(done, status, *words):
    if (done.returncode == 0) != (status == 0) or any(word not in done.stdout + done.stderr for word in words) or "Traceback" in done.stderr:
        sys.exit(f"expected status {status} and {words}, found {done.returncode}:\n{done.stdout}{done.stderr}")


def main():
    compiler = sys.argv[1]
    expect(ask(CXX=compiler), 0, "scikit-build-core")

    expect(ask(CXX=f"{compiler} -nostdinc"), 1, "needs g++ 12 or clang 16")
    # Every library that CMake would miss is known here.
    text = (SOURCE / "cmake" / "PipInstall.cmake").read_text(encoding="utf-8")
    libraries = set(re.findall(r"want_(?:package|module)\(\S+ (\S+)\)", text)) - {"pkg-config"}
    with tempfile.TemporaryDirectory() as scratch:
        # A compiler that has the standard library alone.
        bare = pathlib.Path(scratch, "bare++")
        bare.write_text(f"#!/bin/sh\nsed 's/__has_include(<[^>]*[/.][^>]*>)/0/' | {compiler} \"$@\"\n", encoding="utf-8")
        bare.chmod(0o755)
        expect(ask(CXX=str(bare)), 1, "install", *libraries)

        # No compiler at all, and an environment without PyTorch.
        expect(ask(CXX="", PATH=scratch), 1, "g++", "pkg-config", "docs/install.md")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", pathlib.Path(scratch, "env")], check=True)
        expect(ask("ON", pathlib.Path(scratch, "env", "bin", "python"), CXX=compiler), 1, "pip install torch")

    # What `pip install .` packs is all of python/.
    packed, = re.findall(r"^wheel.packages = \[(.*)\]$", (SOURCE / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    there = {f"python/{path.name}" for path in (SOURCE / "python").iterdir() if path.is_dir() and path.name != "__pycache__"}
    if there != set(re.findall(r'"(.*?)"', packed)):
        sys.exit(f"pyproject.toml packs {packed}, python/ has {sorted(there)}")
    print("what is missing is said first")


if __name__ == "__main__":
    main()
