# SPDX-License-Identifier: Apache-2.0
"""Reading GE dump files from Python, for scripts that reduce a TorchAir dump in their own way.

The conversion script of the TorchAir documentation runs with its import line changed to
``from msprobe.torchair import parse_torchair_dump_data``; ``msprobe convert_info`` does the same without Python.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile

import numpy as np

from msprobe.common import program

__all__ = ["parse_torchair_dump_data"]


def _arrays(directory: str, side: str) -> list[np.ndarray]:
    files = sorted(pathlib.Path(directory).glob(f"{side}.*.npy"), key=lambda file: int(file.name.split(".")[1]))
    return [np.load(file) for file in files]


def parse_torchair_dump_data(path: str | os.PathLike[str]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The inputs and the outputs of one GE dump file, in the shape the network sees.

    An npz with the arrays "inputs" and "outputs", as that script writes it, is read too: the tensors lie along their first dimension.
    bfloat16 and the 8-bit formats become float32, int4 becomes int8. A damaged file raises ValueError.
    """
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(
            [program.find(), "convert_info", os.fspath(path), "--arrays", scratch], capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise ValueError(result.stderr.strip() or f"{path}: cannot be read")
        return _arrays(scratch, "input"), _arrays(scratch, "output")
