# SPDX-License-Identifier: Apache-2.0
"""Products: of groups, of codes with scales, of weights of few bits, of two layers."""

import torch
from arithmetic import BF16, E4M3, F16, F32, I8, I32, I64, cut19, gelu, in_words, mx_codes, of_fp8, powers, silu, words64
from trial import ARITHMETIC, Output, Trial, counts_of

OUT_NUMBERS = {F16: 5, BF16: 15, F32: 6, I8: 1, I32: 3}
ACTIVATIONS = {0: lambda y: y, 1: torch.relu, 2: lambda y: gelu(y, True), 4: lambda y: silu(y, 1.702), 5: silu}


def factors(scale):
    """What a scale multiplies by: words keep 19 bits."""
    return (scale & 0xFFFFFFFF).to(I32).view(F32) if scale.dtype in (I64, torch.uint64) else scale.float()


def rolled(tensor, dim=0):
    return tensor.roll(1, dim)


# npu_grouped_matmul


def group_weight(g, name, i):
    """Of a list with one tensor for each group, or of one tensor that holds all of them."""
    tensors = g.get(name)
    if not tensors:
        return None
    return tensors[0][i] if g["weight"][0].dim() == 3 else tensors[i]


def grouped(device, g):
    one, ends = g["split_item"] >= 2, g["_ends"]
    x_all, parts = g["x"], []
    out = g["_out"]
    for i in range(len(ends) if ends else len(x_all)):
        start = ends[i - 1] if ends and i else 0
        if g.get("group_type") == 2:
            x, weight = x_all[0][:, start : ends[i]], g["weight"][0][start : ends[i]]
            parts.append(device.product(x, weight).to(out))
            continue
        x = x_all[0][start : ends[i]] if ends else x_all[i]
        weight, bias, scale = (group_weight(g, name, i) for name in ("weight", "bias", "scale"))
        antiquant, offset = group_weight(g, "antiquant_scale", i), group_weight(g, "antiquant_offset", i)
        token = g["per_token_scale"][0][start : ends[i]] if g.get("per_token_scale") else None
        bias = None if device.loses_bias else bias
        parts.append(one_group(device, g, x, weight, bias, scale, antiquant, offset, token).to(out))
    if not one:
        return [Output(part, spoil=part.numel() > 1) for part in parts]
    if g.get("group_type") == 2:
        return [Output(torch.stack(parts))]
    value = torch.cat(parts)
    rows = x_all[0].shape[0] if ends else value.shape[0]
    written = torch.arange(rows) < value.shape[0]
    value = torch.cat([value, torch.zeros(rows - value.shape[0], value.shape[1], dtype=value.dtype)])
    return [Output(value, written)]


def one_group(device, g, x, weight, bias, scale, antiquant, offset, token):
    if antiquant is not None:
        codes = g["_weight_codes"][g["_codes_of"](weight)] if "_weight_codes" in g else weight
        wide = codes.float() if offset is None else codes.float() + spread(offset, codes.shape[0])
        y = device.product(x, (wide * spread(antiquant, codes.shape[0])).to(x.dtype))
        return y if bias is None else y + bias.float()
    if scale is None:
        if x.dtype == I8:
            sums = device.whole_product(x, weight)
            return sums if bias is None else sums + bias
        y = device.product(x, weight)
        return y if bias is None else y + bias.float()
    if "_mixed" in g:  # int8 with int4
        codes = g["_mixed"](weight)
        wide = codes.double() * spread(factors(scale), codes.shape[0]).double()
        y = ((x.double() - 8) @ wide).float() + bias
        return y * token.reshape(-1, 1)
    if "_four" in g:  # int4 with int4
        a, b = g["_four"](x), g["_four"](weight)
        each = b.shape[0] // (scale.shape[0] if scale.dim() == 2 else 1)
        total = 0
        for j, start in enumerate(range(0, b.shape[0], each)):
            some = device.whole_product(a[:, start : start + each], b[start : start + each]).float()
            total = total + some * factors(scale[j] if scale.dim() == 2 else scale)
        return total * token.reshape(-1, 1)
    y = device.whole_product(x, weight).float()
    if bias is not None and not bias.is_floating_point():
        y = (device.whole_product(x, weight) + bias).float()
    if g["_out"] == I8:
        return device.rint(y * factors(scale)).clamp(-128, 127)
    y = y * factors(scale)
    if token is not None:
        y = y * token.reshape(-1, 1)
    if bias is not None and bias.is_floating_point():
        y = y + bias.float()
    return ACTIVATIONS[g.get("act_type") or 0](y)


def spread(scale, rows):
    scale = scale.float()
    return scale.repeat_interleave(rows // scale.shape[0], 0) if scale.dim() == 2 and scale.shape[0] > 1 else scale


def group_list(ends, kind, made):
    if kind == 0:
        return torch.tensor(ends)
    counts = counts_of(ends)
    if kind == 1:
        return torch.tensor(counts)
    used = [[i, count] for i, count in enumerate(counts) if count]
    return torch.tensor(used + [[i, 0] for i, count in enumerate(counts) if not count])


def sizes(made):
    return made.pick(1, 5, 17, 64, 191, 193), made.pick(32, 64, 96, 191, 192, 320), made.pick(16, 33, 64, 193)


def grouped_trial(made, given, ends, out, faults=(), kind=0, as_list=False):
    g = {"_ends": ends, "_out": out, **given}
    if ends is not None:
        g["group_list"] = list(ends) if as_list else group_list(ends, kind, made)
        if not as_list:
            g["group_type"] = given.get("group_type", 0)
            g["group_list_type"] = kind
        moved = [min(end + 1, g["x"][0].shape[1 if g.get("group_type") == 2 else 0]) for end in ends[:-1]] + ends[-1:]
        faults = [*faults, ("group boundary off by one", {"_ends": [min(end, ends[-1]) for end in moved]})]
    lists = {
        name: [rolled(value[0])] if len(value) == 1 else value[1:] + value[:1]
        for name, value in g.items()
        if name in ("scale", "antiquant_scale", "bias") and value and (len(value) == 1 or len({t.shape for t in value}) == 1)
    }
    faults = [*faults, *((f"neighbour's {name}", {name: value}) for name, value in lists.items())]
    if len(g["weight"]) > 1 and len({w.shape for w in g["weight"]}) == 1:
        faults.append(("weights of two experts exchanged", {"weight": g["weight"][1:] + g["weight"][:1]}))
    elif g["weight"][0].dim() == 3:
        faults.append(("weights of two experts exchanged", {"weight": [rolled(g["weight"][0])]}))
    if g.get("per_token_scale"):
        faults.append(("neighbour's token scale", {"per_token_scale": [rolled(g["per_token_scale"][0])]}))
    return Trial("npu_grouped_matmul", ["x", "weight"], g, grouped, list(faults))


def grouped_float(made):
    m, k, n = sizes(made)
    dtype, experts = made.pick(F16, BF16, F32), made.pick(1, 3, 8)
    bias_type = F32 if dtype == BF16 else dtype
    form = made.pick("stacked", "many", "list", "own", "sum")
    if form == "own":
        x = [made.normal(made.pick(1, 3, 17), k, dtype=dtype) for _ in range(experts)]
        given = {"x": x, "weight": [made.normal(k, n, dtype=dtype) for _ in x], "split_item": 0, "group_type": -1}
        if made.pick(True, False):
            given["bias"] = [made.normal(n, dtype=bias_type) for _ in x]
        return grouped_trial(made, given, None, dtype)
    if form == "sum":
        tokens = made.pick(1, 64, 193)
        x, weight = made.normal(tokens, 40, dtype=dtype).t(), made.normal(tokens, n, dtype=dtype)
        ends = [max(end, 1) for end in made.ends(experts, tokens)]
        return grouped_trial(made, {"x": [x], "weight": [weight], "split_item": 3, "group_type": 2}, ends, dtype, kind=made.pick(0, 1))
    behind = made.pick(0, 0, min(3, m - 1))
    ends = made.ends(experts, m, behind)
    given = {"x": [made.normal(m, k, dtype=dtype)], "split_item": made.pick(2, 3)}
    if form == "stacked":
        given["weight"] = [made.normal(experts, k, n, dtype=dtype)]
        if made.pick(True, False) and experts > 1:
            given["bias"] = [made.normal(experts, n, dtype=bias_type)]
    else:
        given["weight"] = [made.normal(k, n, dtype=dtype) for _ in range(experts)]
    return grouped_trial(made, given, ends, dtype, kind=made.pick(0, 1, 2) if form == "stacked" else 0, as_list=form == "list")


def grouped_int8(made):
    m, k, n = sizes(made)
    experts = made.pick(2, 4)
    ends = made.ends(experts, m, made.pick(0, min(2, m - 1)))
    given = {"x": [made.whole(-128, 128, m, k)], "weight": [made.whole(-128, 128, experts, k, n)], "split_item": 3}
    form = made.pick("int8", "late", "token", "whole", "active")
    scale = made.between(1e-5, 5e-5, experts, n)
    if form == "int8":
        given |= {"scale": [words64(scale * 30)], "bias": [made.whole(-900, 900, experts, n, dtype=I32)]}
        return grouped_trial(made, given, ends, I8, kind=made.pick(0, 1))
    if form == "whole":
        given |= {"bias": [made.whole(-9000, 9000, experts, n, dtype=I32)], "output_dtype": 3}
        return grouped_trial(made, given, ends, I32, kind=made.pick(0, 1))
    out = made.pick(F16, BF16)
    given |= {
        "scale": [scale.bfloat16() if out == BF16 else scale],
        "per_token_scale": [made.between(0.5, 2, m)],
        "output_dtype": OUT_NUMBERS[out],
    }
    if form == "token":
        given["bias"] = [made.whole(-900, 900, experts, n, dtype=I32)]
    elif form == "late":
        given["bias"] = [made.normal(experts, n, dtype=BF16 if out == BF16 else F32)]
    else:
        given["act_type"] = made.pick(1, 2, 4, 5)
    return grouped_trial(made, given, ends, out, kind=made.pick(0, 1))


def nibbles(words):
    parts = torch.stack([(words.to(I64) >> (4 * i)) & 15 for i in range(8)], -1).flatten(-2)
    return torch.where(parts >= 8, parts - 16, parts)


def grouped_four(made):
    m, k, n, experts = made.pick(1, 5, 64), made.pick(64, 256), made.pick(16, 64), made.pick(2, 4)
    ends = made.ends(experts, m)
    out, by = made.pick(F16, BF16), made.pick(None, 2)
    shape = (experts, n) if by is None else (experts, by, n)
    token = made.between(0.5, 2, m)
    if made.pick(True, False):
        x, weight = made.whole(-8, 8, m, k), made.whole(-8, 8, experts, k, n)
        given = {
            "x": [in_words(x)],
            "weight": [in_words(weight)],
            "scale": [words64(made.between(0.005, 0.05, *shape))],
            "per_token_scale": [token],
            "split_item": 3,
            "output_dtype": OUT_NUMBERS[out],
            "_four": nibbles,
        }
        return grouped_trial(made, given, ends, out)
    weight, scale = (
        made.whole(-8, 8, experts, k, n),
        words64(made.between(0.005, 0.05, experts, 1, n) if by is None else made.between(0.005, 0.05, *shape)),
    )
    wide = weight.double() * torch.stack([spread(factors(s), k) for s in scale]).double()
    given = {
        "x": [made.whole(-128, 128, m, k)],
        "weight": [in_words(weight)],
        "scale": [scale],
        "bias": [(8 * wide.sum(1)).float()],
        "split_item": 3,
        "per_token_scale": [token * 0.01],
        "output_dtype": OUT_NUMBERS[out],
        "_mixed": nibbles,
    }
    return grouped_trial(made, given, ends, out)


def grouped_antiquant(made):
    m, k, n = sizes(made)
    n, k, experts, dtype = n // 8 * 8, k // 64 * 64 or 64, made.pick(2, 4), made.pick(F16, BF16)
    ends = made.ends(experts, m)
    four = made.pick(True, False)
    by = made.pick(None, k // 32) if four else None
    shape = (experts, n) if by is None else (experts, by, n)
    weight = made.whole(-8, 8, experts, k, n) if four else made.whole(-128, 128, experts, k, n)
    given = {
        "x": [made.normal(m, k, dtype=dtype)],
        "split_item": 3,
        "antiquant_scale": [made.between(0.002, 0.02, *shape, dtype=dtype)],
        "weight": [in_words(weight) if four else weight],
        "antiquant_offset": [made.whole(-5, 5, *shape, dtype=dtype)],
        "bias": [made.normal(experts, n, dtype=F32 if dtype == BF16 else dtype)],
    }
    if four:
        given |= {"_weight_codes": [None], "_codes_of": None}
        given.pop("_weight_codes")
        given["_codes_of"] = nibbles

        def operator(device, g):
            return grouped(device, {**g, "weight": [g["_codes_of"](w) for w in g["weight"]]})

        trial = grouped_trial(made, given, ends, dtype)
        trial.operator = operator
        return trial
    return grouped_trial(made, given, ends, dtype)


def grouped_powers(made):
    """fp8 with a power of two for each 32 elements."""
    m, n, experts = made.pick(1, 5, 64), made.pick(16, 33, 64), made.pick(1, 3)
    out = made.pick(F16, BF16)
    if made.pick(True, False):
        k = made.pick(64, 192, 320)
        x, of_x = mx_codes(made.normal(m, k), made.pick("e4m3", "e5m2"))
        pairs = [mx_codes(made.normal(n, k), "e4m3") for _ in range(experts)]
        weight = torch.stack([codes.view(torch.uint8).t() for codes, _ in pairs]).contiguous().view(E4M3)
        scale = torch.stack([scales.transpose(0, 1) for _, scales in pairs]).contiguous()
        ends = made.ends(experts, m)

        def operator(device, g):
            value, left = (
                torch.zeros(m, n),
                (g["x"][0].float().double() * powers(g["per_token_scale"][0]).flatten(1).repeat_interleave(32, 1)[:, :k]).float(),
            )
            for i, (start, end) in enumerate(zip([0, *g["_ends"]], g["_ends"])):
                right = powers(g["scale"][0][i]).permute(0, 2, 1).flatten(0, 1).repeat_interleave(32, 0)[:k]
                value[start:end] = device.product(left[start:end], (g["weight"][0][i].float().double() * right).float())
            return [Output(value.to(out), torch.arange(m) < g["_ends"][-1])]

        given = {
            "x": [x],
            "weight": [weight],
            "scale": [scale],
            "per_token_scale": [of_x],
            "split_item": 3,
            "output_dtype": OUT_NUMBERS[out],
            "scale_dtype": 293,
            "per_token_scale_dtype": 293,
            "group_type": 0,
        }
        trial = grouped_trial(made, given, ends, out)
        trial.operator = operator
        trial.faults = [f for f in trial.faults if f[0] != "weights of two experts exchanged"]
        trial.faults += [("exponent off by one", {"scale": [scale + 1]}), ("neighbour's block", {"scale": [rolled(scale, 2)]})]
        return trial
    tokens, h = made.pick(64, 193), 32
    ends = [max(end, 1) for end in made.ends(experts, tokens)]
    a, b = made.normal(tokens, h), made.normal(tokens, n)

    def rows_quantised(x):
        codes, scales = (
            torch.zeros(tokens, x.shape[1], dtype=torch.uint8),
            torch.full((tokens // 64 + experts, x.shape[1], 2), 127, dtype=torch.uint8),
        )
        for i, (start, end) in enumerate(zip([0, *ends], ends)):
            if end > start:
                part, pairs = mx_codes(x[start:end].t(), "e4m3")
                codes[start:end] = part.view(torch.uint8).t()
                row = start // 64 + i
                scales[row : row + pairs.shape[1]] = pairs.transpose(0, 1)
        return codes.view(E4M3), scales

    (x, of_x), (weight, of_weight) = rows_quantised(a), rows_quantised(b)

    def by_sum(device, g):
        def wide(codes, scales):
            value = codes.float().clone()
            for i, (start, end) in enumerate(zip([0, *ends], ends)):
                row = start // 64 + i
                factor = powers(scales[row : row + (end - start + 63) // 64]).permute(0, 2, 1).flatten(0, 1).repeat_interleave(32, 0)
                value[start:end] *= factor[: end - start].float()
            return value

        left, right = wide(g["_x"], of_x), wide(weight, g["scale"][0])
        return [Output(torch.stack([device.product(left[s:e].t(), right[s:e]) for s, e in zip([0, *ends], ends)]).to(out))]

    given = {
        "x": [x.view(torch.uint8).t().contiguous().view(E4M3)],
        "_x": x,
        "weight": [weight],
        "scale": [of_weight],
        "per_token_scale": [of_x.transpose(0, 1).contiguous()],
        "split_item": 3,
        "output_dtype": OUT_NUMBERS[out],
        "scale_dtype": 293,
        "per_token_scale_dtype": 293,
        "group_type": 2,
    }
    trial = grouped_trial(made, given, ends, out)
    trial.operator = by_sum
    trial.faults = [("neighbour's scale", {"scale": [rolled(of_weight, 1)]}), ("exponent off by one", {"scale": [of_weight + 1]})]
    return trial


# npu_quant_matmul


def quant_matmul(device, g):
    a, b, scale = g["_a"], g["_b"], g["scale"]
    bias = None if device.loses_bias else g.get("bias")
    out, token = g["_out"], g.get("pertoken_scale")
    late = bias is not None and bias.is_floating_point()
    if a.is_floating_point():
        y = device.product(a, b)
    else:
        sums = device.whole_product(a, b)
        if bias is not None and not late:
            sums = sums + bias
        if out == I32:
            return [Output(sums.to(I32))]
        y = sums.float()
    offset = g.get("offset")
    if scale.dtype == I64:
        y = y * factors(scale)
        if out == I8 and offset is None:
            field = (scale >> 37) & 511
            offset = torch.where(field >= 256, field - 512, field).float()
    elif scale.dtype == F32 and token is None and out not in (BF16, I32) and not a.is_floating_point():
        y = y * cut19(scale)
        offset = None if offset is None else torch.round(offset)
    else:
        y = y * scale.float()
    if token is not None:
        y = y * token.reshape(-1, 1) if token.numel() > 1 else y * token
    if late:
        y = y + bias.float()
    if out == I8:
        return [Output(device.int8(y if offset is None else y + offset))]
    return [Output(y.to(out))]


def quant_trial(made, given, faults=(), operator=quant_matmul):
    faults = [("neighbour's scale", {"scale": rolled(given["scale"], given["scale"].dim() - 1)}), *faults]
    if given.get("pertoken_scale") is not None:
        faults.append(("neighbour's token scale", {"pertoken_scale": rolled(given["pertoken_scale"])}))
    if given.get("bias") is not None:
        faults.append(("bias lost", {"bias": given["bias"] * 0}))
    return Trial("npu_quant_matmul", ["x1", "x2", "scale"], given, operator, faults)


def quant_matmul_plain(made):
    m, k, n = sizes(made)
    four = made.pick(False, False, True)
    batch = [] if four or made.pick(True, True, False) else [made.pick(1, 2)]
    if four:
        k, n, low, high = 192, n // 8 * 8, -8, 8
    else:
        low, high = -128, 128
    a, b = made.whole(low, high, *batch, m, k), made.whole(low, high, k, n)
    size = 1.0 / ((high * high / 3) * k**0.5)
    scale = made.between(0.5 * size, 2 * size, n if made.pick(True, True, False) else 1)
    form = made.pick("half", "int8", "bfloat16", "late", "whole", "cut")
    given = {"x1": in_words(a) if four else a, "x2": in_words(b) if four else b, "_a": a, "_b": b}
    token = made.between(0.5, 2, m) if not batch and made.pick(True, False) else None
    whole = made.whole(-999, 999, n, dtype=I32)
    if form == "half":
        return quant_trial(made, given | {"scale": words64(scale), "output_dtype": 5, "_out": F16, "bias": whole})
    if form == "int8":
        offset = made.whole(-9, 9, n).float()
        if made.pick(True, False) or scale.numel() == 1:
            return quant_trial(made, given | {"scale": words64(scale * 30), "_out": I8, "offset": torch.tensor([3.0])})
        return quant_trial(made, given | {"scale": words64(scale * 30, offset), "_out": I8, "bias": whole})
    if form == "cut":
        return quant_trial(made, given | {"scale": scale, "output_dtype": 5, "_out": F16})
    if form == "whole":
        trial = quant_trial(made, given | {"scale": scale, "output_dtype": 3, "_out": I32, "bias": whole})
        return trial
    out = BF16 if token is None else made.pick(F16, BF16)
    given |= {
        "scale": scale.to(BF16) if out == BF16 and made.pick(True, False) else scale,
        "output_dtype": OUT_NUMBERS[out],
        "_out": out,
        "pertoken_scale": token,
    }
    given["bias"] = whole if form == "bfloat16" else made.normal(n, dtype=F16 if out == F16 else made.pick(BF16, F32))
    return quant_trial(made, given)


def quant_matmul_fp8(made):
    m, k, n = sizes(made)
    out = made.pick(F16, BF16, F32)
    form = made.pick("plain", "powers", "blocks")
    if form == "plain":
        a, b = of_fp8(made.normal(m, k), "e4m3"), of_fp8(made.normal(k, n), "e5m2")
        given = {
            "x1": a,
            "x2": b,
            "_a": a.float(),
            "_b": b.float(),
            "scale": made.between(0.01, 0.1, n),
            "output_dtype": OUT_NUMBERS[out],
            "_out": out,
            "pertoken_scale": made.between(0.5, 2, m),
            "bias": made.normal(n),
        }
        return quant_trial(made, given)
    if form == "powers":
        (a, of_a), (b, of_b) = mx_codes(made.normal(m, k), "e4m3"), mx_codes(made.normal(n, k), "e4m3")
        b, of_b = b.view(torch.uint8).t().contiguous().view(E4M3), of_b.transpose(0, 1).contiguous()

        def by_powers(device, g):
            left = g["x1"].float() * powers(g["pertoken_scale"]).flatten(1).repeat_interleave(32, 1)[:, :k].float()
            right = g["x2"].float() * powers(g["scale"]).permute(0, 2, 1).flatten(0, 1).repeat_interleave(32, 0)[:k].float()
            y = device.product(left, right)
            return [Output((y + g["bias"] if g.get("bias") is not None else y).to(out))]

        given = {
            "x1": a,
            "x2": b,
            "scale": of_b,
            "pertoken_scale": of_a,
            "scale_dtype": 293,
            "pertoken_scale_dtype": 293,
            "group_sizes": [1, 1, 32],
            "output_dtype": OUT_NUMBERS[out],
            "bias": made.normal(n) if made.pick(True, False) else None,
        }
        return quant_trial(
            made, given, [("exponent off by one", {"scale": of_b + 1}), ("neighbour's column", {"scale": rolled(of_b, 1)})], by_powers
        )
    k, n = 256, made.pick(128, 256, 200)
    whole = made.pick(True, False)
    a, b = (
        (made.whole(-128, 128, m, k), made.whole(-128, 128, k, n))
        if whole
        else (of_fp8(made.normal(m, k), "e4m3"), of_fp8(made.normal(k, n), "e4m3"))
    )
    per_row = made.pick(True, False)
    token, scale = made.between(0.01, 0.1, m if per_row else -(-m // 128), k // 128), made.between(0.01, 0.1, k // 128, -(-n // 128))

    def by_blocks(device, g):
        total = 0
        for j in range(k // 128):
            some = slice(128 * j, 128 * j + 128)
            part = device.product(a.float()[:, some], b.float()[some])
            rows = g["pertoken_scale"][:, j] if per_row else g["pertoken_scale"][:, j].repeat_interleave(128)[:m]
            total = total + part * (rows[:, None] * g["scale"][j].repeat_interleave(128)[:n])
        return [Output(total.to(out))]

    given = {
        "x1": a,
        "x2": b,
        "scale": scale,
        "pertoken_scale": token,
        "group_sizes": [1 if per_row else 128, 128, 128],
        "output_dtype": OUT_NUMBERS[out],
    }
    trial = quant_trial(made, given, [("neighbour's block", {"scale": rolled(scale)})], by_blocks)
    return trial


# Weights of few bits, and two layers


def weight_quant(device, g):
    each = g.get("antiquant_group_size") or 0
    codes, scale, offset = g["_codes"], factors(g["antiquant_scale"]), g.get("antiquant_offset")

    def over(t):
        t = t.float()
        return t.repeat_interleave(each, 0)[: codes.shape[0]] if each and t.dim() == 2 and t.shape[0] > 1 else t

    wide = (codes.float() if offset is None else codes.float() + over(offset)) * over(scale)
    y = device.product(g["x"], wide.to(g["x"].dtype))
    if g.get("bias") is not None:
        y = y + g["bias"].float()
    if g.get("quant_scale") is not None:
        y = y * g["quant_scale"]
        return [Output(device.int8(y if g.get("quant_offset") is None else y + g["quant_offset"]))]
    return [Output(y.to(g["x"].dtype))]


def weight_quant_trial(made):
    m, k, n = sizes(made)
    n, k, dtype = n // 8 * 8, k // 64 * 64 or 64, made.pick(F16, BF16)
    four = made.pick(True, False)
    codes = made.whole(-8, 8, k, n) if four else made.whole(-128, 128, k, n)
    each = made.pick(0, 32, 64)
    shape = (k // each, n) if each else made.pick((n,), (1, n), (1,))
    g = {
        "x": made.normal(m, k, dtype=dtype),
        "weight": in_words(codes) if four else codes,
        "_codes": codes,
        "antiquant_group_size": each,
        "antiquant_scale": made.between(0.002, 0.02, *shape, dtype=dtype),
        "antiquant_offset": made.whole(-5, 5, *shape, dtype=dtype) if made.pick(True, False) else None,
        "bias": made.normal(n, dtype=F32 if dtype == BF16 else dtype) if made.pick(True, False) else None,
    }
    if made.pick(True, False, False):
        g |= {"quant_scale": made.between(20, 60, 1, n), "quant_offset": made.between(-3, 3, 1, n)}
    faults = [("neighbour's scale", {"antiquant_scale": rolled(g["antiquant_scale"], g["antiquant_scale"].dim() - 1)})]
    if each:
        faults.append(("neighbour's block", {"antiquant_scale": rolled(g["antiquant_scale"])}))
    if g["bias"] is not None:
        faults.append(("bias lost", {"bias": g["bias"] * 0}))
    return Trial("npu_weight_quant_batchmatmul", ["x", "weight", "antiquant_scale"], g, weight_quant, faults)


def ffn(device, g):
    x, activation, parts = g["x"], g["activation"], []
    counts = g["_counts"] or [x.shape[0]]
    start = 0
    for i, count in enumerate(counts):

        def of(name, i=i):
            t = g.get(name)
            return t if t is None or not g["_counts"] else t[i]

        rows = x[start : start + count]
        start += count

        def layer(left, number):
            weight, bias, scale = of(f"weight{number}"), of(f"bias{number}"), of(f"deq_scale{number}")
            if of(f"antiquant_scale{number}") is not None:
                weight = ((weight.float() + of(f"antiquant_offset{number}").float()) * of(f"antiquant_scale{number}").float()).to(x.dtype)
            y = device.whole_product(left, weight) if left.dtype == I8 else device.product(left, weight)
            y = y if bias is None else y + (bias.float() if y.is_floating_point() else bias)
            return y.float() if scale is None else y.float() * factors(scale)

        h = layer(rows, 1)
        if activation.endswith("glu"):
            first, second = h.chunk(2, -1)
            h = {"swiglu": silu, "reglu": torch.relu, "geglu": lambda t: gelu(t, False)}[activation](first) * second
        else:
            h = {"relu": torch.relu, "gelu": lambda t: gelu(t, g.get("_tanh", False)), "silu": silu, "fastgelu": lambda t: silu(t, 1.702)}[
                activation
            ](h)
        if x.dtype == I8:
            h = device.int8(h * g["scale"] + g["offset"]) if not g["_counts"] else device.int8(h * of("scale") + of("offset"))
        else:
            h = h if g.get("_wide") else h.to(x.dtype)
        parts.append(layer(h, 2).to(g["_out"]))
    return [Output(torch.cat(parts))]


def ffn_trial(made):
    m, k, n = made.pick(1, 9, 64, 191), made.pick(64, 96), made.pick(32, 64)
    experts = made.pick(0, 3)
    lead = [experts] if experts else []
    ends = made.ends(experts, m) if experts else None
    if experts and ends[-1] != m:
        ends[-1] = m
    form = made.pick("float", "float", "codes", "weights", "glu")
    activation = made.pick("relu", "gelu", "silu", "fastgelu")
    g = {"activation": activation, "_counts": counts_of(ends) if experts else None}
    if experts:
        g |= {"expert_tokens": counts_of(ends)} if made.pick(True, False) else {"expert_tokens_index": list(ends)}
    if form == "glu":
        g.update(activation=made.pick("swiglu", "reglu", "geglu"), _counts=None)
        g.pop("expert_tokens", None), g.pop("expert_tokens_index", None)
        x = made.normal(m, k, dtype=F16)
        g |= {
            "x": x,
            "weight1": made.normal(k, 2 * n, dtype=F16, size=0.1),
            "weight2": made.normal(n, 40, dtype=F16, size=0.1),
            "inner_precise": 1,
            "_out": F16,
        }
        return Trial(
            "npu_ffn", ["x", "weight1", "weight2", "activation"], g, ffn, [("neighbour's columns", {"weight1": rolled(g["weight1"], 1)})]
        )
    if form == "codes":
        g |= {
            "x": made.whole(-128, 128, m, k),
            "weight1": made.whole(-128, 128, *lead, k, n),
            "weight2": made.whole(-128, 128, *lead, n, 40),
            "bias1": made.whole(-900, 900, *lead, n, dtype=I32),
            "bias2": made.whole(-900, 900, *lead, 40, dtype=I32),
            "_out": F16,
            "scale": made.between(10, 30, *(lead or [1])),
            "offset": made.between(-3, 3, *(lead or [1])),
            "deq_scale1": words64(made.between(1e-5, 3e-5, *lead, n)),
            "deq_scale2": words64(made.between(1e-5, 3e-5, *lead, 40)),
        }
        faults = [("neighbour's scale", {"deq_scale1": rolled(g["deq_scale1"], -1)}), ("bias lost", {"bias1": g["bias1"] * 0})]
        return Trial("npu_ffn", ["x", "weight1", "weight2", "activation"], g, ffn, faults)
    dtype = F16 if form == "float" else made.pick(F16, BF16)
    wide = F32 if dtype == BF16 else dtype
    g |= {
        "x": made.normal(m, k, dtype=dtype),
        "_out": dtype,
        "_wide": made.pick(True, False),
        "bias1": made.normal(*lead, n, dtype=wide),
        "bias2": made.normal(*lead, 40, dtype=wide),
    }
    if form == "weights":
        g |= {"weight1": made.whole(-128, 128, *lead, k, n), "weight2": made.whole(-128, 128, *lead, n, 40)}
        for number, width in ((1, n), (2, 40)):
            g[f"antiquant_scale{number}"] = made.between(0.001, 0.004, *lead, width, dtype=dtype)
            g[f"antiquant_offset{number}"] = made.whole(-5, 5, *lead, width, dtype=dtype)
        faults = [("neighbour's scale", {"antiquant_scale1": rolled(g["antiquant_scale1"], -1)})]
    else:
        g |= {
            "weight1": made.normal(*lead, k, n, dtype=dtype, size=0.1),
            "weight2": made.normal(*lead, n, 40, dtype=dtype, size=0.1),
            "_tanh": made.pick(True, False),
        }
        faults = [("bias lost", {"bias2": g["bias2"] * 0})]
    if experts:
        faults.append(("weights of two experts exchanged", {"weight1": rolled(g["weight1"])}))
    return Trial("npu_ffn", ["x", "weight1", "weight2", "activation"], g, ffn, faults)


def transposed(device, g):
    a = g["input"].permute(g.get("perm_x1") or [0, 1, 2])
    b = g["weight"].permute(g.get("perm_x2") or [0, 1, 2])
    y = torch.stack([device.product(a[i], b[i]) for i in range(a.shape[0])]).permute(1, 0, 2)
    m, batches, n = y.shape
    if g.get("scale") is not None:
        scaled = y.flatten(1) * factors(g["scale"])
        return [Output((torch.trunc(scaled).clamp(-128, 127).to(I8) if g.get("_cuts") else device.int8(scaled)).unsqueeze(1))]
    factor = g.get("batch_split_factor") or 1
    y = y.to(a.dtype)
    if factor > 1:
        y = y.flatten(1).unflatten(1, (factor, batches * n // factor)).permute(1, 0, 2).contiguous()
    return [Output(y.contiguous())]


def transposed_trial(made):
    m, k, n, batches, dtype = made.pick(1, 5, 33), made.pick(64, 191), made.pick(32, 64), made.pick(2, 4), made.pick(F16, BF16, F32)
    first = made.pick([0, 1, 2], [1, 0, 2])
    x = made.normal(*((batches, m, k) if first[0] == 0 else (m, batches, k)), dtype=dtype)
    swapped = made.pick(True, False, False)
    weight = made.normal(batches, n, k, dtype=dtype) if swapped else made.normal(batches, k, n, dtype=dtype)
    g = {"input": x, "weight": weight, "perm_x1": first, "perm_x2": [0, 2, 1] if swapped else [0, 1, 2], "perm_y": [1, 0, 2]}
    faults = [("weights of two experts exchanged", {"weight": rolled(weight)})]
    if made.pick(True, False) and dtype == F16:
        g |= {"scale": words64(made.between(1, 4, batches * n)), "_cuts": made.pick(True, False)}
        faults.append(("neighbour's scale", {"scale": rolled(g["scale"])}))
    else:
        g["batch_split_factor"] = made.pick(1, 2)
    return Trial("npu_transpose_batchmatmul", ["input", "weight"], g, transposed, faults, readings=(ARITHMETIC[1],))


def bmm(device, g):
    y = device.product(g["input"], g["mat2"])
    return [Output(y.to(g["input"].dtype))]


def bmm_trial(made):
    m, k, n = sizes(made)
    dtype, batch = made.pick(F16, F32), made.pick([2], [1, 3], [])
    g = {
        "input": made.normal(*batch, m, k, dtype=dtype),
        "mat2": made.normal(*(batch if made.pick(True, False) else []), k, n, dtype=dtype),
        "output_sizes": [],
    }
    return Trial("npu_bmmV2", ["input", "mat2", "output_sizes"], g, bmm, [("neighbour's columns", {"mat2": rolled(g["mat2"], -1)})])


FORMS = {
    "npu_grouped_matmul": [grouped_float, grouped_float, grouped_int8, grouped_four, grouped_antiquant, grouped_powers],
    "npu_quant_matmul": [quant_matmul_plain, quant_matmul_plain, quant_matmul_fp8],
    "npu_weight_quant_batchmatmul": [weight_quant_trial],
    "npu_ffn": [ffn_trial],
    "npu_transpose_batchmatmul": [transposed_trial],
    "npu_bmmV2": [bmm_trial],
}
