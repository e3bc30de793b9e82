#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/data/replay: calls with what Python computed, forward and backward, for the engine's --equal-precision.

    python3 tools/make_replay_dump.py

Small whole numbers make every sum exact, so the results are the same on every machine and in every order of addition.
"""

import json
import pathlib
import shutil

import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "replay"


def whole(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randint(-4, 5, shape).to(dtype)


def watched(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return whole(*shape, dtype=dtype).requires_grad_()


def calls() -> list[tuple]:
    """(name, function, arguments, keywords)"""
    x, image = watched(4, 6), watched(2, 3, 6, 6)
    last = image.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    functional = torch.nn.functional
    return [
        ("Tensor.__matmul__", torch.Tensor.__matmul__, (x, whole(4, 6).t()), {}),
        ("Torch.matmul", torch.matmul, (whole(2, 4, 3).transpose(1, 2).requires_grad_(), watched(4, 5)), {}),
        ("Functional.linear", functional.linear, (x, watched(5, 6), watched(5)), {}),
        ("Functional.conv2d", functional.conv2d, (image, watched(4, 3, 3, 3), watched(4)), {"stride": 2, "padding": 1}),
        ("Functional.conv2d", functional.conv2d, (last, watched(4, 3, 3, 3)), {}),
        ("Functional.max_pool2d", functional.max_pool2d, (image, 2), {}),
        ("Functional.relu", functional.relu, (x,), {}),
        ("Functional.embedding", functional.embedding, (torch.tensor([[0, 2], [3, 2]]), watched(4, 6)), {}),
        ("Functional.l1_loss", functional.l1_loss, (x, whole(4, 6)), {"reduction": "sum"}),
        ("Torch.add", torch.add, (watched(4, 6, dtype=torch.float16), 0.5), {"alpha": 2}),
        ("Torch.mul", torch.mul, (watched(4, 1, dtype=torch.bfloat16), watched(6, dtype=torch.bfloat16)), {}),
        ("Torch.mul", torch.mul, (torch.complex(whole(3), whole(3)), torch.complex(whole(3), whole(3))), {}),
        ("Torch.add", torch.add, (whole(4, 6), whole(4, 6)), {"out": torch.zeros(4, 6)}),
        ("Tensor.add_", torch.Tensor.add_, (whole(4, 6), 3), {}),
        ("Tensor.uniform_", torch.Tensor.uniform_, (torch.zeros(20), -1.0, 1.0), {}),
        ("Tensor.chunk", torch.Tensor.chunk, (x, 2), {"dim": 1}),
        ("Tensor.sum", torch.Tensor.sum, (x, [0]), {"keepdim": True}),
        ("Tensor.__getitem__", torch.Tensor.__getitem__, (x, (slice(1, 3), torch.tensor([5, 0]))), {}),
        ("Tensor.view", torch.Tensor.view, (x, 6, -1), {}),
        ("Tensor.item", torch.Tensor.item, (whole(1),), {}),
        ("Torch.topk", torch.topk, (torch.randperm(24).float().view(4, 6).requires_grad_(), 2), {}),
        ("Torch.cat", torch.cat, ([x, watched(2, 6)],), {"dim": 0}),
        ("Torch.einsum", torch.einsum, ("ij,kj->ik", x, watched(3, 6)), {}),
        ("Torch.where", torch.where, (x.detach() > 0, x, watched(4, 6)), {}),
        ("Torch.cumsum", torch.cumsum, (whole(4, 6, dtype=torch.int64), 1), {}),
        ("Torch.full", torch.full, ([2, 3], 7), {"dtype": torch.int32}),
        ("Torch.empty_like", torch.empty_like, (torch.zeros(64, 64),), {}),
    ]


def copy(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(copy(item) for item in value)
    return value


def tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def describe(value: object, place: str) -> object:
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        torch.save(value.detach().clone(), FOLDER / "dump_tensor_data" / f"{place}.pt")
        return {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), "Max": None, "Min": None,
                "Mean": None, "Norm": None, "requires_grad": value.requires_grad, "data_name": f"{place}.pt"}
    if isinstance(value, (list, tuple)):
        return [describe(item, f"{place}.{i}") for i, item in enumerate(value)]
    if isinstance(value, slice):
        return {"type": "slice", "value": [value.start, value.stop, value.step]}
    if isinstance(value, torch.dtype):
        return {"type": "torch.dtype", "value": str(value)}
    return {"type": type(value).__name__, "value": value}


def record(name: str, function, args: tuple, kwargs: dict) -> dict:
    place = f"{name}.forward"
    forward = {"input_args": [describe(a, f"{place}.input.{i}") for i, a in enumerate(args)],
               "input_kwargs": {key: describe(value, f"{place}.kwargs.{key}") for key, value in kwargs.items()}}
    args, kwargs = copy(args), {key: copy(value) for key, value in kwargs.items()}
    torch.manual_seed(0)
    result = function(*args, **kwargs)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    forward["output"] = [describe(o, f"{place}.output.{i}") for i, o in enumerate(outputs)]
    entries = {place: forward}
    arriving = [whole(*o.shape, dtype=o.dtype) if isinstance(o, torch.Tensor) and o.requires_grad else None for o in outputs]
    used = [(o, g) for o, g in zip(outputs, arriving) if g is not None]
    if used:
        inputs = [t for t in tensors(args) if t.requires_grad]
        gradients = torch.autograd.grad([o for o, _ in used], inputs, [g for _, g in used])
        place = f"{name}.backward"
        entries[place] = {"input": [describe(g, f"{place}.input.{i}") for i, g in enumerate(arriving)],
                          "output": [describe(g, f"{place}.output.{i}") for i, g in enumerate(gradients)]}
    return entries


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "dump_tensor_data").mkdir(parents=True)
    data: dict[str, dict] = {}
    counts: dict[str, int] = {}
    for name, function, args, kwargs in calls():
        counts[name] = counts.get(name, -1) + 1
        data |= record(f"{name}.{counts[name]}", function, args, kwargs)
    document = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": data}
    (FOLDER / "dump.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
