# SPDX-License-Identifier: Apache-2.0
"""A configuration for a host, and what it left on disk."""
import contextlib
import io
import json
import os
import tempfile

from msprobe.core import SingleSave
from msprobe.pytorch import PrecisionDebugger

# The model's calls in a forward pass, without operators that only the loss has.
MODULES = ["embed.Embedding", "up.Linear", "down.Linear", "norm.LayerNorm", "head.Linear"]


@contextlib.contextmanager
def recording(**config):
    """(directory, path of config.json, what is said); afterwards the process has no debugger."""
    told = io.StringIO()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"task": "statistics", "dump_path": os.path.join(directory, "dump"), "risk_level": "ALL", **config}, file)
        try:
            with contextlib.redirect_stderr(told):
                yield directory, path, told
        finally:
            with contextlib.redirect_stderr(io.StringIO()):
                if PrecisionDebugger._instance is not None:
                    PrecisionDebugger.close()
            SingleSave._instance = None


def dumps(directory):
    """{path below `directory`: entries of its dump.json}, each of them whole."""
    found = {}
    for place, _folders, files in os.walk(directory):
        if "dump.json" in files:
            with open(os.path.join(place, "dump.json"), encoding="utf-8") as file:
                found[os.path.relpath(place, directory)] = list(json.load(file)["data"])
        assert not [name for name in files if name.endswith(".new")], files
    return found


def modules_forward(entries):
    return [name[len("Module."):-len(".forward.0")] for name in entries if name.startswith("Module.") and name.endswith(".forward.0")]
