# SPDX-License-Identifier: Apache-2.0
"""Runs something under a debugger of its own and hands back what was written."""
import contextlib
import glob
import io
import json
import os
import shutil
import tempfile

import torch

from msprobe.pytorch import PrecisionDebugger


@contextlib.contextmanager
def debugger(config=None, **given):
    """A PrecisionDebugger that writes into a temporary directory; the singleton is taken back afterwards."""
    directory = tempfile.mkdtemp(prefix="collected_")
    path = os.path.join(directory, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"task": "statistics", "dump_path": os.path.join(directory, "dump"), **(config or {})}, file)
    made = PrecisionDebugger(config_path=path, **given)
    try:
        yield made
    finally:
        with contextlib.redirect_stderr(io.StringIO()):
            made._end()
        if made._watch is not None:
            made._watch.close()
        PrecisionDebugger._instance = None
        shutil.rmtree(directory)


def step_directory(made, step=0):
    found = glob.glob(os.path.join(glob.escape(made.dump_path), f"step{step}", "*"))
    assert len(found) == 1, found
    return found[0]


def read(made, step=0, name="dump.json"):
    with open(os.path.join(step_directory(made, step), name), encoding="utf-8") as file:
        return json.load(file)


def record(work, config=None):
    """The entries that one step of `work` leaves."""
    with debugger(config) as made:
        made.start()
        work()
        made.stop()
        made.step()
        return read(made)["data"]


def forwards(data):
    """The calls of a dump, without the direction."""
    return [name[:-len(".forward")] for name in data if name.endswith(".forward")]


def sine_of_exponent(x):
    return torch.exp(x).sin()


class SineOfExponent(torch.nn.Module):
    """A block of two calls."""

    def forward(self, x):
        return sine_of_exponent(x)
