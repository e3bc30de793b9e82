# SPDX-License-Identifier: Apache-2.0
"""Recordings for check.py, made in a Python that has torch_npu.

usage: record.py KIND DIRECTORY [TASK]

KIND: training (on npu:0, two streams; TASK none: not recorded), fused (torch_npu's own operators on npu:0), samples (of PyTorch's
operator database, on the CPU). Prints a line that is the same whenever the training was the same.
"""
from __future__ import annotations

import hashlib
import sys
import types
import unittest
import warnings
from typing import Any, Callable

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
KIND, DIRECTORY = sys.argv[1:3]
TASK = sys.argv[3] if len(sys.argv) > 3 else "tensor"
NPU = "npu:0"


def debugger() -> Any:
    if TASK == "none":
        return types.SimpleNamespace(start=lambda **_: None, stop=lambda: None, step=lambda: None)
    from msprobe.pytorch import PrecisionDebugger

    return PrecisionDebugger(dump_path=DIRECTORY, task=TASK, level="L1")


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3),
                                    nn.ReLU(), nn.Dropout(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)


class Block(nn.Module):
    """A block of a language model, of torch_npu's operators."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))
        self.qkv, self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        import torch_npu

        batch, tokens, width = x.shape
        angles = torch.ones(1, tokens, 1, width // 2, device=x.device)
        cos, sin = angles.cos(), torch.ones(1, tokens, 1, width // 2, device=NPU).sin()
        q, k, v = (part.reshape(batch, tokens, 2, width // 2) for part in self.qkv(torch_npu.npu_rms_norm(x, self.gamma)[0]).chunk(3, -1))
        q, k = torch_npu.npu_rotary_mul(q, cos, sin), torch_npu.npu_rotary_mul(k, cos, sin)
        attended = torch_npu.npu_fusion_attention(q.half(), k.half(), v.half(), 2, "BSND", scale=0.25)[0]
        x = x + attended.float().reshape(batch, tokens, width)
        return x + self.down(torch_npu.npu_swiglu(self.up(torch_npu.fast_gelu(x))))


def train() -> None:
    """Adam, dropout, page-locked memory, a second stream that the first waits for."""
    torch.manual_seed(0)
    torch.npu.manual_seed(0)
    models = nn.ModuleList([ConvNet(), Block()]).to(NPU)
    optimizer = torch.optim.Adam(models.parameters(), lr=1e-3)
    recorder = debugger()
    aside = torch.npu.Stream()
    losses = []
    for step in range(2):
        chance = torch.Generator().manual_seed(step)
        images = torch.randn(4, 3, 12, 12, generator=chance).pin_memory().to(NPU, non_blocking=True)
        labels = torch.randint(0, 5, (4,), generator=chance).to(NPU)
        words = torch.randn(2, 8, 32, generator=chance).to(NPU)
        recorder.start(model=models)
        done = torch.npu.Event()
        with torch.npu.stream(aside):
            aside.wait_stream(torch.npu.default_stream())
            penalty = (words @ words.transpose(1, 2)).sum()
            done.record(aside)
        loss = F.cross_entropy(models[0](images), labels) + models[1](words).square().mean()
        torch.npu.current_stream().wait_event(done)
        loss = loss + penalty * 1e-6
        optimizer.zero_grad()
        loss.backward()
        recorder.stop()
        optimizer.step()
        recorder.step()
        losses.append(loss.item())
    trained = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in models.parameters())
    chance = torch.npu.get_rng_state().numpy().tobytes()
    print("trained", losses, hashlib.sha256(trained).hexdigest(), hashlib.sha256(chance).hexdigest(),
          torch.npu.current_stream() == torch.npu.default_stream())


def fused_calls() -> list[Callable[[], Any]]:
    import torch_npu

    def tensor(*shape: int, grad: bool = True, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(*shape, dtype=dtype).to(NPU).requires_grad_(grad)

    def plain(*shape: int) -> torch.Tensor:
        return tensor(*shape, grad=False)

    def half(*shape: int) -> torch.Tensor:
        return tensor(*shape, dtype=torch.float16)

    def hidden(*shape: int) -> torch.Tensor:
        return torch.triu(torch.ones(*shape), diagonal=1).bool().to(NPU)

    def attention(layout: str, *shape: int, **more: Any) -> Any:
        return torch_npu.npu_fusion_attention(half(*shape), half(*shape), half(*shape), 4, layout, scale=0.25, **more)

    state = (plain(64), plain(64), plain(64).square())
    return [
        lambda: torch_npu.npu_rms_norm(tensor(4, 64), tensor(64)),
        lambda: torch_npu.npu_rms_norm(half(4, 64), half(64), epsilon=1e-5),
        lambda: torch_npu.npu_swiglu(tensor(4, 64)),
        lambda: torch_npu.npu_swiglu(tensor(8, 6), dim=0),
        lambda: attention("BNSD", 2, 4, 8, 16),
        lambda: attention("BSH", 2, 8, 64, atten_mask=hidden(8, 8)),
        lambda: attention("SBH", 8, 2, 64),
        lambda: attention("BSND", 2, 8, 4, 16, atten_mask=hidden(2048, 2048), sparse_mode=2),
        lambda: torch_npu.npu_rotary_mul(tensor(2, 4, 3, 16), plain(1, 4, 1, 16), plain(1, 4, 1, 16)),
        lambda: torch_npu.npu_rotary_mul(half(2, 4, 3, 16), plain(1, 4, 1, 16).half(), plain(1, 4, 1, 16).half()),
        lambda: torch_npu.npu_linear(tensor(4, 8), tensor(5, 8), tensor(5)),
        lambda: torch_npu.npu_fast_gelu(tensor(4, 64)),
        lambda: torch_npu.fast_gelu(tensor(4, 64)),
        lambda: torch_npu.npu_scaled_masked_softmax(half(2, 1, 32, 32), hidden(2, 1, 32, 32), 0.5, False),
        lambda: torch_npu.npu_confusion_transpose(tensor(2, 3, 4, 6), (0, 2, 1, 3), (2, 4, 18), True),
        lambda: torch_npu.npu_confusion_transpose(tensor(2, 12, 6), (0, 2, 1, 3), (2, 3, 4, 6), False),
        lambda: torch_npu.npu_group_norm_silu(plain(2, 4, 3, 3), plain(4), plain(4), 2),
        lambda: torch_npu.npu_layer_norm_eval(plain(4, 8), [8], plain(8), plain(8)),
        lambda: torch_npu.npu_mish(tensor(4, 64)),
        lambda: torch_npu.npu_moe_gating_top_k_softmax(plain(4, 8), None, 2),
        lambda: torch_npu.npu_sort_v2(plain(4, 64)),
        lambda: torch_npu.npu_apply_adam(0.9, 0.99, 1e-3, 0.9, 0.99, 1e-8, plain(64), False, False, out=state),
        lambda: torch_npu.npu_apply_adam_w(0.9, 0.99, 1e-3, 0.01, 0.9, 0.99, 1e-8, plain(64), None, False, False, out=state),
    ]


def sample_calls() -> list[Callable[[], Any]]:
    """Two small samples of every operator that the database has."""
    try:
        import expecttest  # noqa: F401
    except ImportError:  # torch.testing wants it, though nothing used here does
        unused = types.ModuleType("expecttest")
        unused.TestCase, unused.ACCEPT = unittest.TestCase, False  # type: ignore[attr-defined]
        sys.modules["expecttest"] = unused
    from torch.testing._internal.common_methods_invocations import op_db

    calls = []
    for op in op_db:
        if torch.float32 not in op.dtypes:
            continue
        try:
            torch.manual_seed(0)
            samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd))[:2]
        except Exception:  # a sample generator that needs what this machine lacks
            continue
        calls += [lambda op=op, sample=sample: op(sample.input, *sample.args, **sample.kwargs) for sample in samples]
    return calls


def run(calls: list[Callable[[], Any]]) -> None:
    """Each call with its gradient; one that cannot be made is left out."""
    recorder = debugger()
    torch.manual_seed(0)
    recorder.start()
    for call in calls:
        try:
            results = call()
            listed = results if isinstance(results, (list, tuple)) else [results]
            watched = [result for result in listed if isinstance(result, torch.Tensor) and result.requires_grad]
            if watched:
                torch.autograd.backward(watched[:1], [torch.randn_like(watched[0])])
        except Exception as error:
            print("left out:", str(error).splitlines()[:1], file=sys.stderr)
    recorder.stop()
    recorder.step()


if KIND == "training":
    train()
else:
    run(fused_calls() if KIND == "fused" else sample_calls())
