# SPDX-License-Identifier: Apache-2.0
"""How devices compute: sums in float32 in some order, reciprocals in place of divisions, half types rounded where a document says so."""

import math

import torch

F16, BF16, F32, I8, I32, I64 = torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int32, torch.int64
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


class Device:
    """One of many right devices, or one with a fault in its arithmetic."""

    def __init__(self, choice):
        self.chunk = choice.choice((16, 48, 128))
        self.backward = choice.random() < 0.5
        self.reciprocal = choice.random() < 0.5
        self.loses_terms = self.truncates = self.loses_bias = False

    def parts(self, count):
        starts = list(range(0, count, self.chunk))
        if self.loses_terms and count > 1:
            starts = [start for start in starts if start < count - min(self.chunk, count // 2)] or [0]
        return reversed(starts) if self.backward else starts

    def product(self, a, b):
        """Of float32 matrices, in parts of the sum."""
        a, b, total = a.float(), b.float(), None
        for start in self.parts(a.shape[-1]):
            end = start + self.chunk
            if self.loses_terms:
                end = min(end, a.shape[-1] - min(self.chunk, a.shape[-1] // 2))
            part = a[..., start:end] @ b[..., start:end, :]
            total = part if total is None else total + part
        return torch.zeros(*a.shape[:-1], b.shape[-1]) if total is None else total

    def whole_product(self, a, b):
        """Of codes, exact."""
        if self.loses_terms:
            kept = a.shape[-1] - min(self.chunk, a.shape[-1] // 2)
            a, b = a[..., :kept], b[..., :kept, :]
        return (a.double() @ b.double()).to(I64)

    def sum(self, x, dim=-1):
        x, total = x.float().movedim(dim, -1), None
        for start in self.parts(x.shape[-1]):
            part = x[..., start : start + self.chunk].sum(-1)
            total = part if total is None else total + part
        return torch.zeros(x.shape[:-1]) if total is None else total

    def over(self, a, b):
        return a * (1 / b) if self.reciprocal else a / b

    def rint(self, x):
        return torch.trunc(x) if self.truncates else torch.round(x)

    def int8(self, x):
        return self.rint(x).clamp(-128, 127).to(I8)

    def int4(self, x):
        return self.rint(x).clamp(-8, 7).to(I64)

    def inverse_root(self, x):
        return torch.rsqrt(x) if self.reciprocal else 1 / torch.sqrt(x)

    def normed(self, x, dims, epsilon):
        """x / sqrt(mean(x^2) + epsilon) over the last `dims` dimensions, and the factor."""
        flat = x.float().flatten(-dims)
        factor = self.inverse_root(self.over(self.sum(flat * flat), torch.tensor(float(flat.shape[-1]))) + epsilon)
        for _ in range(dims):
            factor = factor.unsqueeze(-1)
        return x.float() * factor, factor

    def softmax(self, scores):
        """Of float32 rows; rows of -inf give 0. Also the logarithm of the sum."""
        largest = scores.amax(-1, keepdim=True)
        largest = torch.where(torch.isinf(largest), torch.zeros(()), largest)
        weights = torch.exp(scores - largest)
        total = self.sum(weights).unsqueeze(-1)
        return self.over(weights, torch.where(total == 0, torch.ones(()), total)), largest + torch.log(total)


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def silu(x, alpha=1.0):
    return x / (1 + torch.exp(-alpha * x))


def gelu(x, tanh):
    if tanh:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


# Codes of few bits


def in_words(codes, each=8, word=I32):
    """int4 in words, the first in the lowest bits."""
    parts = (codes.to(I64) & 15).unflatten(-1, (-1, each))
    words = sum(parts[..., i] << (4 * i) for i in range(each))
    return (words if word != I32 else torch.where(words >= 2**31, words - 2**32, words)).to(word)


def cut19(scale):
    """The scale that a word of 64 bits keeps."""
    return (scale.contiguous().view(I32) & ~0x1FFF).view(F32)


def words64(scale, offset=None):
    words = (cut19(scale.float()).view(I32).to(I64) & 0xFFFFFFFF) | (1 << 46)
    return words if offset is None else words | ((torch.round(offset).clamp(-256, 255).to(I64) & 511) << 37)


FP8 = {"e4m3": (E4M3, 448.0, 8, 3, -6), "e5m2": (E5M2, 57344.0, 15, 2, -14)}
FP4 = {"e2m1": (6.0, 2, 1, 0, (0, 0.5, 1, 1.5, 2, 3, 4, 6)), "e1m2": (1.75, 0, 2, 0, tuple(i / 4 for i in range(8)))}
NUMBERS = {"e4m3": 292, "e5m2": 291, "e2m1": 296, "e1m2": 297}


def of_fp8(x, name):
    """The nearest number of the format, what is beyond it clipped."""
    dtype, largest = FP8[name][:2]
    return x.clamp(-largest, largest).to(dtype)


def of_fp4(x, name, mode="rint"):
    """Numbers of the format."""
    largest, _, fraction, least, _ = FP4[name]
    size = x.double().abs()
    exponent = torch.floor(torch.log2(torch.where(size == 0, torch.ones((), dtype=torch.float64), size))).clamp(min=least)
    step = torch.exp2(exponent - fraction)
    scaled = x.double() / step
    whole = {"rint": torch.round, "floor": torch.floor, "round": lambda t: torch.sign(t) * torch.floor(t.abs() + 0.5)}[mode](scaled)
    return (whole * step).clamp(-largest, largest)


def fp4_bytes(numbers, name, sign):
    sizes = torch.tensor(FP4[name][4], dtype=torch.float64)
    codes = (numbers.abs().unsqueeze(-1) == sizes).to(I64).argmax(-1) | (sign.to(I64) << 3)
    pairs = codes.unflatten(-1, (-1, 2))
    return (pairs[..., 0] | (pairs[..., 1] << 4)).to(torch.uint8)


def mx_exponent(largest, name, algorithm, most=6.0):
    """Codes of the scales of blocks with these largest sizes (float64)."""
    emax = FP8[name][2] if name in FP8 else FP4[name][1]
    safe = torch.where(largest == 0, torch.ones((), dtype=torch.float64), largest)
    if algorithm == 0:
        exponent = torch.floor(torch.log2(safe)) - emax
    elif algorithm == 1:
        scale = (safe.float() / torch.tensor(FP8[name][1])).double()
        exponent = torch.ceil(torch.log2(scale))
    else:
        exponent = torch.ceil(torch.log2(safe / most))
    return torch.where(largest == 0, torch.zeros((), dtype=torch.float64), exponent.clamp(-127, 127) + 127)


def mx_codes(x, name, algorithm=0, mode="rint", shift=0, block=32):
    """(codes, scales in pairs) of blocks along the last dimension."""
    n = x.shape[-1]
    padded = torch.nn.functional.pad(x.double(), (0, -n % block)).unflatten(-1, (-1, block))
    scales = mx_exponent(padded.abs().amax(-1), name, algorithm) + shift
    scaled = (padded * torch.exp2(127 - scales).unsqueeze(-1)).flatten(-2)[..., :n]
    pairs = torch.nn.functional.pad(scales, (0, scales.shape[-1] % 2)).to(torch.uint8).unflatten(-1, (-1, 2))
    if name in FP8:
        return of_fp8(scaled.float(), name), pairs
    return (of_fp4(scaled, name, mode), torch.signbit(scaled)), pairs


def powers(codes):
    return torch.exp2(codes.double() - 127)
