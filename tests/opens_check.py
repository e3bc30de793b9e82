#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Under strace: a comparison opens every file of the two dumps once, and reads none of the tables it writes.

usage: opens_check.py PROGRAM
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tools"))
import make_torchair_dump

RECORDINGS = SOURCE / "tests" / "data" / "dump_compare" / "recordings.tar.xz"
BEGUN = re.compile(r"^(\d+) +open(?:at|at2)?\(.*?(O_[A-Z_|]+)")
ENDED = re.compile(r"^(\d+) .* = \d+<([^>]*)>$")
GRAPH_DUMPS = {
    "fx": [],
    "converted": ["--container", "min_max"],
    "statistics": ["--container", "csv"],
    "slices": ["--slices", "MatMul=0:2", "--ranks", "0,1", "--tokens", "0,1"],
    "fusion_off": ["--reference", "fusion_off"],
    "older": ["--layout", "older", "--graphs", "1,2"],
}


def opened(program, words, folder, out):
    """How often each file below `folder` and each file of the answer was opened for reading."""
    trace = folder / "trace.txt"
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", "trace=open,openat,openat2", program, "compare", *words, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}, check=False)
    dumps, answers = collections.Counter(), collections.Counter()
    flags = {}  # of the call that a thread has begun: another may be written before it ends
    for line in trace.read_text(errors="replace").splitlines():
        if begun := BEGUN.search(line):
            flags[begun[1]] = begun[2]
        ended = ENDED.search(line)
        if not ended or "O_DIRECTORY" in flags[ended[1]]:
            continue
        path = pathlib.Path(ended[2])
        if out in path.parents:
            # A workbook is packed from its sheets, which the library that writes it does by itself.
            if path.suffix in (".csv", ".json") and "O_RDONLY" in flags[ended[1]]:
                answers[path.name] += 1
        elif folder in path.parents and path != trace:
            dumps[str(path.relative_to(folder))] += 1
    return done, dumps, answers


def check(name, program, words, folder, wrong):
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    done, dumps, answers = opened(program, words, folder, out)
    if done.returncode not in (0, 1) or len(dumps) < 10:
        wrong.append(f"{name}: exit status {done.returncode}, {len(dumps)} files opened: {done.stderr[-300:]}")
    wrong += [f"{name}: opened {count} times: {path}" for path, count in sorted(dumps.items()) if count > 1]
    wrong += [f"{name}: read after it was written: {path}" for path in answers]
    print(f"{name}: {len(dumps)} files, opened at most {max(dumps.values(), default=0)} times")


def main():
    program = sys.argv[1]
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory(prefix="msprobe_opens_") as scratch:
        scratch = pathlib.Path(os.path.realpath(scratch))
        for name, options in GRAPH_DUMPS.items():
            folder = scratch / name
            make_torchair_dump.main([str(folder), *options])
            golden = next(g for g in ("msprobe_fx_dump", "data_dump", "fusion_off/msprobe_ge_dump") if (folder / g).is_dir())
            words = ["-tp", str(folder / "msprobe_ge_dump"), "-gp", str(folder / golden), "--json", str(folder / "out" / "rows.json")]
            check(name, program, words, folder, wrong)
        with tarfile.open(RECORDINGS) as archive:
            archive.extractall(scratch, filter="data")
        for name, least in (("gpt2_tensor", []), ("gpt2_tensor", ["-da", "--xlsx"])):
            folder = scratch / name
            sides = [str(folder / side / "dump.json") for side in ("target", "golden")]
            words = ["-tp", sides[0], "-gp", sides[1], "--json", str(folder / "out" / "rows.json"), *least]
            check(" ".join([name, *least]), program, words, folder, wrong)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
