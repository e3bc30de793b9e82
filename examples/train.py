#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training, recorded: a transformer and a convolutional network, two steps, of which the second is kept.

usage: train.py DUMP_DIRECTORY

The lines that a training script needs are marked with "msprobe".
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F

from msprobe.pytorch import PrecisionDebugger  # msprobe


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q, k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        hidden = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), diagonal=1)
        weights = torch.softmax(scores.masked_fill(hidden, -1e4), dim=-1)
        return self.projection(torch.matmul(weights, v).transpose(1, 2).reshape(batch, tokens, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words: int = 128, tokens: int = 32, width: int = 64) -> None:
        super().__init__()
        self.words, self.tokens = words, tokens
        self.token, self.position = nn.Embedding(words, width), nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self) -> torch.Tensor:
        text = torch.randint(self.words, (4, self.tokens + 1))
        x = self.token(text[:, :-1]) + self.position(torch.arange(self.tokens))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())


class ConvNet(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1), nn.BatchNorm2d(2 * channels), nn.ReLU(),
                                  nn.MaxPool2d(2), nn.Conv2d(2 * channels, 2 * channels, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(2 * channels, 10)

    def forward(self) -> torch.Tensor:
        images, labels = torch.randn(8, 3, 32, 32), torch.randint(10, (8,))
        features = F.adaptive_avg_pool2d(self.body(self.stem(images)), 1).flatten(1)
        return F.cross_entropy(self.head(features), labels)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    models = nn.ModuleList([Transformer(), ConvNet()])
    optimizer = torch.optim.SGD(models.parameters(), lr=0.1)
    debugger = PrecisionDebugger(task="statistics", dump_path=sys.argv[1], step=[1])  # msprobe
    for step in range(2):
        debugger.start()  # msprobe
        losses = [model() for model in models]
        sum(losses).backward()
        debugger.stop()  # msprobe
        optimizer.step()
        optimizer.zero_grad()
        debugger.step()  # msprobe
        print(f"step {step}: loss of the transformer {losses[0].item():.3f}, of the convolutional network {losses[1].item():.3f}")


if __name__ == "__main__":
    main()
