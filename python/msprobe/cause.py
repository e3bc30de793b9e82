# SPDX-License-Identifier: Apache-2.0
"""The likely cause of a difference between two tensors: what ``msprobe acc_check`` finds if the pair is given to it as a copy gone wrong."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from msprobe.common import new_file
from msprobe.common.step_directory import TENSORS

__all__ = ["likely_cause"]

# Beyond so many elements it would take longer than a person waits.
_MOST_ELEMENTS = 1 << 24
_INPUT, _OUTPUT = "Tensor.clone.0.forward.input.0", "Tensor.clone.0.forward.output.0"


def likely_cause(actual: Any, expected: Any) -> str:
    """Empty if nothing fits, or if this installation has no engine. `actual` and `expected` are as pair.lend() gives them."""
    from msprobe.checking import CheckError, check

    if actual[1] != expected[1] or actual[0].size > _MOST_ELEMENTS:
        return ""
    with tempfile.TemporaryDirectory(prefix="msprobe_pair_") as directory:
        new_file.make_directories(os.path.join(directory, TENSORS))
        entry = {"input_args": [_store(directory, _INPUT, expected)], "input_kwargs": {}, "output": [_store(directory, _OUTPUT, actual)]}
        dump = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": os.path.join(directory, TENSORS),
                "data": {"Tensor.clone.0.forward": entry}}
        path = os.path.join(directory, "dump.json")
        new_file.write_json(path, dump)
        try:
            failures = check(path, "recorded", progress=False).failures
        except (CheckError, OSError):
            return ""
    return failures[0].cause if failures else ""


def _store(directory: str, name: str, lent: Any) -> dict[str, Any]:
    content, dtype, shape = lent
    torch = sys.modules.get("torch")
    if torch is not None:
        file = f"{name}.pt"
        with new_file.new_file(os.path.join(directory, TENSORS, file)) as out:
            torch.save(torch.from_numpy(content).view(getattr(torch, dtype)).reshape(shape).clone(), out)
    else:
        import numpy

        file = f"{name}.npy"
        with new_file.new_file(os.path.join(directory, TENSORS, file)) as out:
            numpy.save(out, content.view(dtype).reshape(shape))
    return {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": list(shape), "Max": None, "Min": None, "Mean": None, "Norm": None,
            "requires_grad": False, "data_name": file}
