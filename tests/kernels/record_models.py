# SPDX-License-Identifier: Apache-2.0
"""Records one training step of small models, for trials of kernels: record_models.py DIRECTORY [NAME ...]"""
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

import msprobe


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.attend(self.first(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q, k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        shares = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        x = x + self.out(torch.matmul(shares, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 24), nn.Embedding(13, 24)
        self.blocks = nn.ModuleList(Block(24, 3) for _ in range(2))
        self.last, self.head = nn.LayerNorm(24), nn.Linear(24, 50)

    def forward(self, x):
        hidden = self.words(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(self.last(hidden))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3), nn.GroupNorm(3, 12),
                                    nn.SiLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 10))

    def forward(self, x):
        return self.layers(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(11, 17), nn.Linear(17, 5)

    def forward(self, x):
        state = torch.zeros(x.shape[0], 17)
        for step in range(3):
            state = self.cell(x[:, step], state)
        return self.head(torch.tanh(state))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.tokens, self.channels = nn.LayerNorm(20), nn.Linear(9, 9), nn.Linear(20, 20)
        self.head = nn.Linear(20, 6)

    def forward(self, x):
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        x = x + F.hardswish(self.channels(self.norm(x)))
        return self.head(x.mean(1))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(28))
        self.up, self.gate, self.down = nn.Linear(28, 40, bias=False), nn.Linear(28, 40, bias=False), nn.Linear(40, 28, bias=False)

    def forward(self, x):
        normal = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        return self.down(F.silu(self.gate(normal)) * self.up(normal)).sum(1)


MODELS = {
    "gpt": (Gpt, lambda: torch.randint(0, 50, (2, 13)), lambda out: F.cross_entropy(out.view(-1, 50), torch.randint(0, 50, (26,)))),
    "convolutional": (Convolutional, lambda: torch.randn(4, 3, 14, 14), lambda out: F.cross_entropy(out, torch.randint(0, 10, (4,)))),
    "recurrent": (Recurrent, lambda: torch.randn(6, 3, 11), lambda out: F.mse_loss(out, torch.randn(6, 5))),
    "mixer": (Mixer, lambda: torch.randn(3, 9, 20), lambda out: F.smooth_l1_loss(out, torch.randn(3, 6))),
    "gated": (Gated, lambda: torch.randn(3, 7, 28), lambda out: out.logsumexp(-1).mean()),
}


def record(name, directory):
    torch.manual_seed(0)
    make, draw, loss = MODELS[name]
    model, data = make(), draw()
    with msprobe.record(directory):
        loss(model(data)).backward()


if __name__ == "__main__":
    place, *names = sys.argv[1:]
    for model_name in names or list(MODELS):
        record(model_name, os.path.join(place, model_name))
