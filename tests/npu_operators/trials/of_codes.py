# SPDX-License-Identifier: Apache-2.0
"""Quantisers, alone or behind a norm or a gate."""

import torch
from arithmetic import (
    BF16,
    F16,
    F32,
    FP8,
    I8,
    I32,
    I64,
    fp4_bytes,
    in_words,
    mx_codes,
    mx_exponent,
    of_fp4,
    of_fp8,
    sigmoid,
    silu,
)
from trial import Output, Trial, counts_of

LARGEST = {1: 127.0, 16: 7.0, 291: 57344.0, 292: 448.0}


def as_codes(device, x, number):
    if number == 16:
        return in_words(device.int4(x))
    if number in (None, 1):
        return device.int8(x)
    return of_fp8(x, "e4m3" if number == 292 else "e5m2")


def shapes(made):
    return made.pick((1, 64), (3, 191), (7, 192), (5, 193), (64, 256), (2, 3, 128))


def rows_of(groups, count):
    return torch.arange(count) < groups


# npu_dynamic_quant


def dynamic_quant(device, g):
    y = g["input"].float()
    smooth, number = g.get("smooth_scales"), g.get("dst_type")
    if g.get("_ends"):
        flat = y.reshape(-1, y.shape[-1]).clone()
        for i, (start, end) in enumerate(zip([0, *g["_ends"]], g["_ends"])):
            flat[start:end] *= smooth[i].float()
        y = flat.reshape(y.shape)
    elif smooth is not None:
        y = y * (smooth.float().unsqueeze(-1) if g["quant_mode"] == "perchannel" and smooth.dim() == 1 else smooth.float())
    size, mode = y.abs(), g.get("quant_mode", "pertoken")
    largest = size.max().reshape([1] * y.dim()) if mode == "pertensor" else size.amax(-1 if mode == "pertoken" else -2, keepdim=True)
    scale = device.over(largest, torch.tensor(LARGEST[number or 1]))
    shown = {"pertoken": lambda: scale.squeeze(-1), "perchannel": lambda: scale.squeeze(-2), "pertensor": lambda: scale.reshape(1)}[mode]()
    return [Output(as_codes(device, device.over(y, scale), number)), Output(shown)]


def dynamic_quant_trial(made):
    shape, dtype = shapes(made), made.pick(F16, BF16)
    x = made.normal(*shape, dtype=dtype, size=made.pick(0.01, 1, 100))
    mode = made.pick("pertoken", "pertoken", "perchannel", "pertensor")
    number = made.pick(None, 1, 291, 292, *((16,) if shape[-1] % 8 == 0 else ()))
    g = {"input": x, "quant_mode": mode, "dst_type": number}
    faults = []
    form = made.pick("none", "smooth", "groups")
    if form == "smooth" and mode != "pertensor":
        g["smooth_scales"] = made.between(0.5, 2, shape[-1] if mode == "pertoken" else shape[-2], dtype=dtype)
    elif form == "groups" and mode == "pertoken":
        rows = x.numel() // shape[-1]
        g["_ends"] = made.ends(3, rows)
        g |= {"smooth_scales": made.between(0.5, 2, 3, shape[-1], dtype=dtype), "group_index": torch.tensor(g["_ends"], dtype=I32)}
    if "smooth_scales" in g:
        faults.append(("neighbour's scale", {"smooth_scales": g["smooth_scales"].roll(1, 0)}))
    return Trial("npu_dynamic_quant", ["input"], g, dynamic_quant, faults)


# npu_quantize


def quantize(device, g):
    x, axis = g["input"].float(), g["axis"] if g["div_mode"] else (-2 if g["axis"] == -2 else -1)

    def along(t):
        if t.dim() != 1 or t.numel() == 1:
            return t.float()
        shape = [1] * x.dim()
        shape[axis] = -1
        return t.float().reshape(shape)

    y = device.over(x, along(g["scales"])) if g["div_mode"] else x * along(g["scales"])
    if g["zero_points"] is not None:
        y = y + along(g["zero_points"])
    y = device.rint(y)
    if g["dtype"] == 13:
        return [Output(y.clamp(0, 255).to(torch.uint8), spoil=False)]
    if g["dtype"] == 14:
        return [Output(y.to(I32), spoil=False)]
    return [Output(in_words(y.clamp(-8, 7)) if g["dtype"] == 16 else y.clamp(-128, 127).to(I8))]


def quantize_trial(made):
    dtype, shape = made.pick(F16, BF16, F32), made.pick((1, 64), (5, 192), (2, 7, 64))
    x = made.normal(*shape, dtype=dtype)
    if made.pick(True, False):
        axis, number = made.pick(0, 1, -1), made.pick(12, 13, 14)
        n = shape[axis]
        g = {
            "input": x,
            "scales": made.between(0.01, 0.05, n, dtype=made.pick(F32, BF16)),
            "zero_points": made.whole(-9, 9, n, dtype=I32),
            "dtype": number,
            "axis": axis,
            "div_mode": True,
        }
    else:
        axis, number = made.pick(1, -1, -2) if dtype != F32 else -1, made.pick(12, 16)
        n = shape[-2] if axis == -2 else shape[-1]
        size = 30 if number == 12 else 2
        g = {
            "input": x,
            "scales": made.between(size, 2 * size, made.pick(n, 1), dtype=dtype),
            "zero_points": None,
            "dtype": number,
            "axis": axis,
            "div_mode": False,
        }
    return Trial(
        "npu_quantize", ["input", "scales", "zero_points", "dtype"], g, quantize, [("neighbour's scale", {"scales": g["scales"].roll(1)})]
    )


# npu_dynamic_block_quant


def block_quant(device, g):
    x, r, c, number = g["x"].float(), g["row_block_size"], g["col_block_size"], g["dst_type"]
    stack = x.reshape(-1, *x.shape[-2:])
    b, m, n = stack.shape
    scales, scaled = torch.zeros(b, -(-m // r), -(-n // c)), torch.zeros_like(stack)
    for i in range(scales.shape[1]):
        for j in range(scales.shape[2]):
            part = (slice(None), slice(i * r, i * r + r), slice(j * c, j * c + c))
            s = device.over(stack[part].abs().amax((1, 2)), torch.tensor(LARGEST[number]))
            if g["min_scale"] > 0:
                s = torch.minimum(s, torch.tensor(1 / g["min_scale"]))
            scales[:, i, j], scaled[part] = s, device.over(stack[part], s[:, None, None])
    return [Output(as_codes(device, scaled.reshape(x.shape), number)), Output(scales.reshape(*x.shape[:-2], *scales.shape[1:]))]


def block_quant_trial(made):
    dtype = made.pick(F16, BF16)
    r, c, number = made.pick((1, 128, 1), (1, 64, 291), (128, 128, 292), (128, 256, 1), (1, 192, 292))
    x = made.normal(*made.pick((3, 128), (5, 191), (130, 200), (2, 9, 193)), dtype=dtype)
    g = {"x": x, "row_block_size": r, "col_block_size": c, "dst_type": number, "min_scale": made.pick(0.0, 0.0, 30.0)}
    return Trial("npu_dynamic_block_quant", ["x"], g, block_quant, [("neighbour's block", {"x": x.roll(c // 2, -1)})])


# MX

MX = ((296, 0), (297, 0), (292, 0), (291, 0), (24, 1), (23, 1), (296, 2))
NAMES = {292: "e4m3", 24: "e4m3", 291: "e5m2", 23: "e5m2", 296: "e2m1", 297: "e1m2"}


def mx(x, g, axis, shift=0):
    name = NAMES[g["dst_type"]]
    codes, pairs = mx_codes(x.movedim(axis, -1), name, g["scale_alg"], g.get("round_mode", "rint"), shift, g.get("block_size", 32))
    pairs = pairs.movedim(-2, axis % x.dim())
    if name in FP8:
        return codes.view(torch.uint8).movedim(-1, axis).contiguous().view(FP8[name][0]), pairs.contiguous()
    numbers, signs = (t.movedim(-1, axis) for t in codes)
    return fp4_bytes(numbers, name, signs), pairs.contiguous()


def mx_quant(device, g):
    return [Output(t) for t in mx(g["input"], g, g["axis"], g.get("_shift", 0))]


def mx_input(made, *shape):
    dtype = made.pick(F16, BF16)
    spread = torch.exp2(made.whole(-5, 5, *shape[:-1], 1, dtype=F32))
    return (made.normal(*shape) * spread).to(dtype)


def mx_trial(made):
    number, algorithm = made.pick(*MX)
    x = mx_input(made, *made.pick((1, 64), (3, 190), (67, 96), (2, 3, 194)))
    g = {"input": x, "axis": made.pick(-1, -1, 0, -2), "dst_type": number, "scale_alg": algorithm}
    if number in (296, 297):
        g["round_mode"] = made.pick("rint", "floor", "round") if algorithm == 0 else "rint"
    if algorithm == 0 and made.pick(True, False, False):
        g["block_size"] = 64
    return Trial(
        "npu_dynamic_mx_quant",
        ["input"],
        g,
        mx_quant,
        [("exponent off by one", {"_shift": 1}), ("axes exchanged", {"input": x.flip(g["axis"])})],
    )


def dual(device, g):
    first, second = mx(g["input"], g, -1), mx(g["input"], g, -2, g.get("_shift", 0))
    if g.get("_swap"):
        second = (second[0], first[1]) if first[1].shape == second[1].shape else (first[0], second[1])
    return [Output(t) for t in (*first, *second)]


def dual_trial(made):
    number, algorithm = made.pick(*MX)
    g = {"input": mx_input(made, *made.pick((64, 64), (67, 66), (2, 33, 98))), "dst_type": number, "scale_alg": algorithm}
    return Trial(
        "npu_dynamic_mx_quant_with_dual_axis",
        ["input"],
        g,
        dual,
        [("exponent off by one", {"_shift": -1}), ("axes exchanged", {"_swap": True})],
    )


def grouped_mx(device, g):
    x, ends = g["x"], g["_ends"]
    m, n = x.shape
    dtype = FP8[NAMES[g["dst_type"]]][0]
    codes, scales = torch.zeros(m, n, dtype=torch.uint8), torch.zeros(m // 64 + len(ends), n, 2, dtype=torch.uint8)
    written = torch.zeros(scales.shape[0], dtype=torch.bool)
    for i, (start, end) in enumerate(zip([0, *ends], ends)):
        if end > start:
            part, pairs = mx(x[start:end], g, 0)
            first = start // 64 + i
            codes[start:end], scales[first : first + pairs.shape[0]] = part.view(torch.uint8), pairs
            written[first : first + pairs.shape[0]] = True
    return [Output(codes.view(dtype)), Output(scales, written.repeat_interleave(n), spoil=False)]


def grouped_mx_trial(made):
    m = made.pick(64, 191, 193)
    ends = made.ends(made.pick(2, 4), m)
    g = {
        "x": mx_input(made, m, made.pick(32, 65)),
        "group_index": torch.tensor(ends, dtype=I32),
        "_ends": ends,
        "dst_type": made.pick(23, 24),
        "scale_alg": made.pick(0, 0, 1),
    }
    other = [min(end + 7, m) for end in ends[:-1]] + ends[-1:]
    return Trial("npu_grouped_dynamic_mx_quant", ["x", "group_index"], g, grouped_mx, [("groups moved", {"_ends": other})])


def block_mx(device, g):
    x, name = g["input"].double(), NAMES[g["dst_type"]]
    stack = x.reshape(-1, *x.shape[-2:])
    b, m, n = stack.shape
    codes, signs = torch.zeros_like(stack), torch.signbit(stack)
    scales = torch.zeros(b, -(-m // 32), -(-n // 32), dtype=torch.float64)
    for i in range(scales.shape[1]):
        for j in range(scales.shape[2]):
            part = (slice(None), slice(32 * i, 32 * i + 32), slice(32 * j, 32 * j + 32))
            largest = stack[part].abs().amax((1, 2))
            largest = largest.float().to(BF16).double() if g["scale_alg"] == 2 else largest
            scales[:, i, j] = mx_exponent(largest, name, g["scale_alg"]) + g.get("_shift", 0)
            scaled = stack[part] * torch.exp2(127 - scales[:, i, j])[:, None, None]
            codes[part] = of_fp8(scaled.float(), name).double() if name in FP8 else of_fp4(scaled, name)
    y = codes.reshape(x.shape).float().to(FP8[name][0]) if name in FP8 else fp4_bytes(codes.reshape(x.shape), name, signs.reshape(x.shape))
    by_row = torch.nn.functional.pad(scales.repeat_interleave(32, 1)[:, :m], (0, scales.shape[2] % 2)).unflatten(-1, (-1, 2))
    by_column = (
        torch.nn.functional.pad(scales.repeat_interleave(32, 2)[:, :, :n], (0, 0, 0, scales.shape[1] % 2))
        .unflatten(1, (-1, 2))
        .transpose(-2, -1)
    )
    lead = x.shape[:-2]
    return [
        Output(y),
        Output(by_row.to(torch.uint8).reshape(*lead, *by_row.shape[1:])),
        Output(by_column.to(torch.uint8).reshape(*lead, *by_column.shape[1:]).contiguous()),
    ]


def block_mx_trial(made):
    number, algorithm = made.pick((296, 0), (296, 2), (292, 0), (291, 0))
    g = {"input": mx_input(made, *made.pick((32, 32), (70, 98), (2, 33, 66))), "dst_type": number, "scale_alg": algorithm}
    return Trial("npu_dynamic_block_mx_quant", ["input"], g, block_mx, [("exponent off by one", {"_shift": 1})])


# Norms


def summed(g):
    wide = g["x1"].float() + g["x2"].float()
    rounded = wide.to(g["x1"].dtype)
    return rounded, wide if g.get("_wide") else rounded.float()


def add_rms_norm(device, g):
    shown, seen = summed(g)
    y, factor = device.normed(seen, g["gamma"].dim(), g["epsilon"])
    if not g.get("_wide"):
        y = y.to(shown.dtype).float()
    return [Output((y * g["gamma"].float()).to(shown.dtype)), Output(factor, spoil=False), Output(shown)]


def add_rms_norm_trial(made):
    dtype, shape = made.pick(F16, BF16, F32), shapes(made)
    dims = made.pick(1, 1, min(2, len(shape)))
    g = {
        "x1": made.normal(*shape, dtype=dtype),
        "x2": made.normal(*shape, dtype=dtype),
        "gamma": made.between(0.5, 1.5, *shape[-dims:], dtype=dtype),
        "epsilon": made.pick(1e-6, 1e-5),
        "_wide": made.pick(True, False),
    }
    faults = [("gamma moved", {"gamma": g["gamma"].roll(1)}), ("residual lost", {"x2": g["x2"] * 0}), ("wrong epsilon", {"epsilon": 0.3})]
    return Trial("npu_add_rms_norm", ["x1", "x2", "gamma"], g, add_rms_norm, faults)


def add_rms_norm_quant(device, g):
    shown, seen = summed(g)
    y = device.normed(seen, 1, g["epsilon"])[0] * g["gamma"].float()
    if g.get("beta") is not None:
        y = y + g["beta"].float()

    def codes(scale, offset):
        if scale is None:
            return Output(torch.zeros(y.shape, dtype=I8), torch.zeros(y.numel() // y.shape[-1], dtype=torch.bool))
        q = device.over(y, scale.float()) if g["div_mode"] else y * scale.float()
        return Output(device.int8(q if offset is None else q + offset.float()))

    return [codes(g["scales1"], g["zero_points1"]), codes(g.get("scales2"), g.get("zero_points2")), Output(shown)]


def add_rms_norm_quant_trial(made):
    dtype, shape = made.pick(F16, BF16), shapes(made)
    n, own = shape[-1], F32 if dtype == F16 else BF16
    divides = made.pick(True, True, False)
    low, high = (0.01, 0.05) if divides else (20, 60)
    offset = I32 if dtype == F16 else BF16
    g = {
        "x1": made.normal(*shape, dtype=dtype),
        "x2": made.normal(*shape, dtype=dtype),
        "gamma": made.between(0.5, 1.5, n, dtype=dtype),
        "epsilon": 1e-6,
        "div_mode": divides,
        "scales1": made.between(low, high, n, dtype=own),
        "zero_points1": made.whole(-9, 9, n, dtype=offset) if made.pick(True, False) else None,
        "beta": made.normal(n, dtype=dtype) if made.pick(True, False) else None,
        "_wide": made.pick(True, False),
    }
    if made.pick(True, False):
        g |= {"scales2": made.between(low, high, n, dtype=own), "zero_points2": made.whole(-9, 9, n, dtype=offset)}
    faults = [("neighbour's scale", {"scales1": g["scales1"].roll(1)}), ("residual lost", {"x2": g["x2"] * 0})]
    return Trial("npu_add_rms_norm_quant", ["x1", "x2", "gamma", "scales1", "zero_points1"], g, add_rms_norm_quant, faults)


def rms_norm_quant(device, g):
    y = device.normed(g["x"], 1, g["epsilon"])[0] * g["gamma"].float() + g["beta"].float()
    y = y * g["scale"].float() if g["_multiplies"] else device.over(y, g["scale"].float())
    return [Output(device.int8(y + g["offset"].float()))]


def rms_norm_quant_trial(made):
    dtype, shape = made.pick(F16, BF16), shapes(made)
    n = shape[-1]
    g = {
        "x": made.normal(*shape, dtype=dtype),
        "gamma": made.between(10, 30, n, dtype=dtype),
        "beta": made.normal(n, dtype=dtype),
        "epsilon": 1e-6,
        "scale": made.between(0.8, 1.2, 1, dtype=dtype) if made.pick(True, False) else torch.ones(1, dtype=dtype),
        "offset": made.whole(-5, 5, 1),
        "_multiplies": made.pick(True, False),
    }
    faults = [("gamma moved", {"gamma": g["gamma"].roll(1)}), ("wrong offset", {"offset": g["offset"] + 4})]
    return Trial("npu_rms_norm_quant", ["x", "gamma", "beta", "scale", "offset"], g, rms_norm_quant, faults)


# Gates


def swiglu_quant(device, g):
    x = g["x"].float()
    left, right = x.reshape(-1, x.shape[-1]).chunk(2, -1)
    v = (silu(left) * right if g["activate_left"] else left * silu(right)).contiguous()
    number = 16 if g["dst_type"] == torch.quint4x2 else 1
    ends, smooth, offsets = g["_ends"] or [v.shape[0]], g["smooth_scales"], g.get("offsets")
    for i, (start, end) in enumerate(zip([0, *ends], ends)):
        if smooth is not None:
            v[start:end] *= smooth[i]
    factor = torch.zeros(v.shape[0])
    if g["quant_mode"] == 1:
        largest = v.abs().amax(-1)
        factor = device.over(torch.tensor(LARGEST[number]), largest)
        v = v * factor[:, None]
    elif offsets is not None:
        for i, (start, end) in enumerate(zip([0, *ends], ends)):
            v[start:end] += offsets[i]
    codes = as_codes(device, v, number)
    rows = torch.arange(v.shape[0]) < ends[-1]
    shape = x.shape[:-1]
    return [
        Output(codes.reshape(*shape, -1), rows),
        Output(factor.reshape(shape), rows if g["quant_mode"] == 1 else rows & False, spoil=g["quant_mode"] == 1),
    ]


def swiglu_quant_trial(made):
    dtype, rows, width = made.pick(F16, BF16, F32), made.pick(1, 9, 64), made.pick(64, 192, 193)
    groups = made.pick(None, 3)
    ends = made.ends(3, rows, made.pick(0, min(2, rows - 1))) if groups else None
    kind = made.pick(0, 1)
    four = width % 8 == 0 and made.pick(True, False, False)
    wide = 1 if four else 10
    many = groups or 1
    g = {
        "x": made.normal(rows, 2 * width, dtype=dtype),
        "activate_left": made.pick(True, False),
        "quant_mode": made.pick(0, 1),
        "_ends": ends,
        "group_list_type": kind,
        "smooth_scales": made.between(wide, 2 * wide, many, width) if made.pick(True, True, False) else None,
        "dst_type": torch.quint4x2 if four else None,
    }
    if groups:
        g["group_index"] = torch.tensor(ends if kind == 0 else counts_of(ends), dtype=I32)
    if g["quant_mode"] == 0 and g["smooth_scales"] is not None:
        g["offsets"] = made.normal(many, width)
    faults = [("other half activated", {"activate_left": not g["activate_left"]})]
    if g["smooth_scales"] is not None:
        faults.append(("neighbour's scale", {"smooth_scales": g["smooth_scales"].roll(1, 1)}))
    return Trial("npu_swiglu_quant", ["x"], g, swiglu_quant, faults)


def dequant_swiglu_quant(device, g):
    x, ends = g["x"], g["_ends"] or [g["x"].shape[0]]
    v = torch.zeros(x.shape[0], x.shape[1] // 2)
    static = g["quant_mode"] == 0
    for i, (start, end) in enumerate(zip([0, *ends], ends)):

        def of(name, i=i):
            t = g.get(name)
            return None if t is None else t[min(i, t.shape[0] - 1)] if t.dim() == 2 else t

        part = x[start:end]
        if x.dtype == I32:
            bias = of("bias")
            part = (part if bias is None or bias.is_floating_point() else part + bias).float() * of("weight_scale")
            if g.get("activation_scale") is not None:
                part = part * g["activation_scale"].reshape(-1, 1)[start:end]
            if bias is not None and bias.is_floating_point():
                part = part + bias.float()
        part = part.float()
        if g["swiglu_mode"] == 0:
            left, right = part.chunk(2, -1)
            y = silu(left) * right if g["activate_left"] else left * silu(right)
        else:
            a, b = (part[:, 0::2], part[:, 1::2]) if g["swiglu_mode"] == 1 else part.chunk(2, -1)
            limit, alpha = g.get("clamp_limit", 7.0), g.get("glu_alpha", 1.702)
            a = a.clamp(max=limit)
            y = a * sigmoid(alpha * a) * (b.clamp(-limit, limit) + g.get("glu_bias", 1.0))
        quant = of("quant_scale")
        if quant is not None:
            y = y * quant if not static or g["_multiplies"] else device.over(y, quant)
        if static and g.get("quant_offset") is not None:
            y = y + of("quant_offset")
        v[start:end] = y
    rows = torch.arange(v.shape[0]) < ends[-1]
    if static:
        return [Output(device.int8(v), rows), Output(torch.zeros(v.shape[0]), rows & False, spoil=False)]
    scale = device.over(v.abs().amax(-1), torch.tensor(127.0))
    safe = torch.where(scale == 0, torch.ones(()), scale)
    return [Output(device.int8(device.over(v, safe[:, None])), rows), Output(scale, rows)]


def dequant_swiglu_quant_trial(made):
    rows, width = made.pick(1, 2, 9, 64), made.pick(64, 191, 192, 193)
    groups = made.pick(None, 3)
    ends = made.ends(3, rows, made.pick(0, min(2, rows - 1))) if groups else None
    many = groups or 1
    whole = made.pick(True, True, False)
    x = made.whole(-3000, 3000, rows, 2 * width, dtype=I32) if whole else made.normal(rows, 2 * width, dtype=made.pick(F16, BF16))
    g = {
        "x": x,
        "activate_left": made.pick(True, False),
        "quant_mode": made.pick(0, 1, 1),
        "swiglu_mode": made.pick(0, 0, 1, 2),
        "_ends": ends,
        "_multiplies": made.pick(True, False),
    }
    if whole:
        g |= {
            "weight_scale": made.between(1e-4, 1e-3, many, 2 * width),
            "activation_scale": made.between(0.5, 2, rows) if made.pick(True, True, False) else None,
        }
        kind = made.pick(None, I32, F32)
        if kind is not None:
            g["bias"] = made.whole(-500, 500, many, 2 * width, dtype=I32) if kind == I32 else made.normal(many, 2 * width)
    if g["quant_mode"] == 1:
        g["quant_scale"] = made.between(0.5, 2, many, width) if made.pick(True, False) else None
    else:
        g["quant_scale"] = made.between(0.8, 1.25, many, width)
        g["quant_offset"] = made.between(-3, 3, many, width) if made.pick(True, False) else None
    if groups:
        g["group_index"] = torch.tensor(counts_of(ends), dtype=I64)
    faults = []
    if g["swiglu_mode"] == 0:
        faults.append(("other half activated", {"activate_left": not g["activate_left"]}))
    else:
        faults.append(("limits ignored", {"clamp_limit": 0.5}))
    if whole:
        faults.append(("neighbour's scale", {"weight_scale": g["weight_scale"].roll(1, 1)}))
    if g.get("bias") is not None:
        faults.append(("bias lost", {"bias": g["bias"] * 0}))
    return Trial("npu_dequant_swiglu_quant", ["x"], g, dequant_swiglu_quant, faults)


def kronecker(device, g):
    x, clip = g["x"], g.get("clip_ratio") or 1.0
    inner = device.product(x, g["kronecker_p2"])
    if g["_half"]:
        inner = inner.to(x.dtype)
    z = device.product(g["kronecker_p1"].expand(x.shape[0], -1, -1), inner)
    if g["_half"]:
        z = z.to(x.dtype).float()
    scale = z.abs().amax((1, 2)) * (clip / 7)
    q = device.over(z, scale[:, None, None])
    return [Output(in_words((torch.trunc(q) if g["_cuts"] else device.rint(q)).clamp(-8, 7))), Output(scale)]


def kronecker_trial(made):
    dtype = made.pick(F16, BF16)
    k, m, n = made.pick((1, 16, 64), (5, 8, 32), (3, 64, 64))
    g = {
        "x": made.normal(k, m, n, dtype=dtype),
        "kronecker_p1": made.normal(m, m, dtype=dtype, size=m**-0.5),
        "kronecker_p2": made.normal(n, n, dtype=dtype, size=n**-0.5),
        "clip_ratio": made.pick(1.0, 0.9),
        "_half": made.pick(True, False),
        "_cuts": made.pick(True, False),
    }
    faults = [
        ("wrong matrix", {"kronecker_p1": g["kronecker_p1"].t().contiguous()}),
        ("neighbour's columns", {"kronecker_p2": g["kronecker_p2"].roll(1, 1)}),
    ]
    return Trial(
        "npu_kronecker_quant",
        ["x", "kronecker_p1", "kronecker_p2"],
        g,
        kronecker,
        faults,
        readings=("codes cut off, not rounded", "all a little larger"),
    )


FORMS = {
    "npu_dynamic_quant": [dynamic_quant_trial],
    "npu_quantize": [quantize_trial],
    "npu_dynamic_block_quant": [block_quant_trial],
    "npu_dynamic_mx_quant": [mx_trial],
    "npu_dynamic_mx_quant_with_dual_axis": [dual_trial],
    "npu_grouped_dynamic_mx_quant": [grouped_mx_trial],
    "npu_dynamic_block_mx_quant": [block_mx_trial],
    "npu_add_rms_norm": [add_rms_norm_trial],
    "npu_add_rms_norm_quant": [add_rms_norm_quant_trial],
    "npu_rms_norm_quant": [rms_norm_quant_trial],
    "npu_swiglu_quant": [swiglu_quant_trial],
    "npu_dequant_swiglu_quant": [dequant_swiglu_quant_trial],
    "npu_kronecker_quant": [kronecker_trial],
}
