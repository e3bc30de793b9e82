# SPDX-License-Identifier: Apache-2.0
"""The model and the batches of the stand-ins."""
import torch

HIDDEN = 8


class Model(torch.nn.Module):
    """Tokens in, a score for each token out; a decoder's layers, without its attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, HIDDEN)
        self.up = torch.nn.Linear(HIDDEN, 2 * HIDDEN)
        self.down = torch.nn.Linear(2 * HIDDEN, HIDDEN)
        self.norm = torch.nn.LayerNorm(HIDDEN)
        self.head = torch.nn.Linear(HIDDEN, 16, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        x = self.norm(x + self.down(torch.nn.functional.gelu(self.up(x))))
        return self.head(x)


def model(seed: int = 0) -> Model:
    torch.manual_seed(seed)
    return Model()


def tokens(count: int = 6) -> torch.Tensor:
    return torch.arange(count) % 16
