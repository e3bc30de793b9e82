#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write share/msprobe/self_check/dump.json: the calls of one training step of a small transformer and a small convolutional
network, in float32, bfloat16 and float16, and some calls at the ends of the number range. Ranges only, no tensors.

    python3 tools/make_self_check_dump.py
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F

FILE = pathlib.Path(__file__).resolve().parent.parent / "share" / "msprobe" / "self_check" / "dump.json"


def number(value: torch.Tensor) -> float | int | bool:
    return value.item()


def numbers_of(value: torch.Tensor) -> torch.Tensor:
    """What codes mean, which have no arithmetic."""
    if value.dtype == torch.float4_e2m1fn_x2:
        codes = value.view(torch.uint8)
        sizes = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        return torch.cat([sizes[half & 7] * torch.where(half & 8 > 0, -1, 1) for half in ((codes & 15).long(), (codes >> 4).long())])
    return value.float() if value.is_floating_point() and value.element_size() == 1 else value


def describe(value: object) -> object:
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        entry = {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), "Max": None, "Min": None,
                 "Mean": None, "Norm": None, "requires_grad": value.requires_grad}
        numbers = numbers_of(value.detach())
        if value.numel() > 0:
            entry["Max"], entry["Min"] = number(numbers.max()), number(numbers.min())
        if value.is_floating_point():
            entry["Mean"], entry["Norm"] = number(numbers.float().mean()), number(numbers.float().norm())
        if not value.is_contiguous():
            entry["stride"] = list(value.stride())
        return entry
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if isinstance(value, torch.dtype):
        return {"type": "torch.dtype", "value": str(value)}
    return {"type": type(value).__name__, "value": value}


class Recorder:
    def __init__(self) -> None:
        self.data: dict[str, dict] = {}
        self.counts: dict[str, int] = {}

    def __call__(self, name: str, function, *args, **kwargs):
        """Run the call, remember its arguments, and the gradients that will arrive at its outputs."""
        self.counts[name] = self.counts.get(name, -1) + 1
        full = f"{name}.{self.counts[name]}"
        forward = {"input_args": [describe(a) for a in args], "input_kwargs": {k: describe(v) for k, v in kwargs.items()}}
        result = function(*args, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        forward["output"] = [describe(o) for o in outputs]
        self.data[f"{full}.forward"] = forward
        arriving: list[object] = [None] * len(outputs)
        watched = [i for i, o in enumerate(outputs) if isinstance(o, torch.Tensor) and o.requires_grad]
        for i in watched:
            def keep(gradient: torch.Tensor, i: int = i) -> None:
                arriving[i] = describe(gradient)
                self.data[f"{full}.backward"] = {"input": arriving, "output": []}
            outputs[i].register_hook(keep)
        return result


def parameter(*shape: int, dtype: torch.dtype, scale: float = 0.0) -> torch.Tensor:
    fan = math.prod(shape[1:]) or 1
    return (torch.randn(shape) * (scale or 1 / math.sqrt(fan))).to(dtype).requires_grad_()


def transformer(r: Recorder, dtype: torch.dtype) -> None:
    batch, length, width, heads, words = 2, 24, 64, 2, 53
    weight = lambda *shape: parameter(*shape, dtype=dtype)
    tokens, target = torch.randint(0, words, (batch, length)), torch.randint(0, words, (batch * length,))
    x = r("Functional.embedding", F.embedding, tokens, parameter(words, width, dtype=dtype, scale=1))
    x = r("Tensor.__add__", torch.Tensor.__add__, x, parameter(length, width, dtype=dtype, scale=1))
    y = r("Functional.layer_norm", F.layer_norm, x, (width,), weight(width), weight(width))
    qkv = r("Functional.linear", F.linear, y, weight(3 * width, width), weight(3 * width))
    parts = r("Tensor.chunk", torch.Tensor.chunk, qkv, 3, dim=-1)
    split = [r("Tensor.reshape", torch.Tensor.reshape, p, batch, length, heads, width // heads) for p in parts]
    q, k, v = (r("Tensor.transpose", torch.Tensor.transpose, p, 1, 2) for p in split)
    scores = r("Torch.matmul", torch.matmul, q, k.transpose(-2, -1))
    scores = r("Tensor.__mul__", torch.Tensor.__mul__, scores, 1 / math.sqrt(width // heads))
    mask = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    scores = r("Tensor.masked_fill", torch.Tensor.masked_fill, scores, mask, -30.0)
    shares = r("Functional.softmax", F.softmax, scores, dim=-1)
    shares = r("Functional.dropout", F.dropout, shares, 0.1, True)
    y = r("Torch.matmul", torch.matmul, shares, v)
    y = r("Tensor.reshape", torch.Tensor.reshape, y.transpose(1, 2), batch, length, width)
    x = r("Tensor.__add__", torch.Tensor.__add__, x, r("Functional.linear", F.linear, y, weight(width, width), weight(width)))
    y = r("Functional.layer_norm", F.layer_norm, x, (width,), weight(width), weight(width))
    y = r("Functional.gelu", F.gelu, r("Functional.linear", F.linear, y, weight(4 * width, width), weight(4 * width)))
    gate, value = r("Torch.split", torch.split, y, 2 * width, -1)
    y = r("Tensor.__mul__", torch.Tensor.__mul__, r("Functional.silu", F.silu, gate), value)
    y = r("Functional.linear", F.linear, y, weight(width, 2 * width))
    x = r("Tensor.__add__", torch.Tensor.__add__, x, y)
    attention = r("Functional.scaled_dot_product_attention", F.scaled_dot_product_attention, q, k, v)
    x = r("Torch.cat", torch.cat, [x, attention.transpose(1, 2).reshape(batch, length, width)], dim=1)
    x = x[:, :length]
    logits = r("Functional.linear", F.linear, x, weight(words, width))
    loss = r("Functional.cross_entropy", F.cross_entropy, logits.reshape(-1, words), target)
    loss.backward()


def convolutional(r: Recorder, dtype: torch.dtype) -> None:
    weight = lambda *shape: parameter(*shape, dtype=dtype)
    image, target = torch.randn(2, 3, 40, 40).to(dtype), torch.randint(0, 10, (2,))
    x = r("Functional.conv2d", F.conv2d, image, weight(8, 3, 5, 5), None, 1, 2)
    x = r("Functional.batch_norm", F.batch_norm, x, torch.zeros(8), torch.ones(8), weight(8), weight(8), True) \
        if dtype == torch.float32 else r("Functional.group_norm", F.group_norm, x, 2, weight(8), weight(8))
    x = r("Functional.relu", F.relu, x)
    x = r("Functional.max_pool2d", F.max_pool2d, x, 2)
    y = r("Functional.conv2d", F.conv2d, x, weight(16, 8, 3, 3), weight(16), 1, 1)
    y = r("Functional.leaky_relu", F.leaky_relu, y, 0.1)
    y = r("Functional.conv2d", F.conv2d, y, weight(8, 16, 1, 1))
    x = r("Torch.add", torch.add, x, y)
    x = r("Functional.avg_pool2d", F.avg_pool2d, x, 2)
    x = r("Functional.interpolate", F.interpolate, x, scale_factor=2, mode="nearest")
    x = r("Torch.flatten", torch.flatten, r("Functional.adaptive_avg_pool2d", F.adaptive_avg_pool2d, x, 4), 1)
    x = r("Torch.tanh", torch.tanh, r("Functional.linear", F.linear, x, weight(32, 128), weight(32)))
    x = r("Torch.addmm", torch.addmm, weight(10), x, weight(32, 10))
    logs = r("Functional.log_softmax", F.log_softmax, x, dim=1)
    loss = r("Functional.nll_loss", F.nll_loss, logs, target)
    loss.backward()


def reductions(r: Recorder, dtype: torch.dtype) -> None:
    x = torch.randn(40, 72).to(dtype).requires_grad_()
    total = r("Tensor.sum", torch.Tensor.sum, x, 1)
    spread = r("Tensor.std", torch.Tensor.std, x, 0)
    middle = r("Tensor.mean", torch.Tensor.mean, x)
    top, _ = r("Torch.max", torch.max, x, 1)
    ordered, _ = r("Torch.topk", torch.topk, x, 5)
    low, high = r("Torch.aminmax", torch.aminmax, x, dim=0)
    steps = r("Torch.cumsum", torch.cumsum, x, 1)
    grown = r("Torch.bmm", torch.bmm, x.reshape(2, 20, 72), torch.randn(2, 72, 24).to(dtype).requires_grad_())
    (total.sum() + spread.sum() + middle + top.sum() + ordered.sum() + (low * high).sum() + steps.pow(2).mean() +
     grown.pow(2).mean()).backward()


def ends_of_range(r: Recorder, dtype: torch.dtype) -> None:
    """Results that are subnormal, and results that do not fit."""
    info = torch.finfo(dtype)
    small, large = math.sqrt(info.tiny) * 0.9, math.sqrt(info.max) * 1.2
    between = lambda low, high: torch.empty(24, 32).uniform_(low, high).to(dtype)
    r("Torch.mul", torch.mul, between(-small, small), between(-small, small))
    r("Torch.mul", torch.mul, between(0.5 * large, large), between(-large, large))
    r("Torch.exp", torch.exp, between(math.log(info.tiny) - 4, math.log(info.tiny) + 2))
    r("Torch.exp", torch.exp, between(math.log(info.max) - 4, math.log(info.max) + 4))


def long_sums(r: Recorder, dtype: torch.dtype) -> None:
    """Products of many terms, with terms of both signs and of one: what matrix units that cut are judged by."""
    between = lambda low, *shape: torch.empty(shape).uniform_(low, 1).to(dtype).requires_grad_()
    for terms in (2048, 65536):
        for low in (-1.0, 0.0):
            r("Torch.matmul", torch.matmul, between(low, 8, terms), between(low, terms, 8)).float().sum().backward()
    r("Functional.linear", F.linear, between(0, 8, 4096), between(0, 10, 4096), between(0, 10)).float().sum().backward()
    r("Torch.bmm", torch.bmm, between(-1, 2, 6, 4096), between(-1, 2, 4096, 5)).float().sum().backward()
    image, kernel = torch.randn(4, 3, 34, 34).to(dtype).requires_grad_(), torch.rand(4, 3, 3, 3).to(dtype).requires_grad_()
    r("Functional.conv2d", F.conv2d, image, kernel).float().sum().backward()
    q, k, v = (torch.randn(1, 2, 128, 16).to(dtype).requires_grad_() for _ in range(3))
    r("Functional.scaled_dot_product_attention", F.scaled_dot_product_attention, q, k, v).float().sum().backward()


def small_sums(r: Recorder) -> None:
    """Sums of float32 products that are subnormal, forward and backward."""
    between = lambda size, *shape: torch.empty(shape).uniform_(-size, size).requires_grad_()
    x = between(1e-19, 24, 200)
    for size in (1e-19, 2e-2, 2e-1):
        x = r("Torch.matmul", torch.matmul, x, between(size, x.shape[1], 40))
    (x * 1e30).sum().backward()


def low_precision(r: Recorder) -> None:
    """Casts to and from codes, and products of codes with scales: every recipe of PyTorch, swizzled where devices ask for it."""
    e4m3, e5m2, e8m0 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
    between = lambda low, high, *shape: torch.empty(shape).uniform_(low, high)
    codes = lambda dtype, *shape, low=-1.0: (between(low, 1, *shape) * 200).to(dtype)
    pairs = lambda *shape: torch.randint(0, 256, shape, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    powers = lambda *shape: between(0.25, 8, *shape).to(e8m0)
    for dtype in (e4m3, e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        for source in (torch.float32, torch.bfloat16):
            r("Tensor.to", torch.Tensor.to, between(-90000, 90000, 40, 24).to(source), dtype)
            r("Tensor.to", torch.Tensor.to, between(-200, 200, 40, 24).to(source), dtype)
        r("Tensor.to", torch.Tensor.to, codes(dtype, 40, 24), torch.float32)
    r("Tensor.to", torch.Tensor.to, between(0, 60, 40, 24), e8m0)

    def product(name: str, shape: tuple, out: torch.dtype, *args: object, **kwargs: object) -> None:
        # PyTorch's CPU has no kernel for most of them: what they give is not looked at.
        r(f"Aten.{name}", lambda *_, **__: torch.zeros(shape, dtype=out), *args, **kwargs)
    for m, k, n, low in ((40, 272, 32, -1.0), (24, 2048, 16, 0.0)):
        for out in (torch.bfloat16, torch.float32, e4m3):
            a, b = codes(e4m3, m, k, low=low), codes(e4m3, n, k, low=low).t()
            scale = lambda *shape: between(0.001, 0.002, *shape)
            product("_scaled_mm", (m, n), out, a, b, scale(), scale(), out_dtype=out)
            product("_scaled_mm", (m, n), out, a, b, scale(m, 1), scale(1, n), out_dtype=out)
        product("_scaled_mm", (m, n), torch.float16, codes(e5m2, m, k, low=low), b, between(0.001, 0.002), between(0.001, 0.002),
                bias=between(-3, 3, n).half(), out_dtype=torch.float16)
    a, b = codes(e4m3, 200, 640), codes(e4m3, 256, 640).t()
    along, across = between(0.001, 0.01, 5, 200).t(), between(0.001, 0.01, 5, 256)
    product("_scaled_mm", (200, 256), torch.bfloat16, a, b, along, across, out_dtype=torch.bfloat16)
    square = between(0.001, 0.01, 2, 8).t()
    product("_scaled_mm_v2", (200, 256), torch.float32, a, b, [along], [4], [0], [square], [5], [0], None, torch.float32)
    for out in (torch.bfloat16, torch.float32):
        a, b = codes(e4m3, 130, 256), codes(e4m3, 48, 256).t()
        product("_scaled_mm_v2", (130, 48), out, a, b, [powers(256 * 8)], [3], [1], [powers(128 * 8)], [3], [1], None, out)
        product("_scaled_mm_v2", (130, 48), out, a, b, [powers(130, 8)], [3], [0], [powers(48, 8)], [3], [0], None, out)
        a, b = pairs(130, 128), pairs(48, 128).t()
        product("_scaled_mm_v2", (130, 48), out, a, b, [powers(256 * 8)], [3], [1], [powers(128 * 8)], [3], [1], None, out)
        grid = lambda *shape: between(0.25, 60, *shape).to(e4m3)
        product("_scaled_mm_v2", (130, 48), out, a, b, [grid(256 * 16), between(0.01, 0.02)], [2, 0], [1, 0],
                [grid(128 * 16), between(0.01, 0.02)], [2, 0], [1, 0], None, out)
    a, b, ends = codes(e4m3, 96, 64), codes(e4m3, 3, 40, 64).transpose(1, 2), torch.tensor([32, 64, 96], dtype=torch.int32)
    product("_scaled_grouped_mm", (96, 40), torch.bfloat16, a, b, between(0.001, 0.002, 96), between(0.001, 0.002, 3, 40), offs=ends,
            out_dtype=torch.bfloat16)
    for out in (e4m3, e5m2):
        r("Torch.matmul", torch.matmul, codes(out, 24, 40), codes(out, 40, 32) if out == e5m2 else (between(-1, 1, 40, 32)).to(out))


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    r = Recorder()
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for part in (transformer, convolutional, reductions, ends_of_range):
            part(r, dtype)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        long_sums(r, dtype)
    small_sums(r)
    low_precision(r)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    document = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": r.data}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in r.data.items())
    FILE.write_text(json.dumps({**document, "data": None})[:-5] + "{\n" + lines + "\n}}\n")


if __name__ == "__main__":
    main()
