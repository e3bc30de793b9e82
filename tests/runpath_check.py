#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every program and library, built and installed, looks for others in directories that it needs and nowhere else: each entry of its RUNPATH
is absolute and holds a library that it names, and with them it finds all it names. The engines of a package name no PyTorch: they are told
where that of the user's Python is.

usage: runpath_check.py BUILD_DIR               what is built there, and what `cmake --install` makes of it
       runpath_check.py --installed PREFIX    what `pip install .` put into a virtual environment
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DYNAMIC = re.compile(r"\((NEEDED|RPATH|RUNPATH)\)[^[]*\[(.*)\]")


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16] in (2, 3)  # a program or a shared library, no object file


def faults_of(path, torch):
    listing = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    found = DYNAMIC.findall(listing)
    needed = [value for kind, value in found if kind == "NEEDED"]
    for value in (value for kind, value in found if kind != "NEEDED"):
        for entry in value.split(":"):
            if not entry.startswith("/"):
                yield f"{entry!r} of {value!r} depends on where it is started"
            elif not any((pathlib.Path(entry) / name).exists() for name in needed):
                yield f"{entry!r} of {value!r} holds nothing that it needs"
    with tempfile.TemporaryDirectory() as elsewhere:
        told = {**os.environ, "LD_LIBRARY_PATH": torch} if path.parent.name.startswith("torch-") else None
        libraries = subprocess.run(["ldd", path], cwd=elsewhere, env=told, capture_output=True, text=True, check=False).stdout
    yield from (line.strip() for line in libraries.splitlines() if "not found" in line)


def files_of_pip(prefix):
    packages = prefix.glob("lib/python3*/site-packages/msprobe")
    return [path for path in (prefix / "bin").iterdir() if "msprobe" in path.name] + files_below(prefix / "libexec" / "msprobe", *packages)


def files_below(*roots):
    return [path for root in roots for path in root.rglob("*")]


def main():
    torch = ""
    with tempfile.TemporaryDirectory() as prefix:
        if sys.argv[1] == "--installed":
            files = files_of_pip(pathlib.Path(sys.argv[2]).resolve())
            torch = subprocess.run([pathlib.Path(sys.argv[2]) / "bin" / "python3", "-c", "import torch; print(torch.__path__[0] + '/lib')"],
                                   capture_output=True, text=True, check=False).stdout.strip()
        else:
            build = pathlib.Path(sys.argv[1]).resolve()
            subprocess.run(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
            files = files_below(build / "bin", build / "python", build / "src", pathlib.Path(prefix))
        files = list(filter(is_elf, files))
        wrong = [f"{path}: {fault}" for path in files for fault in faults_of(path, torch)]
    print("\n".join(wrong))
    print(f"{len(files)} programs and libraries, {len(wrong)} faults")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
