#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The yardstick of a whole check: the calls of a real-data dump loaded and run in plain Python, in the recorded precision and raised,
forward and, if it was recorded, backward. Nothing is measured or judged.

usage: plain_loop.py DUMP_JSON
One thread. Prints the CPU seconds without the import of torch, and the calls that ran: those that it cannot run are left out.
"""
import json
import os
import sys
import time
import warnings

import torch

RAISED = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}
MODULES = {"Functional": torch.nn.functional, "Tensor": torch.Tensor, "Torch": torch}


def value_of(record, folder):
    if isinstance(record, list):
        return [value_of(item, folder) for item in record]
    if not isinstance(record, dict):
        return record
    if record.get("data_name"):
        tensor = torch.load(os.path.join(folder, record["data_name"]))
        return tensor.requires_grad_(bool(record.get("requires_grad")) and tensor.is_floating_point())
    kind, value = record.get("type"), record.get("value")
    if kind == "slice":
        return slice(*value)
    if kind == "torch.dtype":
        return getattr(torch, value.split(".")[-1])
    return torch.Size(value) if kind == "torch.Size" else value


def copy_of(value, raised):
    if isinstance(value, list):
        return [copy_of(item, raised) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach().to(RAISED.get(value.dtype, value.dtype) if raised else value.dtype, copy=True)
    return copy.requires_grad_(value.requires_grad)


def inner(value):
    """What a call may change in place: no leaf of the graph."""
    if isinstance(value, list):
        return [inner(item) for item in value]
    return value.clone() if isinstance(value, torch.Tensor) and value.requires_grad else value


def run(function, args, kwargs, gradients, raised):
    args, kwargs = copy_of(args, raised), {name: copy_of(value, raised) for name, value in kwargs.items()}
    try:
        output = function(*args, **kwargs)
    except RuntimeError as error:
        if "in-place" not in str(error):
            raise
        output = function(*inner(args), **kwargs)
    outputs = output if isinstance(output, (list, tuple)) else [output]
    pairs = [(o, g.to(o.dtype)) for o, g in zip(outputs, gradients or []) if isinstance(g, torch.Tensor) and o.requires_grad]
    if pairs:
        torch.autograd.backward(*zip(*pairs))


def run_call(name, forward, backward, folder):
    module, *path = name.split(".")[:-2]
    function = MODULES[module]
    for part in path:
        function = getattr(function, part)
    args = value_of(forward["input_args"], folder)
    kwargs = {key: value_of(value, folder) for key, value in forward["input_kwargs"].items()}
    gradients = value_of(backward.get("input"), folder)
    for raised in (False, True):
        run(function, args, kwargs, gradients, raised)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    path = sys.argv[1]
    folder = os.path.join(os.path.dirname(path), "dump_tensor_data")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)["data"]
    names = [name for name in data if name.endswith(".forward")]
    start, ran = time.process_time(), 0
    for name in names:
        try:
            run_call(name, data[name], data.get(name.removesuffix("forward") + "backward", {}), folder)
            ran += 1
        except (RuntimeError, TypeError, ValueError, KeyError, AttributeError):
            continue
    print(f"{ran} of {len(names)} calls in {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main()
