#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A convolutional network trains for a step here and now, so with this machine's kernels, and is recorded; the engine computes every call
of it again, digit for digit. Nothing in it is random.

usage: equal_precision_trained.py ENGINE
"""
import pathlib
import subprocess
import sys
import tempfile

TRAINING = pathlib.Path(__file__).resolve().parent / "data" / "collector" / "train.py"


def main():
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.executable, "-W", "ignore", TRAINING, "convnet", "tensor", out], stdout=subprocess.DEVNULL, check=True)
        (dump,) = pathlib.Path(out).glob("step0/*/dump.json")
        return subprocess.run([sys.argv[1], "--replay", dump, "--equal-precision"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
