# SPDX-License-Identifier: Apache-2.0
"""msprobe: checks what an accelerator computes.

    import msprobe
    with msprobe.record("dump"):            # every call of the training step
        loss = model(batch).sum(); loss.backward()
    result = msprobe.check("dump", device="npu:0")
    assert result.ok, result

``msprobe.metrics(a, b)`` and ``msprobe.testing.assert_close(a, b)`` measure two tensors.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from msprobe.common.installation import builds, warn_of_public_package

if TYPE_CHECKING:
    from msprobe import testing
    from msprobe._version import __version__
    from msprobe.checking import Call, CheckError, CheckResult, DeviceMissing, Failure, check, check_calls
    from msprobe.functions import kernel, reference
    from msprobe.functions.verify import verify
    from msprobe.pair import metrics
    from msprobe.recording import record

# Loaded on first use: a training that only records pays for nothing else, and the scripts of a clone run before it is built.
_HOMES = {
    "Call": "checking",
    "CheckError": "checking",
    "CheckResult": "checking",
    "DeviceMissing": "checking",
    "Failure": "checking",
    "__version__": "_version",
    "check": "checking",
    "check_calls": "checking",
    "kernel": "functions",
    "metrics": "pair",
    "record": "recording",
    "reference": "functions",
    "testing": "testing",
    "verify": "functions.verify",
}

__all__ = ["Call", "CheckError", "CheckResult", "DeviceMissing", "Failure", "__version__", "check", "check_calls", "kernel",
           "metrics", "record", "reference", "testing", "verify"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'msprobe' has no attribute {name!r}")
    module = importlib.import_module(f"msprobe.{_HOMES[name]}")
    return module if name == _HOMES[name] else getattr(module, name)  # "verify" is a function of its module


def __dir__() -> list[str]:
    return sorted(__all__)


# In a clone the native modules lie in its build directory.
__path__ += [os.path.join(build, "python", "msprobe") for build in builds()]
warn_of_public_package()
