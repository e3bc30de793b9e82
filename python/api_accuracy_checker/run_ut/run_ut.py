# SPDX-License-Identifier: Apache-2.0
"""python run_ut.py ...: what `msprobe run_ut ...` does."""
import pathlib
import sys

# Started in this directory without PYTHONPATH, the package is two directories up.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent))

from msprobe.common.program import become

if __name__ == "__main__":
    become("run_ut")
