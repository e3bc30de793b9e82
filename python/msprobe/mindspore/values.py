# SPDX-License-Identifier: Apache-2.0
"""Tensors and types of MindSpore as dump.json has them."""
from typing import Optional

import mindspore
import numpy
from mindspore._c_expression import typing

from msprobe.common.values import Told, describe_python


def describe_special(value: object, _keyword: Optional[str]) -> Told:
    """("json", what is written) or ("walk", what is described in its place). Objects that nothing is known of become null."""
    if isinstance(value, typing.Type):
        return "json", {"type": "mindspore.dtype", "value": str(value)}
    return describe_python(value) or ("json", None)


def read_special(tensor: mindspore.Tensor) -> tuple:
    """(type, dtype, shape, requires_grad, elements or None, may be saved, further keys)"""
    dtype = str(tensor.dtype)
    try:
        array = tensor.asnumpy()  # waits for the device; on the CPU it is the tensor's own memory
        if dtype == "BFloat16":
            array = array.view(numpy.uint16)  # its bits: Python's buffers do not know the type
    except (RuntimeError, TypeError, ValueError):
        array = None
    return "mindspore.Tensor", dtype, tuple(tensor.shape), False, array, array is not None, None
