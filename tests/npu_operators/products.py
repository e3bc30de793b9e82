# SPDX-License-Identifier: Apache-2.0
"""Products of codes with scales, weights of few bits, and groups of rows."""

import torch
from quantise import silu
from recorder import HALVES, GENERATOR, normal, pack_int4, to_int8, uniform, unpack_int4, unwritten, whole

OUT = {1: torch.int8, 3: torch.int32, 5: torch.float16, 15: torch.bfloat16}


def cut_to_19_bits(scale):
    return (scale.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def as_words(scale):
    return (cut_to_19_bits(scale).view(torch.int32).long() & 0xFFFFFFFF) | (1 << 46)


def of_words(words):
    return (words & 0xFFFFFFFF).to(torch.int32).view(torch.float32)


def quant_matmul(x1, x2, scale, offset=None, pertoken_scale=None, bias=None, output_dtype=1):
    a, b = (unpack_int4(x) if x.dtype == torch.int32 else x for x in (x1, x2))
    sums = a.double() @ b.double()
    if bias is not None and not bias.is_floating_point():
        sums = sums + bias
    if output_dtype == 3:
        return [sums.to(torch.int32)]
    if scale.dtype == torch.int64:
        factor = of_words(scale)
    else:  # a float32 scale alone passes through a word
        cut = scale.dtype == torch.float32 and pertoken_scale is None and output_dtype != 15 and not x1.is_floating_point()
        factor = cut_to_19_bits(scale) if cut else scale.float()
    y = sums.float() * factor
    if pertoken_scale is not None:
        y = y * pertoken_scale[:, None]
    if bias is not None and bias.is_floating_point():
        y = y + bias.float()
    if output_dtype == 1:
        return [to_int8(y if offset is None else y + torch.round(offset))]
    return [y.to(OUT[output_dtype])]


def record_quant_matmul(calls):
    name = "npu_quant_matmul"
    for m, k, n in ((1, 64, 33), (5, 191, 64), (193, 192, 17), (16, 2048, 64)):
        x1, x2 = whole(-128, 128, m, k), whole(-128, 128, k, n)
        scale, token, bias = uniform(n, low=1e-5, high=1e-4), uniform(m, low=0.5, high=2), whole(-9999, 9999, n, dtype=torch.int32)
        keywords = {"pertoken_scale": token, "output_dtype": 15, "bias": bias}
        faults = [
            ("neighbour's scale", [x1, x2, scale.roll(1)], keywords),
            ("token scale shifted", [x1, x2, scale], {**keywords, "pertoken_scale": token.roll(1)}),
            ("bias lost", [x1, x2, scale], {**keywords, "bias": None}),
        ]
        calls.case(name, quant_matmul, [x1, x2, scale], keywords, faults)
        calls.case(name, quant_matmul, [x1, x2, scale.bfloat16()], {"output_dtype": 15, "bias": normal(n).bfloat16()})
        calls.case(name, quant_matmul, [x1, x2, as_words(scale)], {"output_dtype": 5})
        calls.case(name, quant_matmul, [x1, x2, scale], {"offset": torch.tensor([3.0])})
        calls.case(name, quant_matmul, [x1, x2, scale], {"output_dtype": 3, "bias": bias})
        float8 = [normal(m, k).to(torch.float8_e4m3fn), normal(k, n).to(torch.float8_e4m3fn), uniform(n)]
        calls.case(name, quant_matmul, float8, {"output_dtype": 15, "pertoken_scale": token})
    x1, x2, scale = pack_int4(whole(-8, 8, 5, 192)), pack_int4(whole(-8, 8, 192, 64)), uniform(64)
    reverse = pack_int4(unpack_int4(x2).reshape(192, -1, 8).flip(-1).reshape(192, 64))
    keywords = {"output_dtype": 15, "pertoken_scale": uniform(5)}
    calls.case(name, quant_matmul, [x1, x2, scale], keywords, [("packing order", [x1, reverse, scale], keywords)])


def powers(codes):
    return 2.0 ** (codes.double() - 127)


def by_powers(x1, x2, scale, pertoken_scale=None, output_dtype=15, **_):
    k = x1.shape[1]
    left = powers(pertoken_scale).flatten(1).repeat_interleave(32, 1)[:, :k]
    right = powers(scale).permute(0, 2, 1).flatten(0, 1).repeat_interleave(32, 0)[:k]
    return [((x1.double() * left) @ (x2.double() * right)).to(torch.float32).to(OUT[output_dtype])]


def by_blocks(x1, x2, scale, pertoken_scale=None, output_dtype=15, **_):
    y = torch.zeros(x1.shape[0], x2.shape[1])
    for j in range(scale.shape[0]):
        part = slice(128 * j, 128 * j + 128)
        rows = pertoken_scale[:, j]
        if rows.shape[0] != x1.shape[0]:
            rows = rows.repeat_interleave(128)[: x1.shape[0]]
        products = (x1[:, part].double() @ x2[part].double()).float()
        y = y + products * rows[:, None] * scale[j].repeat_interleave(128)[: x2.shape[1]]
    return [y.to(OUT[output_dtype])]


def record_blocks(calls):
    def exponents(*shape):
        return torch.randint(118, 134, shape, generator=GENERATOR).to(torch.uint8)

    name = "npu_quant_matmul"
    for m, k, n in ((3, 64, 16), (7, 190, 33), (65, 320, 8)):
        x1, x2 = normal(m, k).to(torch.float8_e4m3fn), normal(k, n).to(torch.float8_e5m2)
        scale, pairs = exponents(-(-k // 64), n, 2), -(-k // 64)
        keywords = {
            "pertoken_scale": exponents(m, pairs, 2),
            "output_dtype": 15,
            "scale_dtype": 293,
            "pertoken_scale_dtype": 293,
            "group_sizes": [1, 1, 32],
        }
        faults = [("neighbour's scale", [x1, x2, scale.roll(1, 1)], keywords), ("exponent off by one", [x1, x2, scale + 1], keywords)]
        calls.case(name, by_powers, [x1, x2, scale], keywords, faults)
    for m, k, n in ((5, 256, 128), (130, 384, 200)):
        x1, x2 = normal(m, k).to(torch.float8_e4m3fn), normal(k, n).to(torch.float8_e4m3fn)
        scale = uniform(k // 128, -(-n // 128))
        for rows, sizes in ((m, [1, 128, 128]), (-(-m // 128), [128, 128, 128])):
            keywords = {"pertoken_scale": uniform(rows, k // 128), "group_sizes": sizes, "output_dtype": 15}
            calls.case(name, by_blocks, [x1, x2, scale], keywords, [("neighbour's scale", [x1, x2, scale.roll(1, 0)], keywords)])


def dequantised(weight, scale, offset, dtype):
    weight = (unpack_int4(weight) if weight.dtype == torch.int32 else weight).float()
    if scale.dim() == 2 and scale.shape[0] > 1:
        each = weight.shape[0] // scale.shape[0]
        scale, offset = (None if t is None else t.repeat_interleave(each, 0) for t in (scale, offset))
    moved = weight if offset is None else weight + offset.float()
    return (moved * scale.float()).to(dtype)


def weight_quant_batchmatmul(x, weight, antiquant_scale, antiquant_offset=None, bias=None, antiquant_group_size=0):
    y = (x.double() @ dequantised(weight, antiquant_scale, antiquant_offset, x.dtype).double()).float()
    return [(y if bias is None else y + bias.float()).to(x.dtype)]


def record_weights(calls):
    name = "npu_weight_quant_batchmatmul"
    for dtype in HALVES:
        for m, k, n in ((1, 64, 64), (5, 192, 40), (65, 1024, 16)):
            x, weight = normal(m, k, dtype=dtype), whole(-128, 128, k, n)
            scale, offset = uniform(n, low=0.002, high=0.02, dtype=dtype), whole(-5, 5, n, dtype=dtype)
            keywords = {"antiquant_offset": offset, "bias": normal(n, dtype=dtype if dtype == torch.float16 else torch.float32)}
            faults = [("neighbour's scale", [x, weight, scale.roll(1)], keywords)]
            calls.case(name, weight_quant_batchmatmul, [x, weight, scale], keywords, faults)
            packed = pack_int4(whole(-8, 8, k, n))
            scale = uniform(k // 64, n, low=0.01, high=0.1, dtype=dtype)
            keywords = {"antiquant_group_size": 64}
            calls.case(name, weight_quant_batchmatmul, [x, packed, scale], keywords)


ACTIVATIONS = {
    0: lambda y: y,
    1: lambda y: y.clamp(min=0),
    2: lambda y: torch.nn.functional.gelu(y, approximate="tanh"),
    4: lambda y: y * torch.sigmoid(1.702 * y),
    5: silu,
}


def group_product(x, weight, bias, scale, antiquant, token):
    if antiquant is not None:
        y = (x.double() @ dequantised(weight, *antiquant, x.dtype).double()).float()
        return y
    if weight.dtype == torch.int32:  # int8 with int4
        factor = of_words(scale).double().repeat_interleave(weight.shape[0] // scale.shape[0], 0)
        y = ((x.double() - 8) @ (unpack_int4(weight).double() * factor)).float() + bias
        return y * token
    y = x.double() @ weight.double()
    if bias is not None and not bias.is_floating_point():
        y = y + bias
    if scale is None:
        return y
    y = y.float() * (of_words(scale) if scale.dtype == torch.int64 else scale.float())
    y = y if token is None else y * token
    return y + bias.float() if bias is not None and bias.is_floating_point() else y


def grouped_matmul(
    x,
    weight,
    bias=None,
    scale=None,
    antiquant_scale=None,
    antiquant_offset=None,
    per_token_scale=None,
    group_list=None,
    split_item=2,
    group_type=0,
    group_list_type=0,
    act_type=0,
    output_dtype=None,
):
    rows, weights = x[0], weight[0]
    ends = (torch.cumsum(group_list, 0) if group_list_type == 1 else group_list).tolist()
    out = OUT.get(output_dtype, torch.int32 if rows.dtype == torch.int8 and scale is None else rows.dtype)
    y = unwritten((rows.shape[0], weights.shape[-1] * (8 if weights.dtype == torch.int32 else 1)), out)
    start = 0
    for group, end in enumerate(ends):

        def of(tensors, group=group):
            return None if tensors is None else tensors[0][group]

        antiquant = None if antiquant_scale is None else (of(antiquant_scale), of(antiquant_offset))
        token = None if per_token_scale is None else per_token_scale[0][start:end, None]
        part = group_product(rows[start:end], weights[group], of(bias), of(scale), antiquant, token)
        part = ACTIVATIONS[act_type](part)
        y[start:end] = to_int8(part) if out == torch.int8 else part.to(out)
        start = end
    return [y]


def record_grouped(calls):
    name = "npu_grouped_matmul"
    for m, k, n, ends in ((7, 64, 40, [2, 2, 6]), (193, 192, 24, [0, 64, 193]), (1, 128, 64, [0, 1, 1]), (20, 1024, 16, [5, 11, 19])):
        x, weight, groups, written = whole(-128, 128, m, k), whole(-128, 128, 3, k, n), torch.tensor(ends), ends[-1]
        scale, token = uniform(3, n, low=1e-5, high=1e-4), uniform(m, low=0.5, high=2)
        bias = whole(-999, 999, 3, n, dtype=torch.int32)
        base = {"group_list": groups, "split_item": 2, "group_type": 0}
        keywords = {**base, "scale": [scale], "per_token_scale": [token], "output_dtype": 15}
        faults = [
            ("neighbour's scale", [[x], [weight]], {**keywords, "scale": [scale.roll(1, 0)]}),
            ("neighbour's weight", [[x], [weight.roll(1, 0)]], keywords),
            ("token scale shifted", [[x], [weight]], {**keywords, "per_token_scale": [token.roll(1)]}),
        ]
        calls.case(name, grouped_matmul, [[x], [weight]], keywords, faults, written=written)
        for more in ({"act_type": 2, "bias": [bias]}, {"act_type": 5, "output_dtype": 5}, {"bias": [normal(3, n).bfloat16()]}):
            calls.case(name, grouped_matmul, [[x], [weight]], {**keywords, **more}, written=written)
        counts = torch.diff(groups, prepend=torch.tensor([0]))
        words = {"scale": [as_words(scale)], "bias": [bias], "group_list": counts, "group_list_type": 1, "split_item": 3, "group_type": 0}
        calls.case(name, grouped_matmul, [[x], [weight]], words, written=written)
        calls.case(name, grouped_matmul, [[x], [weight]], base, written=written)
        packed, scale = pack_int4(whole(-8, 8, 3, k, n)), as_words(uniform(3, k // 64, n, low=1e-3, high=1e-2))
        wide = unpack_int4(packed).double() * of_words(scale).double().repeat_interleave(64, 1)
        mixed = {**keywords, "scale": [scale], "bias": [(8 * wide.sum(1)).float()]}
        calls.case(name, grouped_matmul, [[x], [packed]], mixed, written=written)
        for dtype in HALVES:
            rows = normal(m, k, dtype=dtype)
            scale, offset = uniform(3, n, low=0.01, high=0.05, dtype=dtype), whole(-4, 4, 3, n, dtype=dtype)
            antiquant = {**base, "antiquant_scale": [scale], "antiquant_offset": [offset]}
            calls.case(name, grouped_matmul, [[rows], [weight]], antiquant, written=written)


def ffn(x, weight1, weight2, activation, expert_tokens=None, bias1=None, bias2=None):
    function = {"relu": ACTIVATIONS[1], "gelu": torch.nn.functional.gelu, "silu": silu, "fastgelu": ACTIVATIONS[4]}[activation]
    parts, start = [], 0
    for expert, count in enumerate(expert_tokens):
        hidden = (x[start : start + count].double() @ weight1[expert].double()).float() + bias1[expert].float()
        hidden = function(hidden).to(x.dtype)
        parts.append(((hidden.double() @ weight2[expert].double()).float() + bias2[expert].float()).to(x.dtype))
        start += count
    return [torch.cat(parts)]


def record_ffn(calls):
    for dtype in HALVES:
        for activation in ("relu", "gelu", "silu", "fastgelu"):
            x = normal(9, 64, dtype=dtype)
            weight1, weight2 = normal(3, 64, 96, dtype=dtype) * 0.1, normal(3, 96, 40, dtype=dtype) * 0.1
            keywords = {"expert_tokens": [4, 0, 5], "bias1": normal(3, 96, dtype=dtype), "bias2": normal(3, 40, dtype=dtype)}
            faults = [
                ("neighbour's weight", [x, weight1.roll(1, 0), weight2, activation], keywords),
                ("bias lost", [x, weight1, weight2, activation], {**keywords, "bias2": keywords["bias2"] * 0}),
            ]
            calls.case("npu_ffn", ffn, [x, weight1, weight2, activation], keywords, faults)


def transpose_batchmatmul(x, weight, scale, perm_x1, perm_y, truncates=False):
    y = (x.permute(*perm_x1).double() @ weight.double()).float().permute(*perm_y).flatten(1) * of_words(scale)
    return [to_int8(torch.trunc(y) if truncates else y)[:, None]]


def record_transposed(calls):
    name = "npu_transpose_batchmatmul"
    for dtype in HALVES:
        x, weight, scale = normal(5, 4, 64, dtype=dtype), normal(4, 64, 32, dtype=dtype), as_words(uniform(128, low=1, high=9))
        keywords = {"scale": scale, "perm_x1": [1, 0, 2], "perm_y": [1, 0, 2]}
        calls.case(
            name, transpose_batchmatmul, [x, weight], keywords, [("neighbour's scale", [x, weight], {**keywords, "scale": scale.roll(1)})]
        )
        truncated = transpose_batchmatmul(x, weight, **keywords, truncates=True)
        calls.record(name, [x, weight], keywords, truncated, "right")


def record(calls):
    record_quant_matmul(calls)
    record_blocks(calls)
    record_weights(calls)
    record_grouped(calls)
    record_ffn(calls)
    record_transposed(calls)
