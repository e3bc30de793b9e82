# SPDX-License-Identifier: Apache-2.0
"""Operators of serving beyond the list of forty: keys in pages, a gate between products and codes, a norm with codes."""

import torch
from arithmetic import BF16, F16, F32, I8, I32, silu
from of_codes import summed
from trial import Output, Trial, counts_of


def grouped_gate(device, g):
    m, n = g["x"].shape[0], g["weight"][0].shape[-1] if isinstance(g["weight"], list) else g["weight"].shape[-1]
    weight, scale = (g[name][0] if isinstance(g[name], list) else g[name] for name in ("weight", "weight_scale"))
    codes, scales = torch.zeros(m, n // 2, dtype=I8), torch.zeros(m)
    for i, (start, end) in enumerate(zip([0, *g["_ends"]], g["_ends"])):
        y = device.whole_product(g["x"][start:end], weight[i]).float() * scale[i] * g["x_scale"][start:end, None]
        active, linear = y.chunk(2, -1)
        gated = silu(active) * linear
        of_row = device.over(gated.abs().amax(-1), torch.tensor(127.0))
        codes[start:end], scales[start:end] = device.int8(device.over(gated, of_row[:, None])), of_row
    rows = torch.arange(m) < g["_ends"][-1]
    outputs = [Output(codes, rows), Output(scales, rows)]
    return outputs if isinstance(g["weight"], list) else [*outputs, Output(torch.zeros(1), torch.zeros(1, dtype=torch.bool), spoil=False)]


def grouped_gate_trial(made):
    m, k, n, experts = made.pick(1, 9, 64), made.pick(64, 192), made.pick(64, 128), made.pick(2, 4)
    ends = made.ends(experts, m, made.pick(0, min(2, m - 1)))
    second, counts = made.pick(True, False), made.pick(True, False)
    weight, scale = made.whole(-128, 128, experts, k, n), made.between(1e-5, 5e-5, experts, n)
    g = {
        "x": made.whole(-128, 128, m, k),
        "weight": [weight] if second else weight,
        "weight_scale": [scale] if second else scale,
        "x_scale": made.between(0.5, 2, m),
        "_ends": ends,
    }
    if second:
        g |= {"group_list": torch.tensor(counts_of(ends) if counts else ends), "group_list_type": int(counts)}
    else:
        g["group_list"] = torch.tensor(ends)
    rolled = scale.roll(1, 1)
    faults = [
        ("neighbour's scale", {"weight_scale": [rolled] if second else rolled}),
        ("neighbour's token scale", {"x_scale": g["x_scale"].roll(1)}),
        ("weights of two experts exchanged", {"weight": [weight.roll(1, 0)] if second else weight.roll(1, 0)}),
    ]
    name = "npu_grouped_matmul_swiglu_quant" + ("_v2" if second else "")
    order = ["x", "weight", "weight_scale", "x_scale", "group_list"] if second else ["x", "weight", "group_list", "weight_scale", "x_scale"]
    return Trial(name, order, g, grouped_gate, faults)


def norm_codes(device, g):
    shown, seen = summed(g)
    y = device.normed(seen, 1, g["epsilon"])[0] * g["gamma"].float()

    def codes(smooth):
        smoothed = y if smooth is None else y * smooth.float()
        scale = device.over(smoothed.abs().amax(-1, keepdim=True), torch.tensor(127.0))
        return Output(device.int8(device.over(smoothed, scale))), Output(scale.squeeze(-1))

    first = codes(g["smooth_scale1"])
    if g["smooth_scale2"] is None:
        nothing = torch.zeros(y.shape[0], dtype=torch.bool)
        second = [Output(out.value, nothing, spoil=False) for out in first]
    else:
        second = codes(g["smooth_scale2"])
    return [first[0], second[0], Output(shown), first[1], second[1]]


def norm_codes_trial(made):
    dtype, shape = made.pick(F16, BF16), made.pick((1, 64), (3, 191), (64, 256))
    n = shape[-1]
    g = {
        "x1": made.normal(*shape, dtype=dtype),
        "x2": made.normal(*shape, dtype=dtype),
        "gamma": made.between(0.5, 1.5, n, dtype=dtype),
        "epsilon": 1e-6,
        "_wide": made.pick(True, False),
        "smooth_scale1": made.between(0.5, 2, n, dtype=dtype) if made.pick(True, False) else None,
        "smooth_scale2": None,
    }
    if g["smooth_scale1"] is not None and made.pick(True, False):
        g["smooth_scale2"] = made.between(0.5, 2, n, dtype=dtype)
    faults = [("residual lost", {"x2": g["x2"] * 0}), ("gamma moved", {"gamma": g["gamma"].roll(1)})]
    return Trial("npu_add_rms_norm_dynamic_quant", ["x1", "x2", "gamma"], g, norm_codes, faults)


def rotary_both(device, g):
    def turned(x):
        x, cos, sin = x.float(), g["cos"].float(), g["sin"].float()
        if g["rotary_mode"] == "half":
            a, b = x.chunk(2, -1)
            other = torch.cat([-b, a], -1)
        else:
            other = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
        return Output((x * cos + other * sin).to(g["query"].dtype))

    return [turned(g["query"]), turned(g["key"])]


def rotary_both_trial(made):
    dtype, (b, s, n, kn, d) = made.pick(F16, BF16, F32), made.pick((2, 5, 4, 2, 64), (1, 193, 8, 1, 128))
    packed = made.pick(True, False)
    lead = (b * s,) if packed else (b, s)
    angle = made.normal(*lead, 1, d)
    g = {
        "query": made.normal(*lead, n, d, dtype=dtype),
        "key": made.normal(*lead, kn, d, dtype=dtype),
        "cos": torch.cos(angle).to(dtype),
        "sin": torch.sin(angle).to(dtype),
        "layout": "TND" if packed else "BSND",
        "rotary_mode": made.pick("half", "interleave"),
    }
    faults = [
        ("rope pairs exchanged", {"sin": -g["sin"]}),
        ("other mode", {"rotary_mode": "interleave" if g["rotary_mode"] == "half" else "half"}),
    ]
    return Trial("npu_apply_rotary_pos_emb", ["query", "key", "cos", "sin"], g, rotary_both, faults)


def scatter_pages(device, g):
    outputs = []
    for rows, name in ((g["key"], "key_cache"), (g["value"], "value_cache")):
        cache = g[name].clone()
        for i, slot in enumerate(g["slot_mapping"].tolist()[: -1 if g["_short"] else None]):
            if slot < 0:
                continue
            if g["cache_mode"] == "Norm":
                cache[slot // cache.shape[1], slot % cache.shape[1]] = rows[i]
            else:
                flat = rows[i].reshape(-1, cache.shape[3])
                for j in range(flat.shape[0]):
                    cache[slot // cache.shape[2], j, slot % cache.shape[2]] = flat[j]
        outputs.append(Output(cache))
    return outputs


def scatter_pages_trial(made):
    dtype, tokens, heads, width, size = made.pick(F16, BF16, I8), made.pick(1, 5, 17), made.pick(1, 2), 64, 16
    mode = made.pick("Norm", "PA_NZ")
    each = 32 if dtype == I8 else 16

    def fresh(*shape):
        return made.whole(-99, 99, *shape) if dtype == I8 else made.normal(*shape, dtype=dtype)

    shape = (8, size, heads, width) if mode == "Norm" else (8, heads * width // each, size, each)
    g = {
        "key": fresh(tokens, heads, width),
        "value": fresh(tokens, heads, width),
        "key_cache": fresh(*shape),
        "value_cache": fresh(*shape),
        "slot_mapping": made.order(8 * size)[:tokens].to(I32),
        "cache_mode": mode,
        "_short": False,
    }
    if tokens > 1 and made.pick(True, False):
        g["slot_mapping"][0] = -1
    faults = [("last token not written", {"_short": True}), ("neighbour's slot", {"slot_mapping": (g["slot_mapping"] + 1) % (8 * size)})]
    return Trial(
        "npu_scatter_pa_kv_cache_functional", ["key", "value", "key_cache", "value_cache", "slot_mapping"], g, scatter_pages, faults
    )


def gather_pages(device, g):
    size = g["key_cache"].shape[1]
    lengths, first = g["_lengths"], g["seq_offset"].tolist() if g["seq_offset"] is not None else [0] * len(g["_lengths"])
    places = [
        (int(g["block_tables"][i, p // size]), p % size) for i, length in enumerate(lengths) for p in range(first[i], first[i] + length)
    ]
    outputs = []
    for cache, target in (("key_cache", "key"), ("value_cache", "value")):
        rows = g[target].clone()
        rows[: len(places)] = torch.stack([g[cache][a, b] for a, b in places])
        outputs.append(Output(rows, torch.arange(rows.shape[0]) < len(places)))
    for out in outputs:  # of the matrix that spoilers see
        out.rows = out.rows.repeat_interleave(out.value.shape[1])
    return outputs


def gather_pages_trial(made):
    dtype, size, heads, batch = made.pick(F16, BF16), 16, made.pick(1, 2), made.pick(1, 3)
    lengths = [made.choice.randint(1, 40) for _ in range(batch)]
    table = torch.stack([made.order(24)[:5] for _ in range(batch)]).to(I32)
    cumulative = made.pick(True, False)
    ends = torch.tensor(lengths).cumsum(0)
    rows = int(ends[-1]) + made.pick(0, 3)
    g = {
        "key_cache": made.normal(24, size, heads, 64, dtype=dtype),
        "value_cache": made.normal(24, size, heads, 32, dtype=dtype),
        "block_tables": table,
        "_lengths": lengths,
        "seq_lens": (ends if cumulative else torch.tensor(lengths)).to(I32),
        "key": torch.zeros(rows, heads, 64, dtype=dtype),
        "value": torch.zeros(rows, heads, 32, dtype=dtype),
        "seq_offset": made.pick(None, torch.full((batch,), size, dtype=I32)),
        "is_seq_lens_cumsum": cumulative,
    }
    faults = [("stale page", {"block_tables": table.roll(1, 1)}), ("neighbour's page", {"block_tables": (table + 1) % 24})]
    return Trial(
        "npu_gather_pa_kv_cache_functional",
        ["key_cache", "value_cache", "block_tables", "seq_lens", "key", "value"],
        g,
        gather_pages,
        faults,
    )


FORMS = {
    "npu_grouped_matmul_swiglu_quant": [grouped_gate_trial],
    "npu_add_rms_norm_dynamic_quant": [norm_codes_trial],
    "npu_apply_rotary_pos_emb": [rotary_both_trial],
    "npu_scatter_pa_kv_cache_functional": [scatter_pages_trial],
    "npu_gather_pa_kv_cache_functional": [gather_pages_trial],
}
