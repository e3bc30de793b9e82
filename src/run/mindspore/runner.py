# SPDX-License-Identifier: Apache-2.0
"""Runs calls with the real MindSpore for msprobe-engine, which starts this in the user's Python.

usage: python -c TEXT SOCKET MEMORY DEVICE_ID      two inherited descriptors, and which device of its kind to use

Messages are JSON with their length in four bytes before them. Tensors lie in the shared memory; a message names them by type, shape and
offset. A call is answered by its results; gradients are asked for after it, and are those of the last call."""
import sys

# Before anything else is imported: a file in the current directory is no module of ours.
sys.path[:] = [place for place in sys.path if place.startswith("/")]

import json  # noqa: E402
import mmap  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import struct  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402

if os.environ.get("PYTHONSAFEPATH") == "msprobe":  # set for the start of this process, not for those that MindSpore starts
    del os.environ["PYTHONSAFEPATH"]

GROUPS = {"Mint": ("mint",), "MintFunctional": ("mint", "nn", "functional"), "Functional": ("ops",)}
ALIGNMENT = 64
MAX_TEXT = 2000


class Channel:
    """Messages to and from the engine."""

    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=descriptor)

    def receive(self):
        head = self._read(4)
        return json.loads(self._read(struct.unpack("<I", head)[0])) if head else None

    def send(self, message):
        text = json.dumps(message).encode()
        self._socket.sendall(struct.pack("<I", len(text)) + text)

    def _read(self, count):
        parts = []
        while count:
            part = self._socket.recv(count)
            if not part:
                return b""
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class Memory:
    """The tensors of one message. What the engine put there ends at `used`; results follow."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._map = None
        self.size = 0

    def begin(self, size, used):
        if size != self.size:
            self._map, self.size = mmap.mmap(self._descriptor, size) if size else None, size
        self._next = used

    def array(self, dtype, shape, offset):
        count = 1
        for extent in shape:
            count *= extent
        if count == 0:
            return numpy.zeros(shape, dtype)
        return numpy.frombuffer(self._map, dtype, count, offset).reshape(shape)

    def put(self, array):
        """The offset at which the elements lie now."""
        array = numpy.ascontiguousarray(array)
        offset = (self._next + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self._next = offset + array.nbytes
        if self._next > self.size:
            self.size = max(2 * self.size, self._next)
            os.ftruncate(self._descriptor, self.size)
            self._map = mmap.mmap(self._descriptor, self.size)
        if array.nbytes:
            target = numpy.frombuffer(self._map, numpy.uint8, array.nbytes, offset)
            target[:] = array.reshape(-1).view(numpy.uint8)
        return offset


class Values:
    """Arguments and results, to and from messages."""

    def __init__(self, memory):
        self._memory = memory
        one = mindspore.Tensor(numpy.ones(1, numpy.float32)).to(mindspore.bfloat16)
        self._bfloat16 = one.asnumpy().dtype

    def read(self, value):
        if isinstance(value, list):
            return tuple(self.read(item) for item in value)
        if not isinstance(value, dict):
            return value
        (kind, held), = value.items()
        if kind == "t":
            return self._tensor(*held)
        if kind == "d":
            return mindspore.bool_ if held == "bool" else getattr(mindspore, held)
        if kind == "m":
            return {key: self.read(item) for key, item in held.items()}
        return {"f": float, "s": lambda bounds: slice(*bounds), "c": lambda parts: complex(*parts), "e": lambda _: Ellipsis}[kind](held)

    def write(self, value):
        if isinstance(value, mindspore.Tensor):
            array = value.asnumpy()
            name = "bfloat16" if array.dtype == self._bfloat16 else str(array.dtype)
            return {"t": [name, list(array.shape), self._memory.put(array)]}
        if isinstance(value, numpy.ndarray):
            return {"t": [str(value.dtype), list(value.shape), self._memory.put(value)]}
        if isinstance(value, (list, tuple)):
            return [self.write(item) for item in value]
        if isinstance(value, numpy.generic):
            value = value.item()
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return {"f": str(value)}
        if isinstance(value, complex):
            return {"c": [value.real, value.imag]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if type(value).__name__ == "bfloat16":  # a number of MindSpore's own type
            return self.write(float(value))
        return str(value)

    def _tensor(self, dtype, shape, offset):
        numpy_type = self._bfloat16 if dtype == "bfloat16" else numpy.dtype(dtype)
        return mindspore.Tensor(self._memory.array(numpy_type, shape, offset))


def find_function(call):
    """The function behind Mint.special.erfc; for a method, a function that takes its tensor first."""
    group, _, name = call.partition(".")
    if group == "Tensor":
        if not hasattr(mindspore.Tensor, name):
            raise AttributeError(f"this MindSpore ({mindspore.__version__}) has no {call}")
        return lambda tensor, *args, **kwargs: getattr(tensor, name)(*args, **kwargs)
    if group not in GROUPS:
        raise AttributeError(f"the device mindspore runs Mint, MintFunctional, Tensor and Functional, not {call}")
    found = mindspore
    for part in (*GROUPS[group], *name.split(".")):
        found = getattr(found, part, None)
    if not callable(found):
        raise AttributeError(f"this MindSpore ({mindspore.__version__}) has no {call}")
    return found


def is_float(value):
    return isinstance(value, mindspore.Tensor) and any(part in str(value.dtype) for part in ("Float", "Complex"))


class Call:
    """One call, and what is needed to differentiate it."""

    def __init__(self, name, args, kwargs):
        self._function, self._args, self._kwargs = find_function(name), args, kwargs
        # Operators in place change their arguments, which the backward pass needs as they were.
        last = name.rpartition(".")[2]
        self._changes_arguments = last.endswith("_") and (not last.endswith("__") or last.startswith("__i"))
        self._result = None

    def run(self):
        if self._changes_arguments:
            self._result = self._function(*copied(self._args), **copied(self._kwargs))
        else:
            self._result = self._function(*self._args, **self._kwargs)
        return self._result

    def gradients(self, arriving):
        """One per tensor among the arguments, depth first, keywords last; None if no gradient arrives."""
        tensors = list(leaves(self._args)) + list(leaves(self._kwargs))
        outputs = self._outputs(self._result)
        chosen = [i for i, gradient in enumerate(arriving[:len(outputs)])
                  if isinstance(gradient, mindspore.Tensor) and is_float(outputs[i])]
        inputs = [i for i, tensor in enumerate(tensors) if is_float(tensor)]
        if not chosen or not inputs:
            return [None] * len(tensors)
        weights = tuple(arriving[i] if arriving[i].dtype == outputs[i].dtype else arriving[i].to(outputs[i].dtype) for i in chosen)
        reached = set()

        def watch(place, tensor):
            def note(gradient):
                reached.add(place)
                return gradient

            tensor.register_hook(note)
            return tensor

        def forward(*given):
            watched = list(tensors)
            for place, tensor in zip(inputs, given):
                watched[place] = watch(place, tensor)
            rest = iter(watched)
            args, kwargs = replaced(self._args, rest), replaced(self._kwargs, rest)
            results = self._outputs(self._function(*args, **kwargs))
            picked = tuple(results[i] for i in chosen)
            return picked if len(picked) > 1 else picked[0]

        grad = mindspore.ops.GradOperation(get_all=True, sens_param=True)(forward)
        found = grad(*(tensors[i] for i in inputs), weights if len(weights) > 1 else weights[0])
        found = found if isinstance(found, tuple) else (found,)
        gradients = [None] * len(tensors)
        for place, gradient in zip(inputs, found):
            if place in reached:
                gradients[place] = as_kind_of(tensors[place], gradient)
        return gradients

    @staticmethod
    def _outputs(result):
        return list(result) if isinstance(result, (tuple, list)) else [result]


def as_kind_of(tensor, gradient):
    """MindSpore's gradient of `real` is complex where its input is not."""
    array = gradient.asnumpy()
    if array.dtype.kind != "c" or tensor.asnumpy().dtype.kind == "c" or array.imag.any():
        return gradient
    return mindspore.Tensor(numpy.ascontiguousarray(array.real))


def leaves(value):
    if isinstance(value, mindspore.Tensor):
        yield value
    elif isinstance(value, (tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)


def replaced(value, tensors):
    if isinstance(value, mindspore.Tensor):
        return next(tensors)
    if isinstance(value, tuple):
        return tuple(replaced(item, tensors) for item in value)
    if isinstance(value, dict):
        return {key: replaced(item, tensors) for key, item in value.items()}
    return value


def copied(value):
    if isinstance(value, mindspore.Tensor):
        return mindspore.Tensor(value.asnumpy())
    if isinstance(value, tuple):
        return tuple(copied(item) for item in value)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


def short_text(error):
    """What MindSpore says, without the stack of its own functions."""
    text = str(error).split("\n----", 1)[0].strip()
    return f"{type(error).__name__}: {text}"[:MAX_TEXT]


class Runner:
    def __init__(self, memory):
        self._memory = memory
        self._values = Values(memory)
        self._last = None
        self._own_cpu = 0

    def answer(self, request):
        begin = time.thread_time_ns()
        self._own_cpu = 0
        self._memory.begin(request["size"], request["used"])
        try:
            answer = self._gradients(request) if "gradients" in request else self._call(request)
            return {**answer, "cpu_ns": time.thread_time_ns() - begin - self._own_cpu}
        except MemoryError:
            return {"error": "MemoryError: no memory for this call"}
        except Exception as error:  # whatever a call raises belongs to that call
            return {"error": short_text(error)}

    def _timed(self, work):
        """(what `work` returns, the time it took): the time of MindSpore itself."""
        begin, cpu = time.perf_counter_ns(), time.thread_time_ns()
        result = work()
        for tensor in leaves(tuple(Call._outputs(result))):
            tensor.asnumpy()  # the device may still be at work
        self._own_cpu += time.thread_time_ns() - cpu
        return result, time.perf_counter_ns() - begin

    def _call(self, request):
        self._last = None
        call = Call(request["call"], self._values.read(request["args"]), self._values.read({"m": request["kwargs"]}))
        result, own = self._timed(call.run)
        self._last = call
        if isinstance(result, list) and next(leaves(tuple(result)), None) is None:
            result = [result]  # a list of numbers is one result, as the collector records it
        return {"result": self._values.write(result), "own_ns": own, "size": self._memory.size}

    def _gradients(self, request):
        if self._last is None:
            return {"error": "RuntimeError: there is no call to differentiate"}
        arriving = self._values.read(request["gradients"])
        gradients, own = self._timed(lambda: self._last.gradients(arriving))
        return {"result": [self._values.write(gradient) for gradient in gradients], "own_ns": own, "size": self._memory.size}


def use_device(number):
    target = mindspore.get_context("device_target")
    if target == "CPU":
        mindspore.set_device("CPU")
    else:
        mindspore.set_device(target, number)
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.runtime.launch_blocking()  # else errors surface in later calls
    return target


def main():
    global mindspore, numpy
    channel = Channel(int(sys.argv[1]))
    memory = Memory(int(sys.argv[2]))
    os.environ.setdefault("GLOG_v", "4")
    try:
        import numpy
        import mindspore
        target = use_device(int(sys.argv[3]))
        runner = Runner(memory)
    except Exception as error:
        if os.environ.get("MSPROBE_LOG_LEVEL") == "0":
            traceback.print_exc()
        channel.send({"error": short_text(error), "python": sys.executable})
        return 1
    channel.send({"ready": mindspore.__version__, "target": target, "python": sys.executable})
    while True:
        request = channel.receive()
        if request is None:
            return 0
        channel.send(runner.answer(request))


if __name__ == "__main__":
    sys.exit(main())
