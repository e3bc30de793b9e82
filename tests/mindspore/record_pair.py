#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of the same small network in MindSpore and in PyTorch, with equal numbers: what `msprobe compare` pairs.

usage: record_pair.py {mindspore,pytorch} DUMP_DIR [--task statistics|tensor] [--level L0|L1|mix] [--md5] [--fault] [--bfloat16] [--list NAME ...]

--fault makes the second addition 5 percent too large, below the recorder, as a wrong kernel would.
tests/cases/compare_mindspore_* hold what it records (tests/mindspore/make_pairs.sh)."""
import argparse
import json
import pathlib

import numpy as np

FAULT = 1.05


def numbers():
    """The same for both frameworks."""
    rng = np.random.default_rng(7)

    def draw(*shape):
        return (rng.standard_normal(shape) * 0.3).astype(np.float32)

    return {"x": draw(3, 4), "target": draw(3, 2), "first": (draw(5, 4), draw(5)), "second": (draw(2, 5), draw(2))}


def with_fault(add):
    calls = []

    def wrong_add(*args, **kwargs):
        calls.append(None)
        result = add(*args, **kwargs)
        return result * FAULT if len(calls) == 2 else result

    return wrong_add


def train_mindspore(opts, config):
    import mindspore as ms
    from mindspore import Parameter, Tensor, mint, nn

    from msprobe.mindspore import PrecisionDebugger

    ms.set_device("CPU")
    ms.runtime.launch_blocking()
    functional = mint.nn.functional
    given = numbers()
    if opts.fault:
        mint.add = with_fault(mint.add)

    class Dense(nn.Cell):
        def __init__(self, weight, bias):
            super().__init__()
            self.weight, self.bias = Parameter(Tensor(weight), name="weight"), Parameter(Tensor(bias), name="bias")

        def construct(self, x):
            return mint.add(mint.matmul(x, mint.transpose(self.weight, 0, 1)), self.bias)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = Dense(*given["first"]), Dense(*given["second"])

        def construct(self, x, target):
            hidden = functional.relu(self.first(x))
            if opts.bfloat16:
                hidden = hidden.to(ms.bfloat16).to(ms.float32)
            error = self.second(hidden) - target
            return mint.mean(mint.mul(error, error), dim=-1, keepdim=True).sum()

    net = Net()
    debugger = PrecisionDebugger(config_path=config)
    step = ms.value_and_grad(net, None, net.trainable_params())
    debugger.start(net)
    step(Tensor(given["x"]), Tensor(given["target"]))
    debugger.stop()
    debugger.step()


def train_pytorch(opts, config):
    import torch
    from torch import nn

    from msprobe.pytorch import PrecisionDebugger

    given = numbers()
    if opts.fault:
        torch.add = with_fault(torch.add)

    class Linear(nn.Module):
        def __init__(self, weight, bias):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.from_numpy(weight)), nn.Parameter(torch.from_numpy(bias))

        def forward(self, x):
            return torch.add(torch.matmul(x, torch.transpose(self.weight, 0, 1)), self.bias)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Linear(*given["first"]), Linear(*given["second"])

        def forward(self, x, target):
            hidden = nn.functional.relu(self.first(x))
            if opts.bfloat16:
                hidden = hidden.to(torch.bfloat16).to(torch.float32)
            error = self.second(hidden) - target
            return torch.mean(torch.mul(error, error), dim=-1, keepdim=True).sum()

    net = Net()
    debugger = PrecisionDebugger(config_path=config)
    debugger.start(net)
    net(torch.from_numpy(given["x"]), torch.from_numpy(given["target"])).backward()
    debugger.stop()
    debugger.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", choices=("mindspore", "pytorch"))
    parser.add_argument("dump_dir", type=pathlib.Path)
    parser.add_argument("--task", choices=("statistics", "tensor"), default="statistics")
    parser.add_argument("--level", choices=("L0", "L1", "mix"), default="mix")
    parser.add_argument("--md5", action="store_true")
    parser.add_argument("--fault", action="store_true")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--list", nargs="*", default=[], help="record only entries with one of these in their names")
    opts = parser.parse_args()
    opts.dump_dir.mkdir(parents=True, exist_ok=True)
    config = opts.dump_dir / "config.json"
    config.write_text(json.dumps({"task": opts.task, "dump_path": str(opts.dump_dir), "level": opts.level, "risk_level": "ALL",
                                  opts.task: {"summary_mode": "md5" if opts.md5 else "statistics", "list": opts.list}}))
    (train_mindspore if opts.framework == "mindspore" else train_pytorch)(opts, str(config))


if __name__ == "__main__":
    main()
