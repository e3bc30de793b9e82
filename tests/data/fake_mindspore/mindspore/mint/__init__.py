import os
import signal

import numpy

import mindspore
from mindspore.mint import nn  # noqa: F401


class special:
    """A module inside the module."""

    @staticmethod
    def expm1(x):
        return mindspore.Tensor(numpy.expm1(x.asnumpy()))


def mul(x, y):
    return mindspore.Tensor(x.asnumpy() * (y.asnumpy() if isinstance(y, mindspore.Tensor) else y))


def cat(tensors, dim=0):
    return mindspore.Tensor(numpy.concatenate([tensor.asnumpy() for tensor in tensors], dim))


def max(x, dim):
    return mindspore.Tensor(x.asnumpy().max(dim)), mindspore.Tensor(x.asnumpy().argmax(dim))


def full(size, value):
    return mindspore.Tensor(numpy.full(size, value, numpy.float32))


def echo(*args, **kwargs):
    return repr(args), repr(sorted(kwargs.items())), float("nan"), 2, None


def numbers(x):
    return [float(value) for value in x.asnumpy()]


def raises(_x):
    raise ValueError("not this time\n----\nC++ Call Stack")


def crashes(_x):
    os.kill(os.getpid(), signal.SIGSEGV)


def exits(_x):
    os._exit(3)


def neg(x):
    """Ends the process where $FAKE_MINDSPORE_CRASH asks for it."""
    if os.environ.get("FAKE_MINDSPORE_CRASH"):
        crashes(x)
    return mindspore.Tensor(-x.asnumpy())
