#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small project of someone else (tests/consumer) finds an installed msprobe with find_package, is built on it, and runs.

usage: consumer_check.py BUILD_DIR            what `cmake --install` makes of it
       consumer_check.py --installed PREFIX
"""
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent
DUMP = TESTS.parent / "share" / "msprobe" / "self_check" / "dump.json"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}: {command}\n{done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as scratch:
    prefix, build = pathlib.Path(scratch) / "prefix", pathlib.Path(scratch) / "build"
    if sys.argv[1] == "--installed":
        prefix = pathlib.Path(sys.argv[2]).resolve()
    else:
        run("cmake", "--install", sys.argv[1], "--prefix", prefix, "--component", "dev")
    run("cmake", "-G", "Ninja", "-S", TESTS / "consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", build)
    out = run(build / "consumer", DUMP)
print(out, end="")
calls, metrics = out.splitlines()
if int(calls.split()[0]) < 10 or metrics != "max_abs_error 1, within 0.01: 3":
    sys.exit("that is not what the dump and the pair hold")
