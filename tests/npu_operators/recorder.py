# SPDX-License-Identifier: Apache-2.0
"""Writes calls of NPU operators as a dump with real data: what a right device gives, and what a wrong one does."""

import json
import pathlib

import torch

GENERATOR = torch.Generator().manual_seed(11)
HALVES = (torch.float16, torch.bfloat16)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=GENERATOR).to(dtype)


def whole(low, high, *shape, dtype=torch.int8):
    return torch.randint(low, high, shape, generator=GENERATOR).to(dtype)


def uniform(*shape, low=0.01, high=0.1, dtype=torch.float32):
    return (torch.rand(*shape, generator=GENERATOR) * (high - low) + low).to(dtype)


def unwritten(shape, dtype):
    """What memory holds that nobody wrote."""
    if dtype.is_floating_point:
        return torch.full(shape, float("nan"), dtype=dtype)
    return whole(-100, 100, *shape, dtype=dtype)


def to_int8(value):
    return torch.clamp(torch.round(value), -128, 127).to(torch.int8)


def pack_int4(codes):
    """Eight in an int32, the first in the lowest bits."""
    nibbles = (codes.long() & 15).unflatten(-1, (-1, 8))
    word = sum(nibbles[..., i] << (4 * i) for i in range(8))
    return torch.where(word >= 2**31, word - 2**32, word).to(torch.int32)


def unpack_int4(words):
    nibbles = torch.stack([(words.long() >> (4 * i)) & 15 for i in range(8)], -1).flatten(-2)
    return torch.where(nibbles >= 8, nibbles - 16, nibbles)


def rows_of(output):
    return output.reshape(-1, output.shape[-1]) if output.dim() > 1 else output.reshape(-1, 1)


def same(a, b):
    return torch.equal(a.double().nan_to_num(), b.double().nan_to_num())


class Calls:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tensors = self.folder / "dump_tensor_data"
        self.tensors.mkdir()
        self.data, self.count, self.labels = {}, {}, {}

    def _tensor(self, tensor, name):
        tensor = tensor.detach().contiguous()
        numbers = tensor.double()
        numbers = numbers[torch.isfinite(numbers)]
        some = numbers.numel() > 0
        torch.save(tensor.clone(), self.tensors / f"{name}.pt")
        return {
            "type": "torch.Tensor",
            "dtype": str(tensor.dtype),
            "shape": list(tensor.shape),
            "Max": numbers.max().item() if some else None,
            "Min": numbers.min().item() if some else None,
            "Mean": numbers.mean().item() if some else None,
            "Norm": numbers.norm().item() if some else None,
            "requires_grad": False,
            "data_name": f"{name}.pt",
        }

    def _value(self, value, name):
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            return self._tensor(value, name)
        if isinstance(value, (list, tuple)):
            return [self._value(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, torch.dtype):
            return {"type": "torch.dtype", "value": str(value)}
        return {"type": type(value).__name__, "value": value}

    def record(self, api, args, kwargs, outputs, label, mutated=None):
        number = self.count[api] = self.count.get(api, -1) + 1
        entry = f"NPU.{api}.{number}.forward"
        self.data[entry] = {
            "input_args": [self._value(value, f"{entry}.input.{i}") for i, value in enumerate(args)],
            "input_kwargs": {key: self._value(value, f"{entry}.input.{key}") for key, value in kwargs.items()},
            "output": [self._value(value, f"{entry}.output.{i}") for i, value in enumerate(outputs)],
        }
        if mutated:
            self.data[entry]["mutated"] = {k: self._value(v, f"{entry}.mutated.{k}") for k, v in mutated.items()}
        self.labels[f"NPU.{api}.{number}"] = label

    def case(self, api, function, args, kwargs=None, faults=(), written=None, spoil=True, changes=None):
        """Records what `function` gives, right and spoiled.

        faults: (name, arguments, keywords) of which a broken device computes the result instead
        written: rows of the first output that are defined; changes: the argument that is changed in place
        """
        kwargs = kwargs or {}

        def put(outputs, label):
            if changes is None:
                self.record(api, args, kwargs, outputs, label)
            else:
                self.record(api, args, kwargs, [None], label, {changes: outputs[0]})

        right = function(*args, **kwargs)
        put(right, "right")
        if spoil:
            for label, output in spoiled(right[0], written):
                put([output, *right[1:]], label)
        for label, other_args, other_kwargs in faults:
            wrong = function(*other_args, **other_kwargs)
            if not all(same(a, b) for a, b in zip(wrong, right) if isinstance(a, torch.Tensor)):
                put(wrong, label)

    def finish(self):
        content = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(self.tensors), "data": self.data}
        (self.folder / "dump.json").write_text(json.dumps(content), encoding="utf-8")


def spoiled(output, written):
    """(fault, output) where the fault changes something."""
    count = rows_of(output).shape[0] if written is None else written
    copies = {name: output.clone() for name in ("rows exchanged", "last rows not computed", "last columns not computed")}
    rows = rows_of(copies["rows exchanged"])
    rows[[0, count // 2]] = rows[[count // 2, 0]]
    copies["rows exchanged"] = rows.reshape(output.shape)
    rows = rows_of(copies["last rows not computed"])
    rows[count - max(1, count // 4) : count] = 0
    copies["last rows not computed"] = rows.reshape(output.shape)
    copies["last columns not computed"][..., -min(16, max(1, output.shape[-1] // 2)) :] = 0
    for name, wrong in copies.items():
        if not same(rows_of(wrong)[:count], rows_of(output)[:count]):
            yield name, wrong
