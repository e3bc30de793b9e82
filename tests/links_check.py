#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Symbolic links that a user names as input are followed: the tables are those of the files that the links lead to. Links that lead out of a
dump are in tests/hostile_files.py.

usage: links_check.py PROGRAM [engine]
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent
CASES, EXAMPLES = SOURCE / "cases", SOURCE.parent / "examples"
CONFIG = '{"acc_check": {"white_list": ["relu"]}}\n'


def tables(out: pathlib.Path) -> dict[str, bytes]:
    """Of a run, without the time in their names."""
    return {path.name.rpartition("_")[0]: path.read_bytes() for path in sorted(out.glob("*.csv"))}


def main() -> int:
    program, has_engine = sys.argv[1], sys.argv[2:] == ["engine"]
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        config = scratch / "files" / "config.json"
        config.parent.mkdir()
        config.write_text(CONFIG)

        def link(to: pathlib.Path) -> pathlib.Path:
            made = scratch / "links" / str(len(list((scratch / "links").iterdir()))) / to.name
            made.parent.mkdir()
            made.symlink_to(to)
            return made

        (scratch / "links").mkdir()
        convnet, equal = SOURCE / "data/dumps/convnet_statistics", CASES / "compare_equal_runs"
        runs = [
            ("api_precision_compare", ["api_precision_compare", "-npu", EXAMPLES / "two_devices/npu_details.csv", "-gpu",
                                       EXAMPLES / "two_devices/gpu_details.csv"]),
            ("compare", ["compare", "-tp", equal / "target.json", "-gp", equal / "golden.json"]),
        ]
        if has_engine:
            runs += [
                ("acc_check of a file", ["acc_check", "-api_info", convnet / "dump.json", "-d", "cpu", "-config", config]),
                ("acc_check of a directory", ["acc_check", convnet, "-d", "cpu", "-config", config]),
            ]
        for number, (what, words) in enumerate(runs):
            found = []
            for kind in ("files", "links"):
                given = [link(word) if kind == "links" and isinstance(word, pathlib.Path) else word for word in words]
                out = scratch / kind / f"out{number}"
                done = subprocess.run([program, *map(str, given), "-o", out], capture_output=True, text=True)
                found.append((done.returncode, {name: text.replace(b"links/", b"") for name, text in tables(out).items()}))
                if done.returncode == 2 or not found[-1][1]:
                    wrong.append(f"{what}, {kind}: status {done.returncode}, {done.stderr.strip()[-300:]}")
            same = [found[0][0] == found[1][0], sorted(found[0][1]) == sorted(found[1][1])]
            # The command that runs a call again names the dump as it was given.
            same += [len(text.splitlines()) == len(found[1][1].get(name, b"").splitlines()) for name, text in found[0][1].items()]
            same += [text == found[1][1].get(name) for name, text in found[0][1].items() if "checking_details" not in name]
            if not all(same):
                wrong.append(f"{what}: {found}")
        loop = scratch / "loop.json"
        loop.symlink_to(loop.name)
        done = subprocess.run([program, "compare", "-tp", loop, "-gp", equal / "golden.json", "-o", scratch / "loop"], capture_output=True, text=True)
        if done.returncode != 2 or "loop.json" not in done.stderr:
            wrong.append(f"a link to itself: status {done.returncode}, {done.stderr}")
    print("\n".join(wrong) or f"{len(runs)} commands follow links")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
