# SPDX-License-Identifier: Apache-2.0
"""Attention of inference: lengths, masks, pages, rotary parts, sinks; attention on chosen keys."""

import itertools
import math

import torch
from recorder import GENERATOR, HALVES, normal, unwritten

TRIANGLE = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1)


def rows_of_attention(query, key, value, scale, mask=None, sink=None):
    """(heads, rows, width) in the dtype of the query, and the logarithm of each row's sum."""
    each = query.shape[0] // key.shape[0]
    key, value = key.repeat_interleave(each, 0).float(), value.repeat_interleave(each, 0).float()
    scores = (query.float() @ key.transpose(1, 2)) * scale
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    largest = scores.amax(-1, keepdim=True)
    if sink is not None:
        largest = torch.maximum(largest, sink.float()[:, None, None])
    shift = torch.where(torch.isinf(largest), 0, largest)
    weights = torch.exp(scores - shift)
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + torch.exp(sink.float()[:, None, None] - shift)
    weights = (weights / torch.where(total == 0, 1, total)).to(query.dtype)
    return (weights.float() @ value).to(query.dtype), largest + torch.log(total)


def to_heads(tensor, layout, heads):
    if layout == "BSH":
        return tensor.unflatten(2, (heads, -1)).transpose(1, 2)
    return {"BSND": lambda: tensor.transpose(1, 2), "TND": lambda: tensor.transpose(0, 1)[None], "BNSD": lambda: tensor}[layout]()


FROM_HEADS = {
    "BSH": lambda t: t.transpose(1, 2).flatten(2),
    "BSND": lambda t: t.transpose(1, 2),
    "BNSD": lambda t: t,
    "NBSD": lambda t: t.transpose(0, 1),
    "TND": lambda t: t[0].transpose(0, 1),
}


def mask_for(mask, mode, rows, keys, batch, pre, next_, rope):
    if mask is None:
        return None
    if mode in (2, 3, 4):
        if rows == 1 and not rope:
            return None
        offset, corner = torch.arange(keys)[None] - torch.arange(rows)[:, None], keys - rows
        if mode == 4:
            return (offset > corner + next_) | (offset < corner - pre)
        return offset > (0 if mode == 2 else corner)
    return mask[min(batch, mask.shape[0] - 1), 0][:rows, :keys]


def infer(
    query,
    key,
    value,
    atten_mask=None,
    actual_seq_lengths=None,
    actual_seq_lengths_kv=None,
    block_table=None,
    block_size=0,
    num_heads=1,
    num_key_value_heads=0,
    scale=1.0,
    input_layout="BSH",
    sparse_mode=0,
    pre_tokens=2**31 - 1,
    next_tokens=2**31 - 1,
    softmax_lse_flag=False,
    query_rope=None,
    key_rope=None,
    sink=None,
):
    layout, out_layout = input_layout.split("_")[0], input_layout.split("_")[-1]
    heads, key_heads, packed = num_heads, num_key_value_heads or num_heads, layout == "TND"
    queries = to_heads(query, layout, heads)
    if query_rope is not None:
        queries = torch.cat([queries, to_heads(query_rope, layout, heads)], -1)

    def sequences(tensor):
        if block_table is not None:
            for batch, length in enumerate(actual_seq_lengths_kv):
                pages = [tensor[int(block_table[batch, p // block_size])][p % block_size] for p in range(length)]
                yield torch.stack([page.reshape(key_heads, -1) for page in pages], 1)
            return
        split = to_heads(tensor, layout, key_heads)
        if packed:
            yield from (split[0][:, a:b] for a, b in itertools.pairwise([0, *actual_seq_lengths_kv]))
            return
        for batch in range(split.shape[0]):
            yield split[batch][:, : actual_seq_lengths_kv[batch] if actual_seq_lengths_kv else None]

    keys, values = list(sequences(key)), list(sequences(value))
    if key_rope is not None:
        keys = [torch.cat(pair, -1) for pair in zip(keys, sequences(key_rope))]
    y = unwritten((*queries.shape[:3], values[0].shape[-1]), query.dtype)
    lse = unwritten((*queries.shape[:3], 1), torch.float32)
    ends = [0, *(actual_seq_lengths or [])]
    for i, (k, v) in enumerate(zip(keys, values)):
        batch, first, last = (0, ends[i], ends[i + 1]) if packed else (i, 0, ends[i + 1] if actual_seq_lengths else queries.shape[2])
        mask = mask_for(atten_mask, sparse_mode, last - first, k.shape[1], i, pre_tokens, next_tokens, query_rope is not None)
        part, of_row = rows_of_attention(queries[batch][:, first:last], k, v, scale, mask, sink)
        if mask is not None:
            empty = mask.all(-1)
            part[:, empty] = 0 if sparse_mode == 3 else math.nan
            of_row[:, empty] = math.nan
        y[batch][:, first:last], lse[batch][:, first:last] = part, of_row
    shown = FROM_HEADS["TND" if packed else "BNSD"](lse) if softmax_lse_flag else torch.zeros(1)
    return [FROM_HEADS[out_layout](y).contiguous(), shown]


def second_version(query, key, value, **keywords):
    names = {
        "num_query_heads": "num_heads",
        "softmax_scale": "scale",
        "actual_seq_qlen": "actual_seq_lengths",
        "actual_seq_kvlen": "actual_seq_lengths_kv",
        "learnable_sink": "sink",
        "return_softmax_lse": "softmax_lse_flag",
    }
    return infer(query, key, value, **{names.get(name, name): value for name, value in keywords.items()})


def paged(query, key_cache, value_cache, num_kv_heads, num_heads, scale, block_table, context_lens, out):
    size, rows = key_cache.shape[1], []
    for token in range(query.shape[0]):
        places = [(int(block_table[token, p // size]), p % size) for p in range(int(context_lens[token]))]
        key, value = (torch.stack([cache[block, row] for block, row in places], 1) for cache in (key_cache, value_cache))
        rows.append(rows_of_attention(query[token][:, None], key, value, scale)[0][:, 0])
    return [torch.stack(rows)]


def record_padded(calls, dtype, batch, rows, length, heads, key_heads, width):
    name, scale = "npu_fused_infer_attention_score", 1 / math.sqrt(width)
    query = normal(batch, rows, heads * width, dtype=dtype)
    key, value = (normal(batch, length, key_heads * width, dtype=dtype) for _ in range(2))
    base = {"num_heads": heads, "num_key_value_heads": key_heads, "scale": scale}
    lengths = [length - 3 * b for b in range(batch)]
    query_lengths = [rows - (2 * b if rows > 2 else 0) for b in range(batch)]
    faults = [("wrong scale", [query, key, value], {**base, "scale": 1.05 * scale}), ("stale values", [query, key, value.roll(1, 1)], base)]
    calls.case(name, infer, [query, key, value], {**base, "softmax_lse_flag": True}, faults)
    limited = {**base, "actual_seq_lengths": query_lengths, "actual_seq_lengths_kv": lengths, "softmax_lse_flag": True}
    ignored = {**base, "actual_seq_lengths": query_lengths}
    calls.case(name, infer, [query, key, value], limited, [("length ignored", [query, key, value], ignored)], spoil=False)
    if rows > 1:
        for mode in ({"sparse_mode": 2}, {"sparse_mode": 3}, {"sparse_mode": 4, "pre_tokens": 20, "next_tokens": 0}):
            masked = {**base, **mode, "atten_mask": TRIANGLE}
            calls.case(name, infer, [query, key, value], masked, [("mask lost", [query, key, value], base)])
        given = {**base, "atten_mask": torch.rand(batch, 1, rows, length, generator=GENERATOR) > 0.7}
        calls.case(name, infer, [query, key, value], given, [("mask lost", [query, key, value], base)])
        more_rows = [query, key[:, : rows - 2], value[:, : rows - 2]]
        calls.case(name, infer, more_rows, {**base, "sparse_mode": 3, "atten_mask": TRIANGLE})
    split = [query.unflatten(2, (heads, width)), *(t.unflatten(2, (key_heads, width)) for t in (key, value))]
    for layout in ("BSND", "BSND_NBSD", "BNSD", "BNSD_BSND"):
        args = [t.transpose(1, 2).contiguous() for t in split] if layout.startswith("BNSD") else split
        calls.case(name, infer, args, {**base, "input_layout": layout}, spoil=layout == "BSND")
    rope = [normal(batch, rows, heads, 16, dtype=dtype), normal(batch, length, 1, 16, dtype=dtype)]
    latent = normal(batch, length, 1, width, dtype=dtype)
    mla = {"num_heads": heads, "num_key_value_heads": 1, "scale": scale, "input_layout": "BSND", "query_rope": rope[0], "key_rope": rope[1]}
    pairs = rope[0].unflatten(-1, (8, 2)).flip(-1).flatten(-2)
    faults = [("rope pairs exchanged", [split[0], latent, latent], {**mla, "query_rope": pairs})]
    calls.case(name, infer, [split[0], latent, latent], mla, faults)


def record_packed_and_paged(calls, dtype, batch, rows, length, heads, key_heads, width):
    name, scale = "npu_fused_infer_attention_score_v2", 1 / math.sqrt(width)
    base = {"num_query_heads": heads, "num_key_value_heads": key_heads, "softmax_scale": scale}
    query_lengths, lengths = [rows] * batch, [length - 3 * b for b in range(batch)]
    ends, key_ends = ([sum(each[: b + 1]) for b in range(batch)] for each in (query_lengths, lengths))
    query = normal(ends[-1] + 2, heads, width, dtype=dtype)
    key, value = (normal(key_ends[-1], key_heads, width, dtype=dtype) for _ in range(2))
    packed = {**base, "input_layout": "TND", "actual_seq_qlen": ends, "actual_seq_kvlen": key_ends}
    with_mask = {**packed, "sparse_mode": 3, "atten_mask": TRIANGLE, "return_softmax_lse": True}
    calls.case(name, second_version, [query, key, value], with_mask, written=ends[-1] * heads)
    sink = normal(heads).bfloat16() + 2
    faults = [("sink lost", [query, key, value], packed)]
    calls.case(name, second_version, [query, key, value], {**packed, "learnable_sink": sink}, faults, written=ends[-1] * heads)
    size, pages = 16, -(-length // 16)
    blocks = torch.randperm(batch * pages + 3, generator=GENERATOR)
    table = blocks[: batch * pages].reshape(batch, pages).to(torch.int32)
    stale = table.clone()
    stale[:, pages // 2] = int(blocks[-1])
    cache = [normal(batch * pages + 3, size, key_heads * width, dtype=dtype) for _ in range(2)]
    query = normal(batch, rows, heads * width, dtype=dtype)
    paging = {**base, "block_table": table, "block_size": size, "actual_seq_kvlen": lengths, "return_softmax_lse": True}
    calls.case(name, second_version, [query, *cache], paging, [("stale block", [query, *cache], {**paging, "block_table": stale})])
    split = [each.unflatten(2, (key_heads, width)) for each in cache]
    query = normal(batch, heads, width, dtype=dtype)
    args = [query, *split, key_heads, heads, scale, table, torch.tensor(lengths, dtype=torch.int32), torch.zeros_like(query)]
    other = [*args[:6], stale, *args[7:]]
    calls.case("_npu_paged_attention", paged, args, {}, [("stale block", other, {})], changes="8")


def sparse(query, key, value, sparse_indices, scale_value, query_rope=None, key_rope=None, sparse_block_size=1, attention_mode=2):
    y = torch.zeros_like(query)
    length, rows = key.shape[1], query.shape[1]
    for batch, i in itertools.product(range(query.shape[0]), range(rows)):
        blocks = [block for block in sparse_indices[batch, i, 0].tolist() if block >= 0]
        keys = [block * sparse_block_size + j for block in blocks for j in range(sparse_block_size)]
        keys = torch.tensor([k for k in keys if k < length and k <= length - rows + i], dtype=torch.long)
        if keys.numel() == 0:
            y[batch, i] = math.nan
            continue
        q = torch.cat([query[batch, i], query_rope[batch, i]], -1)[:, None]
        k = torch.cat([key[batch, keys, 0], key_rope[batch, keys, 0]], -1)[None]
        y[batch, i] = rows_of_attention(q, k, value[batch, keys, 0][None], scale_value)[0][:, 0]
    return [y, torch.zeros(1), torch.zeros(1)]


def record_sparse(calls, dtype):
    for batch, rows, length, heads, count, block in ((1, 3, 40, 4, 16, 1), (2, 5, 193, 2, 64, 1), (1, 4, 64, 4, 6, 8)):
        query, key = normal(batch, rows, heads, 64, dtype=dtype), normal(batch, length, 1, 64, dtype=dtype)
        rope = normal(batch, rows, heads, 16, dtype=dtype)
        chosen = torch.full((batch, rows, 1, count), -1, dtype=torch.int32)
        for b, i in itertools.product(range(batch), range(rows)):
            some = max(1, count - i)
            chosen[b, i, 0, :some] = torch.randperm(length // block, generator=GENERATOR)[:some]
        keywords = {
            "query_rope": rope,
            "key_rope": normal(batch, length, 1, 16, dtype=dtype),
            "attention_mode": 2,
            "sparse_block_size": block,
        }
        pairs = rope.unflatten(-1, (8, 2)).flip(-1).flatten(-2)
        shifted = torch.where(chosen >= 0, (chosen + 1) % (length // block), chosen)
        faults = [
            ("neighbour's block", [query, key, key, shifted, 0.1], keywords),
            ("rope pairs exchanged", [query, key, key, chosen, 0.1], {**keywords, "query_rope": pairs}),
        ]
        calls.case("npu_sparse_flash_attention", sparse, [query, key, key, chosen, 0.1], keywords, faults)


def record(calls):
    for dtype in HALVES:
        for sizes in ((1, 1, 191, 4, 2, 64), (2, 5, 193, 4, 4, 32), (2, 7, 64, 8, 1, 64), (1, 192, 192, 2, 2, 64)):
            record_padded(calls, dtype, *sizes)
            record_packed_and_paged(calls, dtype, *sizes)
        record_sparse(calls, dtype)
