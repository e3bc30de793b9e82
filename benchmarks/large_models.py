#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records one training step of a model of real width: GPT-2 (768 wide, 6 layers, 8000 words, 2 x 128 tokens) or ResNet-50 (2 images).

usage: large_models.py gpt2|resnet50 tensor|statistics DIR
Needs `msprobe` importable (PYTHONPATH=build/release/python, or installed). A dump with tensors takes 1.2 GB.
"""
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, HEADS, LAYERS, WORDS = 768, 12, 6, 8000


class Conv1D(nn.Module):
    """GPT-2's linear layer: the weights lie the other way round."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.heads, self.joined = Conv1D(WIDTH, 3 * WIDTH), Conv1D(WIDTH, WIDTH)
        self.wide, self.narrow = Conv1D(WIDTH, 4 * WIDTH), Conv1D(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)

    def attention(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.heads(x).split(WIDTH, dim=2))
        seen = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return self.joined(seen.transpose(1, 2).reshape(b, t, WIDTH))

    def forward(self, x):
        x = self.drop(self.attention(self.norm_1(x))) + x
        y = self.wide(self.norm_2(x))
        y = 0.5 * y * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
        return x + self.drop(self.narrow(y))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.drop = nn.Embedding(WORDS, WIDTH), nn.Embedding(1024, WIDTH), nn.Dropout(0.1)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.drop(self.words(tokens) + self.places(torch.arange(tokens.shape[1])))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.words.weight)
        return F.cross_entropy(logits[:, :-1].reshape(-1, WORDS), tokens[:, 1:].reshape(-1))


class Bottleneck(nn.Module):
    def __init__(self, inputs, inner, stride):
        super().__init__()
        outputs = 4 * inner
        convolution = lambda i, o, size, s=1: [nn.Conv2d(i, o, size, s, size // 2, bias=False), nn.BatchNorm2d(o)]
        self.way = nn.Sequential(*convolution(inputs, inner, 1), nn.ReLU(inplace=True), *convolution(inner, inner, 3, stride),
                                 nn.ReLU(inplace=True), *convolution(inner, outputs, 1))
        self.shortcut = nn.Sequential(*convolution(inputs, outputs, 1, stride)) if stride != 1 or inputs != outputs else None
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.way(x)
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
        for inner, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for block in range(blocks):
                layers.append(Bottleneck(width, inner, stride if block == 0 else 1))
                width = 4 * inner
        self.layers, self.pool, self.head = nn.Sequential(*layers), nn.AdaptiveAvgPool2d(1), nn.Linear(width, 1000)

    def forward(self, images, labels):
        return F.cross_entropy(self.head(torch.flatten(self.pool(self.layers(images)), 1)), labels)


def main():
    name, task, path = sys.argv[1:]
    from msprobe.pytorch import PrecisionDebugger
    torch.manual_seed(7)
    if name == "gpt2":
        model, batch = GPT2(), [torch.randint(0, WORDS, (2, 128))]
    else:
        model, batch = ResNet50(), [torch.randn(2, 3, 224, 224), torch.randint(0, 1000, (2,))]
    debugger = PrecisionDebugger(task=task, level="L1", dump_path=path)
    debugger.start(model=model)
    model(*batch).backward()
    debugger.stop()
    debugger.step()


if __name__ == "__main__":
    main()
