# SPDX-License-Identifier: Apache-2.0
"""Activations, rotations, the loss."""

import math

import torch
from arithmetic import BF16, F16, F32, I64, gelu, sigmoid
from trial import Output, Trial


def sizes(made):
    return made.pick((1, 64), (3, 191), (7, 192), (193, 64), (2, 5, 96))


def cross_entropy(device, g):
    x, t = g["input"].float(), g["target"]
    largest = x.amax(-1, keepdim=True)
    lp = x - (largest + torch.log(device.sum(torch.exp(x - largest)).unsqueeze(-1)))
    c = x.shape[1]
    w = torch.ones(c) if g["weight"] is None else g["weight"]
    k = (t != g["ignore_index"]).float() if g["ignore_index"] >= 0 else torch.ones(x.shape[0])
    plain, smooth, e = -w[t] * lp.gather(1, t[:, None])[:, 0] * k, -k * device.sum(lp * w), g["label_smoothing"]
    total = device.sum(w[t] * k)
    if g["reduction"] == "none":
        loss = (1 - e) * plain + e / c * smooth
    else:
        loss = ((1 - e) * device.sum(plain) + e / c * device.sum(smooth)).reshape(1)
        loss = loss / total if g["reduction"] == "mean" else loss
    empty = [Output(torch.zeros(0), spoil=False)] * 2
    return [Output(loss.to(g["input"].dtype)), Output(lp.to(g["input"].dtype)), *empty]


def cross_entropy_trial(made):
    dtype, (n, c) = made.pick(F16, BF16, F32), made.pick((1, 10), (17, 193), (64, 1000))
    t = made.whole(0, c, n, dtype=I64)
    g = {
        "input": made.normal(n, c, dtype=dtype, size=3),
        "target": t,
        "weight": made.between(0.5, 2, c) if made.pick(True, False) else None,
        "reduction": made.pick("mean", "sum", "none"),
        "ignore_index": made.pick(-100, int(t[0])) if n > 1 else -100,
        "label_smoothing": made.pick(0.0, 0.3),
    }
    faults = [
        ("targets of the next row", {"target": t.roll(1)}),
        ("smoothing lost", {"label_smoothing": 0.0}),
        ("neighbour's class", {"target": (t + 1) % c}),
    ]
    return Trial("npu_cross_entropy_loss", ["input", "target"], g, cross_entropy, faults)


def gelu_of(device, g):
    return [Output(gelu(g["input"].float(), g["approximate"] == "tanh").to(g["input"].dtype))]


def gelu_trial(made):
    dtype = made.pick(F16, BF16, F32)
    g = {"input": made.normal(*sizes(made), dtype=dtype, size=2), "approximate": made.pick("none", "tanh")}
    return Trial("npu_gelu", ["input"], g, gelu_of, [("relu", {"input": torch.relu(g["input"])})])


def geglu(device, g):
    a, b = g["input"].float().chunk(2, g["dim"])
    active, linear = (a, b) if g["activate_left"] else (b, a)
    y = gelu(active, g["approximate"] == 1)
    return [Output((linear * y).to(g["input"].dtype)), Output(y.to(g["input"].dtype))]


def geglu_trial(made):
    dtype, dim = made.pick(F16, BF16, F32), made.pick(-1, 0)
    shape = list(made.pick((1, 64), (3, 192), (193, 64)))
    shape[dim] = shape[dim] + shape[dim] % 2
    g = {"input": made.normal(*shape, dtype=dtype), "dim": dim, "approximate": made.pick(0, 1), "activate_left": made.pick(True, False)}
    return Trial("npu_geglu", ["input"], g, geglu, [("other half activated", {"activate_left": not g["activate_left"]})])


def clipped(device, g):
    x, dim = g["x"].float(), g["dim"] % g["x"].dim()
    columns = math.prod(x.shape[dim:])
    flat = x.reshape(-1, columns)
    a, b = (flat[:, 0::2], flat[:, 1::2]) if g["interleaved"] else flat.chunk(2, -1)
    a = a.clamp(max=g["limit"])
    y = a * sigmoid(g["alpha"] * a) * (b.clamp(-g["limit"], g["limit"]) + g["bias"])
    shape = list(x.shape)
    shape[dim] //= 2
    rows = None
    if g["group_index"] is not None:
        rows = torch.arange(flat.shape[0]) < int(g["group_index"].sum())
        return [Output(y.to(g["x"].dtype).reshape(shape), rows)]
    return [Output(y.to(g["x"].dtype).reshape(shape))]


def clipped_trial(made):
    dtype, dim = made.pick(F16, BF16, F32), made.pick(-1, -1, 1)
    shape = made.pick((1, 64), (9, 192), (193, 128)) if dim == -1 else (9, 4, 33)
    groups = made.pick(None, torch.tensor([shape[0] // 3, 0, shape[0] // 2], dtype=I64)) if dim == -1 else None
    g = {
        "x": made.normal(*shape, dtype=dtype, size=3),
        "dim": dim,
        "alpha": made.pick(1.702, 1.0),
        "limit": made.pick(7.0, 2.0),
        "bias": made.pick(1.0, 0.0),
        "interleaved": made.pick(True, False),
        "group_index": groups,
    }
    return Trial(
        "npu_clipped_swiglu",
        ["x"],
        g,
        clipped,
        [("other neighbours", {"interleaved": not g["interleaved"]}), ("limits ignored", {"limit": 1000.0})],
    )


def interleave_rope(device, g):
    x = g["x"].float()
    q = torch.cat([x[..., 0::2], x[..., 1::2]], -1)
    a, b = q.chunk(2, -1)
    return [Output((q * g["cos"].float() + torch.cat([-b, a], -1) * g["sin"].float()).to(g["x"].dtype))]


def interleave_rope_trial(made):
    dtype, (b, n, s) = made.pick(F16, BF16), made.pick((1, 1, 1), (2, 4, 5), (1, 8, 193))
    angle = made.normal(b, 1, made.pick(s, 1), 64)
    g = {"x": made.normal(b, n, s, 64, dtype=dtype), "cos": torch.cos(angle).to(dtype), "sin": torch.sin(angle).to(dtype)}
    faults = [
        ("rope pairs exchanged", {"sin": -g["sin"]}),
        ("pairs not sorted", {"x": torch.cat([g["x"][..., 1::2], g["x"][..., 0::2]], -1)}),
    ]
    return Trial("npu_interleave_rope", ["x", "cos", "sin"], g, interleave_rope, faults)


def rotary(device, g):
    x, cos, sin = g["input"].float(), g["r1"].float(), g["r2"].float()
    if g["rotary_mode"] == "half":
        a, b = x.chunk(2, -1)
        turned = torch.cat([-b, a], -1)
    else:
        turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return [Output((x * cos + turned * sin).to(g["input"].dtype))]


def rotary_trial(made):
    dtype, (b, n, s, d) = made.pick(F16, BF16, F32), made.pick((2, 4, 5, 64), (1, 2, 193, 32), (2, 1, 1, 128))
    layout = made.pick("BNSD", "BSND", "SBND", "TND")
    shape, angles = {
        "BNSD": ((b, n, s, d), [(1, 1, s, d), (b, 1, s, d), (b, n, s, d)]),
        "BSND": ((b, s, n, d), [(1, s, 1, d), (b, s, 1, d), (b, s, n, d)]),
        "SBND": ((s, b, n, d), [(s, 1, 1, d), (s, b, 1, d), (s, b, n, d)]),
        "TND": ((s, n, d), [(s, 1, d), (s, n, d)]),
    }[layout]
    mode = made.pick("half", "interleave")
    angle = made.normal(*(angles[0] if mode == "interleave" else made.pick(*angles)))
    g = {"input": made.normal(*shape, dtype=dtype), "r1": torch.cos(angle).to(dtype), "r2": torch.sin(angle).to(dtype), "rotary_mode": mode}
    faults = [("rope pairs exchanged", {"r2": -g["r2"]}), ("other mode", {"rotary_mode": "interleave" if mode == "half" else "half"})]
    return Trial("npu_rotary_mul", ["input", "r1", "r2"], g, rotary, faults)


FORMS = {
    "npu_cross_entropy_loss": [cross_entropy_trial],
    "npu_gelu": [gelu_trial],
    "npu_geglu": [geglu_trial],
    "npu_clipped_swiglu": [clipped_trial],
    "npu_interleave_rope": [interleave_rope_trial],
    "npu_rotary_mul": [rotary_trial],
}
