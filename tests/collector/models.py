# SPDX-License-Identifier: Apache-2.0
"""Small models of every kind, trained for one step under the collector: usage: models.py TASK DUMP_PATH MODEL...

Every model is a step of the dump."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from msprobe.pytorch import PrecisionDebugger


class Recurrent(nn.Module):
    """LSTM, GRU and a packed sequence."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(16, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([7, 5, 4]), batch_first=True)
        x, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(self.gru(x)[0][:, -1])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(17, 12)
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)
        self.norm = nn.LayerNorm(12)
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        x = self.embedding(x)
        mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), diagonal=1)
        y, _weights = self.attention(x, x, x, attn_mask=mask)
        return self.head(self.norm(x + y).mean(1))


class UNet(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.down1 = self.block(3, c)
        self.down2 = self.block(c, 2 * c)
        self.middle = self.block(2 * c, 4 * c)
        self.up = nn.ConvTranspose2d(4 * c, 2 * c, 2, stride=2)
        self.up2 = self.block(4 * c, c)
        self.last = nn.Conv2d(2 * c, 2, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o),
                             nn.LeakyReLU(0.1))

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        x = torch.cat([self.up(self.middle(F.avg_pool2d(second, 2))), second], dim=1)
        x = F.interpolate(self.up2(x), scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(torch.cat([F.pad(x, (0, 0, 0, 0)), first], dim=1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.encoder(x)).mean(1)


def images(model):
    return F.cross_entropy(model(torch.randn(2, 3, 16, 16)), torch.randint(0, 2, (2, 16, 16)))


def autocast(model):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.cross_entropy(model(torch.randn(3, 6, 16)), torch.tensor([0, 1, 2]))


MODELS = {
    "lstm": (Recurrent, lambda model: F.mse_loss(model(torch.randn(3, 7, 6)), torch.randn(3, 3))),
    "attention": (Attention, lambda model: F.nll_loss(F.log_softmax(model(torch.randint(0, 17, (2, 6))), -1), torch.tensor([1, 3]))),
    "unet": (UNet, images),
    "autocast": (Transformer, autocast),
}


def main():
    task, path, *names = sys.argv[1:]
    debugger = PrecisionDebugger(task=task, dump_path=path)
    for name in names:
        torch.manual_seed(3)
        make, loss_of = MODELS[name]
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        debugger.start(model)
        loss_of(model).backward()
        optimizer.step()
        debugger.stop()
        debugger.step()


main()
