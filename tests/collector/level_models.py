# SPDX-License-Identifier: Apache-2.0
"""The models behind the recordings in tests/data/collector/levels: usage: level_models.py MODEL LEVEL DUMP_PATH [early|none] [TASK]

`early`: recording stops before the optimizer's step; `none`: nothing is recorded. Prints the losses, exactly."""
import importlib.util
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

TRAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "collector", "train.py")


def training_script():
    """The classes of the golden trainings, without running one."""
    with open(TRAIN, encoding="utf-8") as file:
        source = file.read().rsplit("\nmain()", 1)[0]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("train", loader=None))
    exec(compile(source, TRAIN, "exec"), module.__dict__)
    return module


class Pair(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, x, *, scale, extra=None):
        y = self.lin(x) * scale
        return y, [y.sum(), extra], 3


class Named(nn.Module):
    def forward(self, x):
        return {"first": x.tanh(), "second": x.detach()}


class Calls(nn.Module):
    """Children that are used, but never called."""

    def __init__(self, width):
        super().__init__()
        self.never = nn.Linear(width, width)
        self.method = nn.Linear(width, width)

    def forward(self, x):
        return self.method.forward(x) + F.linear(x, self.never.weight)


class Odd(nn.Module):
    """What is special about modules, one after the other."""

    def __init__(self, width=6):
        super().__init__()
        self.emb = nn.Embedding(11, width)
        self.shared = nn.Linear(width, width)
        self.alias = self.shared
        self.again = nn.ModuleList([nn.Linear(width, width), nn.ReLU(inplace=True)])
        self.table = nn.ModuleDict({"a": nn.Linear(width, width), "output": nn.Linear(width, width)})
        self.frozen = nn.Linear(width, width)
        self.frozen.requires_grad_(False)
        self.seq = nn.Sequential(nn.Linear(width, width), nn.Sequential(nn.GELU(), nn.Identity()))
        self.ck_new = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.ck_old = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.pair = Pair(width)
        self.named = Named()
        self.calls = Calls(width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.mha = nn.MultiheadAttention(width, 2, batch_first=True)
        self.free = nn.Parameter(torch.ones(width))
        self.head = nn.Linear(width, 11, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, words, wanted):
        x = self.emb(words)
        x = self.shared(x) + self.alias(x)
        for module in self.again:
            x = module(x)
        x = self.table["output"](self.table["a"](x))
        x = x + self.frozen(x)
        x = self.seq(x)
        x = checkpoint(self.ck_new, x, use_reentrant=False)
        x = checkpoint(self.ck_old, x, use_reentrant=True)
        x, rest, _count = self.pair(x, scale=torch.tensor(0.5), extra="text")
        both = self.named(x)
        x = self.calls(both["first"] + both["second"])
        x, (hidden, _cell) = self.lstm(x)
        attended, _weights = self.mha(x, x, x, need_weights=True)
        x = (x + attended) * self.free + hidden.mean()
        with torch.no_grad():
            self.shared(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), wanted.flatten()) + 0.1 * rest[0]


def build(name):
    """(model, batches, loss)"""
    train, generator = training_script(), torch.Generator().manual_seed(4321)
    if name == "convnet":
        model = train.ResNetSmall(c=4)
        images = [torch.randn(2, 3, 32, 32, generator=generator) for _ in range(4)]
        labels = [torch.randint(0, 10, (2,), generator=generator) for _ in range(4)]
        return model, list(zip(images, labels)), lambda x, y: F.cross_entropy(model(x), y)
    model, words, shape = (Odd(), 11, (2, 4)) if name == "odd" else (train.TinyGPT(vocab=37, d=16, h=2, n=2, tmax=16), 37, (2, 8))
    given, wanted = ([torch.randint(0, words, shape, generator=generator) for _ in range(4)] for _ in range(2))
    return model, list(zip(given, wanted)), model


def main():
    name, level, path, how, task = (sys.argv[1:] + ["", "statistics"])[:5] if len(sys.argv) < 6 else sys.argv[1:6]
    torch.set_num_threads(1)
    debugger = None
    if how != "none":
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(dump_path=path, level=level, task=task)
    torch.manual_seed(7)
    model, batches, loss_of = build(name)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for batch in batches[:2]:
        if debugger:
            debugger.start(model)
        loss = loss_of(*batch)
        loss.backward()
        if debugger and how == "early":
            debugger.stop()
        optimizer.step()
        optimizer.zero_grad()
        if debugger:
            debugger.stop()
            debugger.step()
        print(loss.item().hex())
    print(hash(tuple(parameter.sum().item().hex() for parameter in model.parameters())))


if __name__ == "__main__":
    main()
