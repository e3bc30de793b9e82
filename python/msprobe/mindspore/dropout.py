# SPDX-License-Identifier: Apache-2.0
"""Dropout is recorded as it is computed. MindSpore's CPU has no kernel for that of mint; mindspore.ops has one."""
from typing import Callable

from mindspore import ops

from msprobe.common import log


class DropoutOfMint:
    """mint.nn.functional.dropout; where it has no kernel, the dropout of mindspore.ops, and one line that says so."""

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._warned = False

    def __call__(self, *args, **kwargs):
        try:
            return self._function(*args, **kwargs)
        except RuntimeError as error:
            if "unregistered" not in str(error):
                raise
        if not self._warned:
            self._warned = True
            log.warning("mint.nn.functional.dropout has no kernel on this device; mindspore.ops.dropout computes it while recording")
        return _dropout(*args, **kwargs)


def _dropout(input, p=0.5, training=True, inplace=False):  # noqa: A002: the name of mint's argument
    return ops.dropout(input, p=p, training=training)
