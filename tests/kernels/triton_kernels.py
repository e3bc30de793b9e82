# SPDX-License-Identifier: Apache-2.0
"""Triton kernels in place of the device: layer norm, softmax and matrix products. TRITON_INTERPRET=1 runs them on the CPU."""
import os

import torch
import triton
import triton.language as tl

import msprobe

# For a trial of the checker: "layer_norm", "softmax" or "matmul" is wrong then.
FAULT = os.environ.get("MSPROBE_TRIAL_FAULT", "")


@triton.jit
def _layer_norm(x, out, weight, bias, columns, eps, HAS_WEIGHT: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(x + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    off = tl.where(inside, values - mean, 0.0)
    variance = tl.sum(off * off, axis=0) / columns
    result = off / tl.sqrt(variance + eps)
    if HAS_WEIGHT:
        result = result * tl.load(weight + places, mask=inside, other=0.0).to(tl.float32)
    if HAS_BIAS:
        result = result + tl.load(bias + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + places, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _softmax(x, out, columns, last, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < last
    values = tl.load(x + row * columns + places, mask=inside, other=-float("inf")).to(tl.float32)
    shares = tl.exp(values - tl.max(values, axis=0))
    result = shares / tl.sum(shares, axis=0)
    tl.store(out + row * columns + places, result.to(out.dtype.element_ty), mask=places < columns)


@triton.jit
def _matmul(a, b, out, rows, columns, inner, last, BLOCK: tl.constexpr):
    at_row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at_column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, last, BLOCK):
        at_inner = start + tl.arange(0, BLOCK)
        left = tl.load(a + at_row[:, None] * inner + at_inner[None, :], mask=(at_row[:, None] < rows) & (at_inner[None, :] < last), other=0.0)
        right = tl.load(b + at_inner[:, None] * columns + at_column[None, :], mask=(at_inner[:, None] < last) & (at_column[None, :] < columns), other=0.0)
        total += tl.dot(left.to(tl.float32), right.to(tl.float32), input_precision="ieee")
    inside = (at_row[:, None] < rows) & (at_column[None, :] < columns)
    tl.store(out + at_row[:, None] * columns + at_column[None, :], total.to(out.dtype.element_ty), mask=inside)


def _block(extent):
    return max(2, triton.next_power_of_2(extent))


def run_layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    columns = 1
    for extent in shape:
        columns *= extent
    flat = x.detach().contiguous()
    out = torch.empty_like(flat)
    if FAULT == "layer_norm":
        eps = eps * 1e4
    _layer_norm[(flat.numel() // columns,)](flat, out, weight if weight is not None else flat, bias if bias is not None else flat, columns, eps,
                                            weight is not None, bias is not None, _block(columns))
    return out


def run_softmax(x, dim=-1):
    moved = x.detach().movedim(dim, -1).contiguous()
    out = torch.empty_like(moved)
    columns = moved.shape[-1]
    _softmax[(moved.numel() // columns,)](moved, out, columns, columns - (FAULT == "softmax"), _block(columns))
    return out.movedim(-1, dim)


def run_matmul(a, b):
    if b.dim() > 2:
        shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        left, right = (t.detach().expand(*shape, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (a, b))
        return torch.stack([run_matmul(one, other) for one, other in zip(left, right)]).view(*shape, a.shape[-2], b.shape[-1])
    left, right = a.detach().reshape(-1, a.shape[-1]).contiguous(), b.detach().contiguous()
    rows, inner, columns = left.shape[0], left.shape[1], right.shape[1]
    out = torch.empty((rows, columns), dtype=left.dtype)
    block = 16
    last = inner - 1 if FAULT == "matmul" and inner > 1 else inner
    _matmul[(triton.cdiv(rows, block), triton.cdiv(columns, block))](left, right, out, rows, columns, inner, last, block)
    return out.view(*a.shape[:-1], columns)


@msprobe.kernel("Functional.layer_norm")
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return run_layer_norm(x, normalized_shape, weight, bias, eps)


@msprobe.kernel("Functional.softmax")
def softmax(x, dim=-1, _stacklevel=3, dtype=None):
    return run_softmax(x if dtype is None else x.to(dtype), dim)


@msprobe.kernel("Torch.matmul")
def matmul(a, b):
    return run_matmul(a, b)


@msprobe.kernel("Tensor.__matmul__")
def at(a, b):
    return run_matmul(a, b)
