import os

import numpy

if os.environ.get("FAKE_MINDSPORE_BROKEN"):
    raise ImportError("this MindSpore is broken")

__version__ = "0.0-fake"
PYNATIVE_MODE = 1
float32, float16, float64, int64 = "Float32", "Float16", "Float64", "Int64"
bfloat16 = bool_ = "Bool"


class Tensor:
    def __init__(self, array):
        self._array = numpy.array(array)
        self._hooks = []

    def asnumpy(self):
        return self._array

    @property
    def dtype(self):
        return {"f": "Float", "i": "Int", "b": "Bool", "u": "UInt", "c": "Complex"}[self._array.dtype.kind] + str(
            self._array.dtype.itemsize * 8)

    def to(self, _dtype):
        return Tensor(self._array.view(numpy.uint32).astype(numpy.uint16))

    def register_hook(self, hook):
        self._hooks.append(hook)

    def add_(self, other):
        self._array += other._array
        return self


def get_context(_name):
    return "CPU"


def set_device(_target):
    pass


def set_context(mode):
    pass


class runtime:
    launch_blocking = staticmethod(lambda: None)


from mindspore import mint, ops  # noqa: F401
