# SPDX-License-Identifier: Apache-2.0
"""Operators that quantise by blocks with a power of two as scale. Scales and codes are unique."""

import math

import numpy as np
import torch
from recorder import HALVES, normal, whole

# exponent of the largest number, the largest number, bits of the fraction, least exponent
FORMATS = {24: (8, 448.0, 3, -6), 23: (15, 57344.0, 2, -14), 296: (2, 6.0, 1, 0), 297: (0, 1.75, 2, 0)}
SIZES = {296: (0, 0.5, 1, 1.5, 2, 3, 4, 6), 297: tuple(i / 4 for i in range(8))}
ROUNDINGS = {"rint": np.rint, "floor": np.floor, "round": lambda q: np.sign(q) * np.floor(np.abs(q) + 0.5)}


def rounded(value, dtype, mode):
    _, largest, fraction, least = FORMATS[dtype]
    size = np.abs(value)
    exponent = np.floor(np.log2(np.where(size == 0, 1, size)))
    step = 2.0 ** (np.maximum(exponent, least) - fraction)
    return np.clip(ROUNDINGS[mode](value / step) * step, -largest, largest)


def codes(value, dtype):
    if dtype in (23, 24):
        return torch.tensor(value, dtype=torch.float32).to(torch.float8_e4m3fn if dtype == 24 else torch.float8_e5m2)
    number = np.zeros(value.shape, dtype=np.int64)
    for code, size in enumerate(SIZES[dtype]):
        number[np.abs(value) == size] = code
    number |= np.where(np.signbit(value), 8, 0)
    pairs = number.reshape(*number.shape[:-1], -1, 2)
    return torch.tensor(pairs[..., 0] | pairs[..., 1] << 4, dtype=torch.uint8)


def scale_code(largest, dtype, algorithm):
    if largest == 0:
        return 0
    if algorithm == 0:
        exponent = math.frexp(largest)[1] - 1 - FORMATS[dtype][0]
    else:
        scale = float(np.float32(largest) / np.float32(FORMATS[dtype][1])) if algorithm == 1 else largest / 6
        mantissa, exponent = math.frexp(scale)
        exponent -= 1 if mantissa == 0.5 else 0
    return max(exponent, -127) + 127


def along_last(x, dtype, mode, algorithm):
    rows = x.reshape(-1, x.shape[-1])
    blocks = -(-rows.shape[1] // 32)
    values = np.zeros(rows.shape)
    scales = np.zeros((rows.shape[0], blocks + blocks % 2), dtype=np.uint8)
    for i in range(rows.shape[0]):
        for j in range(blocks):
            block = slice(32 * j, 32 * j + 32)
            scales[i, j] = scale_code(float(np.abs(rows[i, block]).max()), dtype, algorithm)
            values[i, block] = rounded(rows[i, block] * 2.0 ** (127 - int(scales[i, j])), dtype, mode)
    return values.reshape(x.shape), scales.reshape(*x.shape[:-1], -1, 2)


def dynamic_mx_quant(x, axis=-1, round_mode="rint", dst_type=296, scale_alg=0):
    values, scales = along_last(np.moveaxis(x.double().numpy(), axis, -1), dst_type, round_mode, scale_alg)
    return [codes(np.moveaxis(values, -1, axis), dst_type), torch.tensor(np.moveaxis(scales, -2, axis % x.dim()).copy())]


def dual_axis(x, dst_type=296):
    return dynamic_mx_quant(x, dst_type=dst_type) + dynamic_mx_quant(x, axis=-2, dst_type=dst_type)


def grouped(x, group_index, dst_type=23):
    ends = group_index.tolist()
    scales = torch.full((x.shape[0] // 64 + len(ends), x.shape[1], 2), 99, dtype=torch.uint8)
    parts, start = [], 0
    for group, end in enumerate(ends):
        if end > start:
            part, part_scales = dynamic_mx_quant(x[start:end], axis=0, dst_type=dst_type)
            first = start // 64 + group
            scales[first : first + part_scales.shape[0]] = part_scales
            parts.append(part.view(torch.uint8))
        start = end
    return [torch.cat(parts).view(torch.float8_e5m2 if dst_type == 23 else torch.float8_e4m3fn), scales]


def block_mx_quant(x, dst_type=296, scale_alg=0):
    numbers = x.double().numpy()
    rows, columns = numbers.shape
    scales = np.zeros((-(-rows // 32), -(-columns // 32)), dtype=np.uint8)
    values = np.zeros(numbers.shape)
    for i in range(scales.shape[0]):
        for j in range(scales.shape[1]):
            block = np.s_[32 * i : 32 * i + 32, 32 * j : 32 * j + 32]
            largest = float(np.abs(numbers[block]).max())
            if scale_alg == 2:
                largest = float(torch.tensor(largest).to(torch.bfloat16))
            scales[i, j] = scale_code(largest, dst_type, scale_alg)
            values[block] = rounded(numbers[block] * 2.0 ** (127 - int(scales[i, j])), dst_type, "rint")
    by_row = np.pad(np.repeat(scales, 32, 0)[:rows], ((0, 0), (0, scales.shape[1] % 2))).reshape(rows, -1, 2)
    by_column = np.pad(np.repeat(scales, 32, 1)[:, :columns], ((0, scales.shape[0] % 2), (0, 0)))
    by_column = by_column.reshape(-1, 2, columns).transpose(0, 2, 1)
    return [codes(values, dst_type), torch.tensor(by_row.copy()), torch.tensor(by_column.copy())]


def record(calls):
    name = "npu_dynamic_mx_quant"
    for dtype in HALVES:
        for shape in ((1, 64), (2, 190), (5, 194)):
            for dst_type, algorithm in ((296, 0), (297, 0), (24, 0), (23, 0), (24, 1), (23, 1), (296, 2)):
                size = 2.0 ** whole(-6, 6, shape[0], 1, dtype=torch.int32).double()
                x = normal(*shape, dtype=dtype) * size.to(dtype)
                keywords = {"dst_type": dst_type, "scale_alg": algorithm}
                calls.case(name, dynamic_mx_quant, [x], keywords, spoil=shape[0] == 5)
                right = dynamic_mx_quant(x, **keywords)
                if shape[0] == 5:
                    calls.record(name, [x], keywords, [right[0], right[1].roll(1, 1)], "neighbour's scale")
                    calls.record(name, [x], keywords, [right[0], right[1] + 1], "exponent off by one")
        x = normal(70, 64, dtype=dtype)
        for keywords in ({"dst_type": 24, "axis": 0}, {"axis": -2, "round_mode": "floor"}, {"round_mode": "round"}):
            calls.case(name, dynamic_mx_quant, [x], keywords)
        x = normal(67, 66, dtype=dtype)
        name_of_two = "npu_dynamic_mx_quant_with_dual_axis"
        calls.case(name_of_two, dual_axis, [x], {"dst_type": 24})
        right = dual_axis(x, dst_type=24)
        calls.record(name_of_two, [x], {"dst_type": 24}, [right[2], right[1], right[2], right[3]], "axes exchanged")
        calls.record(name_of_two, [x], {"dst_type": 24}, [*right[:3], right[3].roll(1, 1)], "neighbour's scale")
        x, ends = normal(191, 64, dtype=dtype), torch.tensor([30, 30, 130, 191], dtype=torch.int32)
        other_ends = torch.tensor([64, 64, 128, 191], dtype=torch.int32)
        faults = [("groups ignored", [x, other_ends], {})]
        calls.case("npu_grouped_dynamic_mx_quant", grouped, [x, ends], {}, faults)
        for keywords in ({}, {"dst_type": 24}, {"scale_alg": 2}):
            x = normal(70, 98, dtype=dtype)
            calls.case("npu_dynamic_block_mx_quant", block_mx_quant, [x], keywords)
            right = block_mx_quant(x, **keywords)
            calls.record("npu_dynamic_block_mx_quant", [x], keywords, [right[0], right[1] + 1, right[2]], "exponent off by one")
