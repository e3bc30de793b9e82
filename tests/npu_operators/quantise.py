# SPDX-License-Identifier: Apache-2.0
"""Operators that turn rows, blocks or whole tensors into codes."""

import torch
from recorder import HALVES, normal, pack_int4, to_int8, uniform, unwritten, whole

LARGEST = {1: 127.0, 16: 7.0, 291: 57344.0, 292: 448.0}


def codes(value, dtype):
    if dtype == 16:
        return pack_int4(torch.clamp(torch.round(value), -8, 7))
    if dtype == 1:
        return to_int8(value)
    return value.to(torch.float8_e4m3fn if dtype == 292 else torch.float8_e5m2)


def silu(x):
    return x / (1 + torch.exp(-x))


def rms_norm(x, gamma, epsilon):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon) * gamma


def dynamic_quant(x, smooth_scales=None, group_index=None, dst_type=1, quant_mode="pertoken"):
    y = x.float()
    if group_index is not None:
        start = 0
        parts = []
        for group, end in enumerate(group_index.tolist()):
            parts.append(y[start:end] * smooth_scales[group].float())
            start = end
        y = torch.cat(parts)
    elif smooth_scales is not None:
        y = y * smooth_scales.float()
    size = y.abs()
    largest = {
        "pertoken": lambda: size.amax(-1, keepdim=True),
        "perchannel": lambda: size.amax(-2, keepdim=True),
        "pertensor": lambda: size.max().reshape([1] * y.dim()),
    }[quant_mode]()
    scale = largest / torch.tensor(LARGEST[dst_type])
    shown = {"pertoken": lambda: scale.squeeze(-1), "perchannel": lambda: scale.squeeze(-2), "pertensor": lambda: scale.reshape(1)}
    return [codes(y / scale, dst_type), shown[quant_mode]()]


def record_dynamic_quant(calls):
    name = "npu_dynamic_quant"
    for dtype in HALVES:
        for shape in ((1, 64), (3, 191), (7, 192), (5, 193), (2, 3, 64)):
            x = normal(*shape, dtype=dtype)
            calls.case(name, dynamic_quant, [x], faults=[("neighbour", [x.roll(1, -1)], {})])
        x = normal(6, 64, dtype=dtype)
        smooth = uniform(3, 64, low=0.5, high=2, dtype=dtype)
        ends = torch.tensor([2, 2, 6], dtype=torch.int32)
        shifted = {"smooth_scales": smooth.roll(1, 0), "group_index": ends}
        calls.case(name, dynamic_quant, [x], {"smooth_scales": smooth, "group_index": ends}, [("neighbour's scale", [x], shifted)])
        for keywords in ({"quant_mode": "perchannel"}, {"quant_mode": "pertensor"}, {"dst_type": 16}, {"dst_type": 291}, {"dst_type": 292}):
            calls.case(name, dynamic_quant, [x], keywords)
        right = dynamic_quant(x)
        calls.record(name, [x], {}, [right[0], right[1].roll(1, 0)], "neighbour's scale")


def quantize(x, scales, zero_points, dtype, axis=1, div_mode=True):
    def along(given):
        if given.dim() != 1 or given.numel() == 1:
            return given.float()
        shape = [1] * x.dim()
        shape[axis if div_mode else -1] = -1
        return given.reshape(shape).float()

    y = x.float() / along(scales) if div_mode else x.float() * along(scales)
    if zero_points is not None:
        y = y + along(zero_points)
    y = torch.round(y)
    if dtype == 13:
        return [y.clamp(0, 255).to(torch.uint8)]
    return [pack_int4(y.clamp(-8, 7)) if dtype == 16 else to_int8(y)]


def record_quantize(calls):
    name = "npu_quantize"
    for dtype in (*HALVES, torch.float32):
        x, scale, offset = normal(5, 64, dtype=dtype), uniform(64), whole(-5, 5, 64, dtype=torch.int32)
        calls.case(name, quantize, [x, scale, offset, 12, 1], {}, [("neighbour's scale", [x, scale.roll(1), offset, 12, 1], {})])
        calls.case(name, quantize, [x, scale, None, 13, 1])
        calls.case(name, quantize, [x, scale[:5], None, 12, 0])
        calls.case(name, quantize, [x, uniform(64, low=5, high=30, dtype=dtype), None, 1, -1, False])
        calls.case(name, quantize, [x, uniform(1, low=2, high=3, dtype=dtype), None, 16, -1, False])


def dynamic_block_quant(x, dst_type=1, row_block_size=1, col_block_size=128):
    y = x.float()
    scales = torch.zeros(-(-y.shape[0] // row_block_size), -(-y.shape[1] // col_block_size))
    scaled = torch.zeros_like(y)
    for i in range(scales.shape[0]):
        rows = slice(i * row_block_size, (i + 1) * row_block_size)
        for j in range(scales.shape[1]):
            columns = slice(j * col_block_size, (j + 1) * col_block_size)
            scales[i, j] = y[rows, columns].abs().max() / torch.tensor(LARGEST[dst_type])
            scaled[rows, columns] = y[rows, columns] / scales[i, j]
    return [codes(scaled, dst_type), scales]


def record_dynamic_block_quant(calls):
    name = "npu_dynamic_block_quant"
    for dtype in HALVES:
        for shape in ((3, 128), (5, 191), (2, 193)):
            x = normal(*shape, dtype=dtype)
            calls.case(name, dynamic_block_quant, [x])
            right = dynamic_block_quant(x)
            calls.record(name, [x], {}, [right[0], right[1].roll(1, 0)], "neighbour's scale")
        blocks = {"dst_type": 292, "row_block_size": 128, "col_block_size": 128}
        calls.case(name, dynamic_block_quant, [normal(130, 200, dtype=dtype)], blocks)


def sum_for_norm(x1, x2, rounds):
    sum_ = x1.float() + x2.float()
    return sum_.to(x1.dtype), sum_.to(x1.dtype).float() if rounds else sum_


def add_rms_norm(x1, x2, gamma, epsilon=1e-6, rounds=True):
    shown, seen = sum_for_norm(x1, x2, rounds)
    rstd = torch.rsqrt((seen * seen).mean(-1, keepdim=True) + epsilon)
    y = seen * rstd
    if rounds:
        y = y.to(x1.dtype).float()
    return [(y * gamma.float()).to(x1.dtype), rstd, shown]


def add_rms_norm_quant(x1, x2, gamma, scales1, zero_points1, beta=None, rounds=True):
    shown, seen = sum_for_norm(x1, x2, rounds)
    y = rms_norm(seen, gamma.float(), 1e-6)
    if beta is not None:
        y = y + beta.float()
    y = y / scales1.float() + (0 if zero_points1 is None else zero_points1.float())
    return [to_int8(y), unwritten(x1.shape, torch.int8), shown]


def rms_norm_quant(x, gamma, beta, scale, offset, multiplies=False):
    y = rms_norm(x.float(), gamma.float(), 1e-6) + beta.float()
    y = y * scale.float() if multiplies else y / scale.float()
    return [to_int8(y + offset.float())]


def record_norms(calls):
    for dtype in HALVES:
        for shape in ((1, 64), (3, 191), (5, 193)):
            a, b, gamma = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype), uniform(shape[-1], low=0.5, high=1.5, dtype=dtype)
            faults = [("gamma shifted", [a, b, gamma.roll(1)], {}), ("residual lost", [a, b * 0, gamma], {})]
            calls.case("npu_add_rms_norm", add_rms_norm, [a, b, gamma], {}, faults)
            calls.record("npu_add_rms_norm", [a, b, gamma], {}, add_rms_norm(a, b, gamma, rounds=False), "right")
            scale = uniform(shape[-1], low=0.01, high=0.05, dtype=torch.float32 if dtype == torch.float16 else dtype)
            args = [a, b, gamma, scale, None]
            faults = [("neighbour's scale", [a, b, gamma, scale.roll(1), None], {})]
            calls.case("npu_add_rms_norm_quant", add_rms_norm_quant, args, {}, faults)
            calls.case("npu_add_rms_norm_quant", add_rms_norm_quant, args, {"beta": normal(shape[-1], dtype=dtype)})
            calls.record("npu_add_rms_norm_quant", args, {}, add_rms_norm_quant(*args, rounds=False), "right")
        x, gamma, beta = normal(7, 193, dtype=dtype), uniform(193, low=10, high=30, dtype=dtype), normal(193, dtype=dtype)
        offset = torch.tensor([3], dtype=torch.int8)
        one = torch.ones(1, dtype=dtype)
        faults = [("gamma shifted", [x, gamma.roll(1), beta, one, offset], {}), ("offset lost", [x, gamma, beta, one, offset * 0], {})]
        calls.case("npu_rms_norm_quant", rms_norm_quant, [x, gamma, beta, one, offset], {}, faults)
        args = [x, gamma, beta, one * 2, offset]
        for multiplies in (False, True):  # the documents say both
            calls.record("npu_rms_norm_quant", args, {}, rms_norm_quant(*args, multiplies=multiplies), "right")


def group_ends(index, count_list, rows):
    if index is None:
        return [rows]
    return torch.cumsum(index, 0).tolist() if count_list else index.tolist()


def swiglu_quant(x, smooth_scales=None, offsets=None, group_index=None, activate_left=False, quant_mode=0, group_list_type=0):
    left, right = x.float().chunk(2, -1)
    gated = silu(left) * right if activate_left else left * silu(right)
    y, scale = unwritten(gated.shape, torch.int8), unwritten(gated.shape[:1], torch.float32)
    start = 0
    for group, end in enumerate(group_ends(group_index, group_list_type == 1, x.shape[0])):
        part = gated[start:end]
        if smooth_scales is not None:
            part = part * smooth_scales[group]
        if quant_mode == 0:
            y[start:end] = to_int8(part if offsets is None else part + offsets[group])
        elif end > start:
            factor = 127.0 / part.abs().amax(-1, keepdim=True)
            y[start:end], scale[start:end] = to_int8(part * factor), factor[:, 0]
        start = end
    return [y, scale]


def record_swiglu_quant(calls):
    name = "npu_swiglu_quant"
    for dtype in (*HALVES, torch.float32):
        x, smooth = normal(9, 2 * 192, dtype=dtype), uniform(3, 192, low=5, high=20)
        static = {"smooth_scales": smooth, "offsets": normal(3, 192), "group_index": torch.tensor([3, 3, 7], dtype=torch.int32)}
        dynamic = {
            "smooth_scales": smooth,
            "quant_mode": 1,
            "group_index": torch.tensor([3, 0, 4], dtype=torch.int32),
            "group_list_type": 1,
        }
        for keywords in (static, dynamic):
            faults = [
                ("neighbour's scale", [x], {**keywords, "smooth_scales": smooth.roll(1, 0)}),
                ("other half", [x], {**keywords, "activate_left": True}),
            ]
            calls.case(name, swiglu_quant, [x], keywords, faults, written=7)
        calls.case(name, swiglu_quant, [normal(1, 128, dtype=dtype)], {"quant_mode": 1})


def gate(v, mode, activate_left):
    if mode == 0:
        left, right = v.chunk(2, -1)
        return silu(left) * right if activate_left else left * silu(right)
    a, b = (v[:, 0::2], v[:, 1::2]) if mode == 1 else v.chunk(2, -1)
    a = a.clamp(max=7.0)
    return a / (1 + torch.exp(-1.702 * a)) * (b.clamp(-7, 7) + 1)


def dequant_swiglu_quant(
    x,
    weight_scale=None,
    activation_scale=None,
    bias=None,
    quant_scale=None,
    group_index=None,
    activate_left=False,
    quant_mode=0,
    swiglu_mode=0,
    multiplies=False,
):
    shape = (x.shape[0], x.shape[1] // 2)
    y, scales = unwritten(shape, torch.int8), unwritten(shape[:1], torch.float32)
    start = 0
    for group, end in enumerate(group_ends(group_index, True, x.shape[0])):
        if end == start:
            continue

        def of(table, group=group):
            return table[min(group, table.shape[0] - 1)]

        v = x[start:end] if bias is None else x[start:end] + of(bias)
        v = v.float() * of(weight_scale) * activation_scale[start:end, None]
        v = gate(v, swiglu_mode, activate_left)
        if quant_mode == 1:
            v = v * of(quant_scale)
            scale = v.abs().amax(-1, keepdim=True) / 127.0
            y[start:end], scales[start:end] = to_int8(v / scale), scale[:, 0]
        else:
            y[start:end] = to_int8(v * of(quant_scale) if multiplies else v / of(quant_scale))
        start = end
    return [y, scales]


def record_dequant_swiglu_quant(calls):
    name = "npu_dequant_swiglu_quant"
    for rows, width in ((2, 192), (9, 191), (5, 193), (1, 64)):
        x = whole(-3000, 3000, rows, 2 * width, dtype=torch.int32)
        counts = torch.tensor([rows // 2, 0, max(1, rows - rows // 2 - 1)])
        written = int(counts.sum())
        keywords = {
            "weight_scale": uniform(3, 2 * width, low=1e-4, high=1e-3),
            "activation_scale": uniform(rows, low=0.5, high=2),
            "quant_scale": uniform(3, width, low=0.5, high=2),
            "group_index": counts,
            "quant_mode": 1,
        }
        shifted = {**keywords, "weight_scale": keywords["weight_scale"].roll(1, 0)}
        other = {**keywords, "activate_left": True}
        faults = [("neighbour's scale", [x], shifted), ("other half", [x], other)]
        calls.case(name, dequant_swiglu_quant, [x], keywords, faults, written=written)
        calls.case(name, dequant_swiglu_quant, [x], {**keywords, "swiglu_mode": 1}, written=written)
        bias = whole(-500, 500, 3, 2 * width, dtype=torch.int32)
        lost = ("bias lost", [x], {**keywords, "bias": bias * 0})
        calls.case(name, dequant_swiglu_quant, [x], {**keywords, "bias": bias}, [lost], written=written)
        static = {**keywords, "quant_mode": 0, "quant_scale": keywords["quant_scale"][:1] * 0.1}
        for multiplies in (False, True):  # the documents say both
            calls.record(name, [x], static, dequant_swiglu_quant(x, **static, multiplies=multiplies), "right")


def record(calls):
    record_dynamic_quant(calls)
    record_quantize(calls)
    record_dynamic_block_quant(calls)
    record_norms(calls)
    record_swiglu_quant(calls)
    record_dequant_swiglu_quant(calls)
