# SPDX-License-Identifier: Apache-2.0
"""Rows on their way: to experts and back, to slots of a cache, to places of a tensor; and the choice of experts."""

import math

import torch
from arithmetic import BF16, F16, F32, I8, I32, I64, mx_codes
from trial import Output, Trial


def choice_of_experts(made, tokens, each, experts):
    return torch.stack([made.order(experts)[:each] for _ in range(tokens)]).to(I32)


# npu_moe_init_routing_v2


def init_routing(device, g):
    x, chosen = g["x"], g["expert_idx"]
    m, each = chosen.shape
    flat = chosen.reshape(-1).tolist()
    low, high = g["active_expert_range"] or (0, g["expert_num"])
    order = sorted((i for i in range(m * each) if low <= flat[i] < high), key=lambda i: flat[i])
    count, total, kept = len(order), m * each, m * each if g["active_num"] <= 0 else min(g["active_num"], m * each)
    mode, scale, dropped = g["quant_mode"], g["scale"], g["drop_pad_mode"] == 1
    source = [i // each for i in order]
    experts = [flat[i] for i in order]
    rows = x[source]
    scales = scale[source] if scale is not None and mode == -1 else torch.zeros(count)
    if mode == 0:
        rows = (
            device.int8((rows.to(F16) * scale.to(F16)).to(F16).float() + g["offset"].float())
            if not g["_wide"]
            else device.int8(rows.float() * scale + g["offset"])
        )
    elif mode == 1:
        wide = rows.float()
        if scale is not None:
            wide = wide * (scale[[e - low for e in experts]] if scale.shape[0] > 1 else scale)
        scales = device.over(wide.abs().amax(-1), torch.tensor(127.0))
        rows = device.int8(device.over(wide, scales[:, None]))
    elif mode in (2, 3):
        rows, pairs = mx_codes(rows, "e5m2" if mode == 2 else "e4m3", 0, shift=g["_shift"])
        scales = pairs.flatten(-2)
    places = torch.full((total,), -1, dtype=I32)
    if dropped:
        capacity = g["expert_capacity"]
        out = torch.zeros(g["expert_num"] * capacity, x.shape[1], dtype=rows.dtype)
        nth = dict.fromkeys(range(g["expert_num"]), 0)
        out_scales, filled = torch.zeros(out.shape[0]), torch.zeros(out.shape[0], dtype=torch.bool)
        for j, i in enumerate(order):
            if nth[flat[i]] < capacity:
                place = flat[i] * capacity + nth[flat[i]]
                places[i], out[place], out_scales[place], filled[place] = place, rows[j], scales[j], True
            nth[flat[i]] += 1
        expanded = Output(out.reshape(g["expert_num"], capacity, -1))
        of_scales = Output(out_scales, filled, spoil=False)
        to = Output(places)
    else:
        out, all_scales = torch.zeros(kept, x.shape[1], dtype=rows.dtype), torch.zeros(kept, *scales.shape[1:], dtype=scales.dtype)
        n = min(count, kept)
        if mode in (2, 3):
            out.view(torch.uint8)[:n] = rows.view(torch.uint8)[:n]
        else:
            out[:n] = rows[:n]
        all_scales[:n] = scales[:n]
        expanded, of_scales = Output(out, torch.arange(kept) < n), Output(all_scales, torch.arange(kept) < n, spoil=mode in (1, 2, 3))
        if g["row_idx_type"] == 0:
            places[order] = torch.arange(count, dtype=I32)
            to = Output(places)
        else:
            places[:count] = torch.tensor(order, dtype=I32)
            to = Output(places, torch.arange(total) < count)
    if scale is None and mode < 1 or mode == 0:
        of_scales = Output(of_scales.value, of_scales.value == 77, spoil=False)
    counts = [experts.count(e) for e in range(low, high)]
    if g["_late_count"]:
        counts[-1] = 0
    if g["expert_tokens_num_type"] == 0:
        tokens = Output(torch.tensor(counts).cumsum(0), spoil=False)
    elif g["expert_tokens_num_type"] == 1:
        tokens = Output(torch.tensor(counts), spoil=False)
    else:
        pairs, used = torch.zeros(g["expert_num"], 2, dtype=I64), [[low + i, c] for i, c in enumerate(counts) if c]
        pairs[: len(used)] = torch.tensor(used)
        tokens = Output(pairs, torch.arange(g["expert_num"]) <= len(used), spoil=False)
    return [expanded, to, tokens, of_scales]


def init_routing_trial(made):
    dtype = made.pick(F16, BF16, F32)
    tokens, each, experts = made.pick((1, 2, 8), (9, 2, 4), (17, 3, 8), (64, 4, 16))
    mode = made.pick(-1, -1, 0, 1, 2, 3)
    x = made.normal(tokens, made.pick(48, 191, 193), dtype=dtype)
    if mode == -1 and made.pick(True, False, False):
        x = made.whole(-100, 100, tokens, 48)
    g = {
        "x": x,
        "expert_idx": choice_of_experts(made, tokens, each, experts),
        "expert_num": experts,
        "expert_tokens_num_flag": True,
        "expert_tokens_num_type": made.pick(0, 1, 2),
        "quant_mode": mode,
        "drop_pad_mode": 0,
        "row_idx_type": 0,
        "active_num": -1,
        "active_expert_range": [],
        "scale": None,
        "offset": None,
        "_late_count": False,
        "_shift": 0,
        "_wide": made.pick(True, False),
    }
    form = made.pick("all", "active", "scatter", "dropped", "some") if mode < 2 else made.pick("all", "active")
    if mode > 1 and x.dtype == F32:
        g["x"] = x = x.to(BF16)
    if form == "dropped":
        g |= {"drop_pad_mode": 1, "expert_capacity": made.pick(1, 2, 5), "expert_tokens_num_type": 1}
    elif form == "active":
        g |= {"active_expert_range": [1, experts - 1], "row_idx_type": made.pick(0, 1)}
    elif form == "scatter":
        g["row_idx_type"] = 1
    elif form == "some":
        g["active_num"] = max(1, tokens * each - 2)
    low, high = g["active_expert_range"] or (0, experts)
    if mode == -1:
        g["scale"] = made.between(0.5, 2, tokens) if made.pick(True, False) and form not in ("dropped",) else None
    elif mode == 0:
        g |= {"scale": made.between(20, 40, 1), "offset": made.between(-5, 5, 1)}
    elif mode == 1:
        g["scale"] = made.pick(None, made.between(0.5, 2, 1, x.shape[1]), made.between(0.5, 2, high - low, x.shape[1]))
    faults = [("neighbour's expert", {"expert_idx": (g["expert_idx"] + 1) % experts}), ("last count lost", {"_late_count": True})]
    if mode > 1:
        faults.append(("exponent off by one", {"_shift": 1}))
    if mode == 1 and g["scale"] is not None and g["scale"].shape[0] > 1:
        faults.append(("neighbour's scale", {"scale": g["scale"].roll(1, 0)}))
    return Trial("npu_moe_init_routing_v2", ["x", "expert_idx"], g, init_routing, faults)


# Permute, unpermute, finalize


def permute(device, g):
    tokens, flat = g["tokens"], g["indices"].reshape(-1)
    each = flat.numel() // tokens.shape[0]
    numbers = flat.tolist()
    first = sorted(range(flat.numel()), key=lambda i: numbers[i])
    if g["_unstable"]:
        first = sorted(range(flat.numel()), key=lambda i: (numbers[i], -i))
    went = torch.zeros(flat.numel(), dtype=I32)
    went[first] = torch.arange(flat.numel(), dtype=I32)
    n = g["num_out_tokens"]
    kept = flat.numel() if not n else min(n, flat.numel()) if n > 0 else flat.numel() + n
    return [Output(tokens[[i // each for i in first[:kept]]]), Output(torch.tensor(first, dtype=I32) if g["_order"] else went)]


def permute_trial(made):
    dtype, (tokens, each, experts) = made.pick(F16, BF16, F32), made.pick((1, 1, 4), (9, 2, 4), (64, 4, 8), (193, 2, 16))
    indices = choice_of_experts(made, tokens, each, experts).to(made.pick(I32, I64))
    g = {
        "tokens": made.normal(tokens, made.pick(64, 191), dtype=dtype),
        "indices": indices if each > 1 or made.pick(True, False) else indices[:, 0],
        "num_out_tokens": made.pick(None, 0, max(1, tokens * each // 2), -1 if tokens * each > 1 else None),
        "_unstable": False,
        "_order": False,
    }
    faults = [
        ("neighbour's expert", {"indices": (g["indices"] + 1) % experts}),
        ("order instead of its inverse", {"_order": True}),
        ("sort not stable", {"_unstable": True}),
    ]
    return Trial("npu_moe_token_permute", ["tokens", "indices"], g, permute, faults)


def unpermute(device, g):
    rows, places, probs = g["permuted_tokens"], g["sorted_indices"].long(), g["probs"]
    if probs is None:
        return [Output(rows[places])]
    m, each = probs.shape
    parts = rows[places].float().reshape(m, each, -1) * probs.float().unsqueeze(-1)
    order = range(each - 1, -1, -1) if device.backward else range(each)
    total = torch.zeros(m, rows.shape[1])
    for j in list(order)[: each - 1 if device.loses_terms and each > 1 else each]:
        total = total + parts[:, j]
    return [Output(total.to(rows.dtype))]


def unpermute_trial(made):
    dtype, (tokens, each) = made.pick(F16, BF16, F32), made.pick((1, 2), (9, 2), (64, 4), (193, 8))
    with_probs = made.pick(True, True, False)
    g = {
        "permuted_tokens": made.normal(tokens * each, made.pick(64, 193), dtype=dtype),
        "sorted_indices": made.order(tokens * each).to(I32),
        "probs": made.between(0.1, 1, tokens, each, dtype=made.pick(dtype, F32)) if with_probs else None,
    }
    faults = [("neighbour's place", {"sorted_indices": g["sorted_indices"].roll(1)})]
    if with_probs:
        faults.append(("neighbour's weight", {"probs": g["probs"].roll(1, 0)}))
    return Trial("npu_moe_token_unpermute", ["permuted_tokens", "sorted_indices"], g, unpermute, faults)


def compute_expert_tokens(device, g):
    experts = g["sorted_expert_for_source_row"].tolist()
    counts = [sum(e <= i for e in experts) for i in range(g["num_expert"])]
    if g["_counts"]:
        counts = [experts.count(i) for i in range(g["num_expert"])]
    return [Output(torch.tensor(counts, dtype=I32))]


def compute_expert_tokens_trial(made):
    experts, n = made.pick(4, 16, 64), made.pick(1, 17, 193)
    g = {"sorted_expert_for_source_row": made.whole(0, experts, n, dtype=I32).sort()[0], "num_expert": experts, "_counts": False}
    return Trial(
        "npu_moe_compute_expert_tokens",
        ["sorted_expert_for_source_row", "num_expert"],
        g,
        compute_expert_tokens,
        [("counts, not ends", {"_counts": True})],
    )


def finalize(device, g):
    rows, where, each = (
        g["expanded_permuted_rows"],
        g["expanded_src_to_dst_row"].tolist(),
        g["scales"].shape[1] if g["scales"] is not None else 1,
    )
    flat = rows.reshape(-1, rows.shape[-1]).float()
    m = len(where) // each
    out = torch.zeros(m, flat.shape[1])
    for j in range(each - 1 if device.loses_terms and each > 1 else each):
        for i in range(m):
            at = where[j * m + i] if g["drop_pad_mode"] < 2 else where[i * each + j]
            row = flat[at] if at >= 0 else torch.zeros(flat.shape[1])
            if g["bias"] is not None:
                row = row + g["bias"][int(g["export_for_source_row"][i, j])].float()
            out[i] += row if g["scales"] is None else g["scales"][i, j].float() * row
    for name in ("skip1", "skip2"):
        if g[name] is not None:
            out = out + g[name].float()
    return [Output(out.to(rows.dtype))]


def finalize_trial(made):
    dtype, (m, each, experts), width, mode = (
        made.pick(F16, BF16, F32),
        made.pick((1, 2, 4), (9, 2, 4), (33, 3, 8)),
        made.pick(64, 191),
        made.pick(0, 2, 1),
    )
    if mode == 1:
        capacity = m
        rows, where = made.normal(experts, capacity, width, dtype=dtype), made.order(experts * capacity)[: m * each].to(I32)
    else:
        rows, where = made.normal(m * each, width, dtype=dtype), made.order(m * each).to(I32)
    if mode in (1, 0) and made.pick(True, False):
        where[0] = -1
    skip = made.pick(0, 1, 2)
    g = {
        "expanded_permuted_rows": rows,
        "skip1": made.normal(m, width, dtype=dtype) if skip else None,
        "skip2": made.normal(m, width, dtype=dtype) if skip == 2 else None,
        "bias": made.normal(experts, width, dtype=dtype) if made.pick(True, False) else None,
        "scales": made.between(0.1, 1, m, each, dtype=dtype),
        "expanded_src_to_dst_row": where,
        "export_for_source_row": choice_of_experts(made, m, each, experts),
        "drop_pad_mode": mode,
    }
    faults = [("neighbour's weight", {"scales": g["scales"].roll(1, 0)}), ("neighbour's place", {"expanded_src_to_dst_row": where.roll(1)})]
    if g["bias"] is not None:
        faults.append(("bias of another expert", {"bias": g["bias"].roll(1, 0)}))
    positional = ["expanded_permuted_rows", "skip1", "skip2", "bias", "scales", "expanded_src_to_dst_row", "export_for_source_row"]
    return Trial("npu_moe_finalize_routing", positional, g, finalize, faults)


# npu_moe_gating_top_k


def gating(device, g):
    x = g["x"].float()
    p = 1 / (1 + torch.exp(-x)) if g["norm_type"] == 1 else device.softmax(x)[0]
    s = p if g["bias"] is None else p + g["bias"].float()
    if g["group_count"] > 1:
        groups = s.unflatten(-1, (g["group_count"], -1))
        best = groups.sort(-1, descending=True)[0]
        score = best[..., 0] if g["group_select_mode"] == 0 else best[..., 0] + best[..., 1]
        kept = torch.argsort(score, dim=-1, descending=True, stable=True)[:, : g["k_group"]]
        mask = torch.ones_like(score, dtype=torch.bool).scatter(1, kept, False)
        s = groups.masked_fill(mask.unsqueeze(-1), -math.inf).flatten(1)
    idx = torch.argsort(s, dim=-1, descending=not g["_worst"], stable=True)[:, : g["k"]]
    y = (s if g["_of_choice"] else p).gather(1, idx)
    if g["norm_type"] == 1 and not g["_unnormed"]:
        y = device.over(y, device.sum(y).unsqueeze(-1) + g["eps"])
    y = y * g["routed_scaling_factor"]
    shown = Output(p) if g["out_flag"] else Output(p, torch.zeros(p.shape[0], dtype=torch.bool))
    return [Output(y.to(g["x"].dtype)), Output(idx.to(I32), spoil=False), shown]


def gating_trial(made):
    dtype, (rows, experts, k) = made.pick(F16, BF16, F32), made.pick((1, 8, 2), (33, 64, 8), (193, 256, 8), (17, 16, 1))
    grouped = experts >= 64 and made.pick(True, False)
    g = {
        "x": made.normal(rows, experts, dtype=dtype),
        "k": k,
        "bias": made.normal(experts, dtype=dtype, size=0.1) if made.pick(True, True, False) else None,
        "norm_type": made.pick(0, 1),
        "group_count": 8 if grouped else 1,
        "k_group": 4 if grouped else 1,
        "group_select_mode": made.pick(0, 1) if grouped else 0,
        "out_flag": made.pick(True, False),
        "routed_scaling_factor": made.pick(1.0, 2.5),
        "eps": 1e-20,
        "_worst": False,
        "_of_choice": False,
        "_unnormed": False,
    }
    faults = [
        ("worst experts", {"_worst": True}),
        ("wrong factor", {"routed_scaling_factor": 1.2 * g["routed_scaling_factor"]}),
        ("neighbour's scores", {"x": g["x"].roll(1, 1)}),
    ]
    if g["bias"] is not None:
        faults += [("bias lost", {"bias": g["bias"] * 0}), ("weights with bias", {"_of_choice": True})]
    if g["norm_type"] == 1:
        faults.append(("not normalised", {"_unnormed": True}))
    return Trial("npu_moe_gating_top_k", ["x", "k"], g, gating, faults)


# Places


def scatter(device, g):
    y, d = g["input"].clone(), g["indices"].shape[-1]
    places, updates = g["indices"].reshape(-1, d), g["updates"].reshape(-1, *g["input"].shape[d:])
    for place, update in zip(places.tolist()[: len(places) - 1 if g["_short"] else None], updates):
        y[tuple(place)] = update
    return [Output(y)]


def scatter_trial(made, name="npu_scatter_nd_update"):
    dtype, d = made.pick(F16, BF16, F32, I8, I64), made.pick(1, 2)
    shape = (17, 5, 33)
    x = made.normal(*shape, dtype=dtype) if dtype.is_floating_point else made.whole(-99, 99, *shape, dtype=dtype)
    count = made.pick(1, 6)
    flat = made.order(17 if d == 1 else 85)[:count]
    indices = (flat[:, None] if d == 1 else torch.stack([flat // 5, flat % 5], 1)).to(made.pick(I32, I64))
    size = (count, *shape[d:])
    updates = made.normal(*size, dtype=dtype) if dtype.is_floating_point else made.whole(-99, 99, *size, dtype=dtype)
    g = {"input": x, "indices": indices, "updates": updates, "_short": False}
    faults = [
        ("neighbour's place", {"indices": torch.cat([(indices[:, :1] + 1) % 17, indices[:, 1:]], 1)}),
        ("last row not written", {"_short": True}),
    ]
    return Trial(name, ["input", "indices", "updates"], g, scatter, faults)


def scatter_in_place(made):
    return scatter_trial(made, "npu_scatter_nd_update_")


def rope(x, cos, sin):
    """Pairs sorted: even positions, then odd ones; rotated by halves."""
    q = torch.cat([x[..., 0::2], x[..., 1::2]], -1)
    first, second = q.chunk(2, -1)
    return q * cos + torch.cat([-second, first], -1) * sin


def kv_cache(device, g):
    kv, gamma = g["kv"].float(), g["gamma"].float()
    n = gamma.numel()
    y = device.normed(kv[..., :n], 1, g["epsilon"])[0] * gamma
    if g["v"] is None:
        k, second = rope(kv[..., n:], g["cos"].float(), g["sin"].float()), y
    else:
        k = torch.cat([rope(y[..., :64], g["cos"].float(), g["sin"].float()), y[..., 64:]], -1)
        second = g["v"].float()
    b, _, s, _ = kv.shape
    caches = []
    for name, value, scale in (("k_cache", k, g["k_rope_scale"]), ("ckv_cache", second, g["c_kv_scale"])):
        cache, mode = g[name].clone(), g["cache_mode"]
        rows = value[:, 0] if scale is None else value[:, 0] * scale
        rows = device.int8(rows) if cache.dtype == I8 else rows.to(cache.dtype)
        size, width = cache.shape[1], cache.shape[-1]
        for i in range(b):
            for t in range(s - (1 if g["_short"] and i == b - 1 else 0)):
                if mode == "Norm":
                    if g["index"][i, t] >= 0:
                        cache[i, 0, int(g["index"][i, t])] = rows[i, t]
                    continue
                if "BLK" in mode:
                    pages = g["index"].reshape(b, -1)
                    start = int(pages[i, t // size])
                    slot = start + t % size if start >= 0 else -1
                else:
                    slot = int(g["index"].reshape(b, s)[i, t])
                if slot < 0:
                    continue
                if "NZ" in mode:
                    each = 32 if cache.dtype == I8 else 16
                    view = cache[slot // size].view(-1).view(width // each, size, each)
                    view[:, slot % size] = rows[i, t].view(-1, each)
                else:
                    cache[slot // size, slot % size, 0] = rows[i, t]
        caches.append(Output(cache.reshape(g[name].shape)))
    if g["is_output_kv"]:
        return [*caches, Output(k.to(g["kv"].dtype)), Output(second.to(g["kv"].dtype))]
    none = [Output(t.to(g["kv"].dtype), torch.zeros(t.numel() // t.shape[-1], dtype=torch.bool), spoil=False) for t in (k, second)]
    return [*caches, *none]


def kv_cache_trial(made):
    dtype, (b, s) = made.pick(F16, BF16), made.pick((1, 1), (2, 1), (1, 5), (3, 4))
    n, r = made.pick((512, 64), (128, 64))
    second = made.pick(True, False, False, False)
    mode = made.pick("Norm", "PA", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ")
    if second:
        n, mode = 192, "PA_BNSD"
    angle = made.normal(b, 1, s, 64)
    g = {
        "kv": made.normal(b, 1, s, n if second else n + r, dtype=dtype),
        "gamma": made.between(0.5, 1.5, n, dtype=dtype),
        "cos": torch.cos(angle).to(dtype),
        "sin": torch.sin(angle).to(dtype),
        "v": made.normal(b, 1, s, 128, dtype=dtype) if second else None,
        "epsilon": 1e-5,
        "cache_mode": mode,
        "is_output_kv": made.pick(True, False),
        "k_rope_scale": None,
        "c_kv_scale": None,
        "_short": False,
    }
    widths = (192, 128) if second else (r, n)
    if mode == "Norm":
        g["index"] = torch.stack([made.order(12)[:s] for _ in range(b)])
        shape = (b, 1, 12)
    else:
        size, blocks = 16, 8
        shape = (blocks, size, 1)
        if "BLK" in mode:
            g["index"] = made.order(blocks)[: b * -(-s // size)] * size
        else:
            g["index"] = made.order(blocks * size)[: b * s]
    if made.pick(True, False) and b * s > 1 and "BLK" not in mode:
        g["index"].view(-1)[0] = -1
    if made.pick(True, False) and not second:
        g |= {
            "k_cache": made.whole(-99, 99, *shape, widths[0]),
            "ckv_cache": made.whole(-99, 99, *shape, widths[1]),
            "k_rope_scale": made.between(20, 40, widths[0]),
            "c_kv_scale": made.between(20, 40, widths[1]),
        }
    else:
        g |= {"k_cache": made.normal(*shape, widths[0], dtype=dtype), "ckv_cache": made.normal(*shape, widths[1], dtype=dtype)}
    pairs = torch.cat([g["kv"][..., :-2], g["kv"][..., -1:], g["kv"][..., -2:-1]], -1)
    faults = [
        ("rope pairs exchanged", {"sin": -g["sin"]}),
        ("last token not written", {"_short": True}),
        ("gamma moved", {"gamma": g["gamma"].roll(1)}),
        ("neighbour's slot", {"index": g["index"].flip(0) if b * s > 1 else g["index"]}),
    ]
    if not second:
        faults.append(("last pair exchanged", {"kv": pairs}))
    return Trial("npu_kv_rmsnorm_rope_cache", ["kv", "gamma", "cos", "sin", "index", "k_cache", "ckv_cache"], g, kv_cache, faults)


FORMS = {
    "npu_moe_init_routing_v2": [init_routing_trial],
    "npu_moe_token_permute": [permute_trial],
    "npu_moe_token_unpermute": [unpermute_trial],
    "npu_moe_compute_expert_tokens": [compute_expert_tokens_trial],
    "npu_moe_finalize_routing": [finalize_trial],
    "npu_moe_gating_top_k": [gating_trial],
    "npu_scatter_nd_update": [scatter_trial],
    "npu_scatter_nd_update_": [scatter_in_place],
    "npu_kv_rmsnorm_rope_cache": [kv_cache_trial],
}
