# SPDX-License-Identifier: Apache-2.0
"""Rows moved to their experts, and into the pages of a cache."""

import torch
from quantise import rms_norm
from recorder import GENERATOR, HALVES, normal, to_int8, uniform, unwritten, whole


def expert_counts(counts, first, kind, experts):
    if kind == 0:
        return torch.tensor(counts).cumsum(0)
    if kind == 1:
        return torch.tensor(counts)
    pairs = torch.full((experts, 2), 777)
    used = [[first + i, count] for i, count in enumerate(counts) if count]
    pairs[: len(used)] = torch.tensor(used)
    pairs[len(used) : len(used) + 1] = 0
    return pairs


def init_routing(
    x,
    expert_idx,
    scale=None,
    expert_num=-1,
    expert_capacity=-1,
    drop_pad_mode=0,
    expert_tokens_num_type=0,
    expert_tokens_num_flag=True,
    quant_mode=-1,
    active_expert_range=(),
    row_idx_type=0,
):
    each, experts = expert_idx.shape[1], expert_idx.flatten().tolist()
    low, high = active_expert_range or (0, expert_num)
    order = sorted((i for i, expert in enumerate(experts) if low <= expert < high), key=lambda i: experts[i])
    tokens = torch.tensor([i // each for i in order], dtype=torch.long)
    counts = [sum(experts[i] == expert for i in order) for expert in range(low, high)]
    rows, scales = x[tokens], unwritten((len(experts),), torch.float32)
    if quant_mode == 1:
        wide = rows.float() * scale[[experts[i] - low for i in order]]
        of_row = wide.abs().amax(-1, keepdim=True) / 127.0
        rows, scales[: len(order)] = to_int8(wide / of_row), of_row[:, 0]
    elif scale is not None:
        scales[: len(order)] = scale[tokens]
    places = torch.full((len(experts),), -1, dtype=torch.int32)
    if drop_pad_mode == 1:
        expanded, taken = torch.zeros(expert_num * expert_capacity, x.shape[1], dtype=x.dtype), {}
        for i in order:
            nth = taken[experts[i]] = taken.get(experts[i], -1) + 1
            if nth < expert_capacity:
                places[i] = experts[i] * expert_capacity + nth
                expanded[places[i]] = x[i // each]
        expanded = expanded.reshape(expert_num, expert_capacity, -1)
        scales = unwritten((expert_num * expert_capacity,), torch.float32)
    else:
        expanded = unwritten((len(experts), x.shape[1]), rows.dtype)
        expanded[: len(order)] = rows
        if row_idx_type == 0:
            places[order] = torch.arange(len(order), dtype=torch.int32)
        else:
            places = unwritten(places.shape, torch.int32)
            places[: len(order)] = torch.tensor(order, dtype=torch.int32)
    return [expanded, places, expert_counts(counts, low, expert_tokens_num_type, expert_num), scales]


def record_routing(calls):
    name = "npu_moe_init_routing_v2"
    for dtype in (*HALVES, torch.float32):
        for tokens, each, experts in ((1, 2, 8), (9, 2, 4), (17, 3, 8)):
            x = normal(tokens, 48, dtype=dtype)
            chosen = torch.stack([torch.randperm(experts, generator=GENERATOR)[:each] for _ in range(tokens)]).to(torch.int32)
            base = {"expert_num": experts, "expert_tokens_num_flag": True, "expert_tokens_num_type": 1}
            smooth = {**base, "quant_mode": 1, "scale": uniform(experts, 48, low=0.5, high=2)}
            shifted = {**smooth, "scale": smooth["scale"].roll(1, 0)}
            calls.case(name, init_routing, [x, chosen], base, [("neighbour's expert", [x, (chosen + 1) % experts], base)])
            calls.case(name, init_routing, [x, chosen], smooth, [("neighbour's scale", [x, chosen], shifted)])
            active = {"expert_tokens_num_type": 0, "row_idx_type": 1, "active_expert_range": [1, experts - 1]}
            for more in ({"expert_tokens_num_type": 2}, {"scale": uniform(tokens)}, {"drop_pad_mode": 1, "expert_capacity": 2}):
                calls.case(name, init_routing, [x, chosen], {**base, **more})
            calls.case(name, init_routing, [x, chosen], {**base, **active}, spoil=False)


def write(cache, slot, row, columns_first):
    """One row into a paged cache (blocks, size, 1, width)."""
    size, width = cache.shape[1], cache.shape[-1]
    if not columns_first:
        cache[slot // size, slot % size, 0] = row
        return
    each = 32 if cache.dtype == torch.int8 else 16
    block = cache[slot // size].reshape(-1)
    for d in range(width):
        block[(d // each) * size * each + (slot % size) * each + d % each] = row[d]


def kv_rmsnorm_rope_cache(
    kv, gamma, cos, sin, index, k_cache, ckv_cache, k_rope_scale=None, c_kv_scale=None, cache_mode="Norm", is_output_kv=False
):
    width = gamma.numel()
    y = rms_norm(kv[..., :width].float(), gamma.float(), 1e-5)
    k = torch.cat([kv[..., width::2], kv[..., width + 1 :: 2]], -1).float()
    first, second = k.chunk(2, -1)
    k = k * cos.float() + torch.cat([-second, first], -1) * sin.float()
    caches = [k_cache.clone(), ckv_cache.clone()]
    for cache, value, scale in zip(caches, (k, y), (k_rope_scale, c_kv_scale)):
        value = value[:, 0]
        value = to_int8(value * scale) if cache.dtype == torch.int8 else value.to(cache.dtype)
        for b in range(kv.shape[0]):
            for t in range(kv.shape[2]):
                if cache_mode == "Norm":
                    if index[b, t] >= 0:
                        cache[b, 0, index[b, t]] = value[b, t]
                    continue
                slot = int(index[b, 0]) + t if cache_mode == "PA_BLK_BNSD" else int(index[b * kv.shape[2] + t])
                if slot >= 0:
                    write(cache, slot, value[b, t], cache_mode == "PA_NZ")
    shown = [k.to(kv.dtype), y.to(kv.dtype)] if is_output_kv else [unwritten(k.shape, kv.dtype), unwritten(y.shape, kv.dtype)]
    return caches + shown


def record_caches(calls):
    name, function = "npu_kv_rmsnorm_rope_cache", kv_rmsnorm_rope_cache
    for dtype in HALVES:
        for batch, tokens in ((2, 1), (1, 5), (3, 4)):
            angle = normal(batch, 1, tokens, 64)
            inputs = [normal(batch, 1, tokens, 192, dtype=dtype), uniform(128, low=0.5, high=1.5, dtype=dtype)]
            inputs += [torch.cos(angle).to(dtype), torch.sin(angle).to(dtype)]
            turned = [*inputs[:3], -inputs[3]]
            places = torch.stack([torch.randperm(12, generator=GENERATOR)[:tokens] for _ in range(batch)])
            places[0, 0] = -1
            caches = [normal(batch, 1, 12, 64, dtype=dtype), normal(batch, 1, 12, 128, dtype=dtype)]
            keywords = {"is_output_kv": True}
            calls.case(
                name,
                function,
                [*inputs, places, *caches],
                keywords,
                [("rope pairs exchanged", [*turned, places, *caches], keywords)],
                spoil=False,
            )
            slots = torch.randperm(32, generator=GENERATOR)[: batch * tokens]
            stale = slots.clone()
            stale[0] = -1
            for mode in ("PA_BNSD", "PA_NZ"):
                caches = [normal(4, 8, 1, 64, dtype=dtype), normal(4, 8, 1, 128, dtype=dtype)]
                keywords = {"cache_mode": mode}
                calls.case(
                    name, function, [*inputs, slots, *caches], keywords, [("stale block", [*inputs, stale, *caches], keywords)], spoil=False
                )
            caches = [whole(-9, 9, 4, 8, 1, 64), whole(-9, 9, 4, 8, 1, 128)]
            scales = {"cache_mode": "PA_BNSD", "k_rope_scale": uniform(64, low=20, high=40), "c_kv_scale": uniform(128, low=20, high=40)}
            shifted = {**scales, "c_kv_scale": scales["c_kv_scale"].roll(1)}
            args = [*inputs, slots, *caches]
            calls.case(name, function, args, scales, [("neighbour's scale", args, shifted)], spoil=False)
            pages = torch.tensor([[8 * b] for b in range(batch)])
            caches = [normal(4, 8, 1, 64, dtype=dtype), normal(4, 8, 1, 128, dtype=dtype)]
            calls.case(name, function, [*inputs, pages, *caches], {"cache_mode": "PA_BLK_BNSD"}, spoil=False)


def record(calls):
    record_routing(calls)
    record_caches(calls)
