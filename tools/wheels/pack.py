#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make wheels of an installed prefix: msprobe (the Python package) and msprobe-programs (the programs and their engines).

usage: pack.py PREFIX OUT [MACHINE]     MACHINE: x86_64 or aarch64, if not this one
"""
import base64
import csv
import hashlib
import io
import pathlib
import re
import stat
import sys
import sysconfig
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = re.search(r"project\(msprobe VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
PLATFORM = "linux-" + sys.argv[3] if len(sys.argv) > 3 else sysconfig.get_platform()
TAG = "py3-none-" + PLATFORM.replace("-", "_").replace(".", "_")
PACKAGES = "lib/python3/dist-packages"
PICKER = (SOURCE / "apps/engine/pick_engine.py.in").read_text(encoding="utf-8").replace("@MSPROBE_ENGINE_PYTHON@", "python")


def metadata(name, summary, *further):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {VERSION}", f"Summary: {summary}", "License: Apache-2.0",
             "Requires-Python: >=3.8", *further]
    return "\n".join(lines) + "\n"


class Wheel:
    def __init__(self, out, name):
        self.stem = f"{name.replace('-', '_')}-{VERSION}"
        self.file = zipfile.ZipFile(out / f"{self.stem}-{TAG}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, program=False):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr = (stat.S_IFREG | (0o755 if program else 0o644)) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(info, content)
        data = content.encode() if isinstance(content, str) else content
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append((name, f"sha256={digest}", len(data)))

    def add_tree(self, directory, prefix, wanted=lambda path: True):
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory).as_posix()
            if path.is_file() and wanted(name):
                self.add(prefix + name, path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))

    def close(self, text, entry_points=""):
        info = f"{self.stem}.dist-info"
        self.add(f"{info}/METADATA", text)
        self.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: msprobe\nRoot-Is-Purelib: false\nTag: {TAG}\n")
        self.add(f"{info}/licenses/LICENSE", (SOURCE / "LICENSE").read_text(encoding="utf-8"))
        if entry_points:
            self.add(f"{info}/entry_points.txt", entry_points)
        rows = io.StringIO()
        csv.writer(rows, lineterminator="\n").writerows([*self.record, (f"{info}/RECORD", "", "")])
        self.file.writestr(f"{info}/RECORD", rows.getvalue())
        self.file.close()


def main():
    prefix, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    wheel = Wheel(out, "msprobe")
    wheel.add_tree(prefix / PACKAGES, "", lambda name: ".dist-info/" not in name and "__pycache__" not in name)
    lacks = {path.relative_to(SOURCE / "python").as_posix() for path in (SOURCE / "python").rglob("*") if path.is_file()}
    lacks -= {name for name, _, _ in wheel.record}
    lacks = sorted(name for name in lacks if "__pycache__" not in name)
    if lacks:
        sys.exit(f"pack.py: {prefix} lacks files of the Python package: {', '.join(lacks)}")
    wheel.close(metadata("msprobe", "Precision pre-check for deep-learning training: records a training call by call, replays and judges it"),
                "[pytest11]\nmsprobe = msprobe.pytest_plugin\n")

    wheel = Wheel(out, "msprobe-programs")
    data = f"{wheel.stem}.data"
    wheel.add(f"{data}/scripts/msprobe", (prefix / "bin/msprobe").read_bytes(), program=True)
    wheel.add(f"{data}/scripts/msprobe-engine", PICKER, program=True)
    wheel.add_tree(prefix / "libexec", f"{data}/data/libexec/", lambda name: "/torch-" in name)
    wheel.add_tree(prefix / "share", f"{data}/data/share/", lambda name: not name.startswith("doc/"))
    wheel.close(metadata("msprobe-programs", "The programs of msprobe, with engines for several PyTorch versions", f"Requires-Dist: msprobe (=={VERSION})"))


if __name__ == "__main__":
    main()
