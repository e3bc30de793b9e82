# SPDX-License-Identifier: Apache-2.0
"""Attention of inference and training, on pages, on chosen keys, in parts; scores of keys."""

import itertools
import math

import torch
from arithmetic import BF16, F16, F32, I32
from trial import Output, Trial

TRIANGLE = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1)
INT_MAX = 2**31 - 1


def heads_of(device, q, k, v, scale, hidden=None, pse=None, pse_first=False, sink=None, rounds=True, key_error=0):
    """(heads, rows, width) of one sequence: float32 results, the logarithm of the sums, and which rows see a key."""
    each = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(each, 0), v.repeat_interleave(each, 0)
    scores = device.product(q, k.transpose(1, 2))
    if pse is not None:
        scores = (scores + pse.float()) * scale if pse_first else scores * scale + pse.float()
    else:
        scores = scores * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    if scores.shape[-1] == 0:
        return torch.zeros(*q.shape[:2], v.shape[-1]), torch.zeros(*q.shape[:2], 1), torch.zeros(q.shape[:2], dtype=torch.bool)
    seen = scores.amax(-1) > -math.inf
    if sink is not None:
        extended = torch.cat([scores, sink.float()[:, None, None].expand(-1, scores.shape[1], 1)], -1)
        weights, lse = device.softmax(extended)
        weights = weights[..., :-1]
    else:
        weights, lse = device.softmax(scores)
    if rounds and q.dtype != F32:
        weights = weights.to(v.dtype)
    return device.product(weights, v), lse, seen


def split(t, layout, heads):
    """(batch, heads, rows, width)"""
    if layout == "BSH":
        return t.unflatten(2, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return t.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)
    return {"BSND": lambda: t.transpose(1, 2), "BNSD": lambda: t, "TND": lambda: t.transpose(0, 1)[None], "NTD": lambda: t[None]}[layout]()


def joined(t, layout):
    if layout == "BSH":
        return t.transpose(1, 2).flatten(2)
    if layout == "SBH":
        return t.permute(2, 0, 1, 3).flatten(2)
    return {
        "BSND": lambda: t.transpose(1, 2),
        "BNSD": lambda: t,
        "NBSD": lambda: t.transpose(0, 1),
        "TND": lambda: t[0].transpose(0, 1),
        "NTD": lambda: t[0],
    }[layout]().contiguous()


def hidden_by(mask, mode, rows, keys, batch, pre, after, rope):
    if mask is None:
        return None
    if mode in (2, 3, 4):
        if rows == 1 and not rope:
            return None
        away = torch.arange(keys)[None] - torch.arange(rows)[:, None]
        corner = keys - rows
        if mode == 4:
            return (away > corner + after) | (away < corner - pre)
        return away > (corner if mode == 3 else 0)
    while mask.dim() < 4:
        mask = mask[None]
    return mask[min(batch, mask.shape[0] - 1), 0, :rows, :keys].bool()


def infer(device, g):
    layout, _, out_layout = g["input_layout"].partition("_")
    out_layout = out_layout or layout
    n, kn = g["_heads"], g["_key_heads"]
    packed = layout in ("TND", "NTD")
    q = split(g["query"], layout, n)
    if g["query_rope"] is not None:
        q = torch.cat([q, split(g["query_rope"], layout, n)], -1)
    q_ends, k_lengths = g["_q"], g["_k"]

    def sequences(t):
        if g["block_table"] is not None:
            size = g["block_size"]
            for batch, length in enumerate(k_lengths):
                pages = [g["block_table"][batch, p // size] for p in range(length)]
                rows = [page_row(t[int(page)], p % size, kn) for p, page in enumerate(pages)]
                yield torch.stack(rows, 1) if rows else torch.zeros(kn, 0, t.numel() // t.shape[0] // size // kn, dtype=t.dtype)
            return
        heads = split(t, layout, kn)
        if packed:
            yield from (heads[0][:, a:b] for a, b in itertools.pairwise([0, *k_lengths]))
        else:
            for batch in range(heads.shape[0]):
                length = heads.shape[2] if k_lengths is None else k_lengths[min(batch, len(k_lengths) - 1)]
                yield heads[batch, :, :length]

    keys, values = list(sequences(g["_key"])), list(sequences(g["_value"]))
    if g["key_rope"] is not None:
        keys = [torch.cat(pair, -1) for pair in zip(keys, sequences(g["key_rope"]))]
    width = values[0].shape[-1]
    y, lse = torch.zeros(*q.shape[:3], width), torch.zeros(*q.shape[:3], 1)
    written, written_lse = torch.zeros(*q.shape[:3], 1, dtype=torch.bool), torch.zeros(*q.shape[:3], 1, dtype=torch.bool)
    for i, (k, v) in enumerate(zip(keys, values)):
        if packed:
            b, first, last = 0, ([0, *q_ends])[i], q_ends[i]
        else:
            b, first, last = i, 0, q.shape[2] if q_ends is None else q_ends[min(i, len(q_ends) - 1)]
        rows = last - first
        hidden = hidden_by(
            g["atten_mask"], g["sparse_mode"], rows, k.shape[1], i, g["pre_tokens"], g["next_tokens"], g["query_rope"] is not None
        )
        pse = None if g["pse_shift"] is None else g["pse_shift"][min(i, g["pse_shift"].shape[0] - 1)][:, :rows, : k.shape[1]]
        part, sums, seen = heads_of(
            device, q[b][:, first:last], k.to(q.dtype), v.to(q.dtype), g["_scale"], hidden, pse, g["_pse_first"], g["_sink"]
        )
        y[b][:, first:last], lse[b][:, first:last] = part.float(), sums
        zero_rows = g["sparse_mode"] == 3 or k.shape[1] == 0 or (g["inner_precise"] & 2) != 0
        written[b][:, first:last] = seen.unsqueeze(-1) | zero_rows
        written_lse[b][:, first:last] = seen.unsqueeze(-1)
    y, rows = joined(y, out_layout), joined(written.expand(-1, -1, -1, 1), out_layout)
    if g["_quant"] is not None:
        y = device.int8(y * g["_quant"])
    else:
        y = y.to(g["query"].dtype)
    if out_layout == "BSH":  # a row of the result holds all heads
        rows = rows.reshape(*rows.shape[:2], -1).all(-1)
    if g["_lse"]:
        of_lse = lse[0].transpose(0, 1) if packed else lse
        lse_rows = (written_lse[0].transpose(0, 1) if packed else written_lse).reshape(-1)
        shown = Output(of_lse.contiguous(), lse_rows if g["_sink"] is None else lse_rows & False, spoil=g["_sink"] is None)
    else:
        shown = Output(torch.zeros(1), torch.zeros(1, dtype=torch.bool), spoil=False)
    return [Output(y, rows.reshape(-1)), shown]


def page_row(page, row, heads):
    """(key heads, width) of one position in a page."""
    if page.dim() == 2:  # (size, heads * width)
        return page[row].reshape(heads, -1)
    if page.dim() == 4:  # (heads, width / 16, size, 16)
        return page[:, :, row].flatten(1)
    return page[:, row]  # (heads, size, width)


def as_pages(made, sequences, lengths, size, form):
    """Keys of sequences (heads, length, width) in pages of a cache, and the table."""
    heads, _, width = sequences[0].shape
    counts = [max(1, -(-length // size)) for length in lengths]
    order = made.order(sum(counts) + 3)
    table = torch.zeros(len(lengths), max(counts), dtype=I32)
    cache = made.normal(len(order), heads, size, width, dtype=sequences[0].dtype)
    place = 0
    for i, (sequence, length, count) in enumerate(zip(sequences, lengths, counts)):
        for j in range(count):
            table[i, j] = int(order[place])
            some = sequence[:, j * size : min(length, j * size + size)]
            cache[int(order[place]), :, : some.shape[1]] = some
            place += 1
    if form == "BSH":
        return cache.transpose(1, 2).flatten(2), table
    if form == "NZ":
        return cache.unflatten(-1, (-1, 16)).permute(0, 1, 3, 2, 4).contiguous(), table
    return cache, table


FIRST = {
    "_q": "actual_seq_lengths",
    "_k": "actual_seq_lengths_kv",
    "_heads": "num_heads",
    "_scale": "scale",
    "_lse": "softmax_lse_flag",
    "_quant": "quant_scale2",
}
SECOND = {
    "_q": "actual_seq_qlen",
    "_k": "actual_seq_kvlen",
    "_heads": "num_query_heads",
    "_scale": "softmax_scale",
    "_lse": "return_softmax_lse",
    "_quant": "quant_scale_out",
    "_sink": "learnable_sink",
}


def infer_trial(made, second=False):
    dtype = made.pick(F16, BF16)
    heads, key_heads = made.pick((4, 4), (4, 2), (8, 1))
    width, batch = made.pick(32, 64), made.pick(1, 2, 3)
    paged = made.pick(True, False)
    packed = made.pick(True, False)
    rows = made.pick(1, 1, 5, 33) if paged else made.pick(1, 7, 64, 65)
    keys = made.pick(17, 64, 191, 193)
    layout = (
        made.pick("TND", "NTD")
        if packed and made.pick(True, False)
        else "TND"
        if packed
        else made.pick("BSH", "BSND", "BNSD", "BNSD_BSND", "BNSD_NBSD", "BSND_NBSD")
    )
    if paged and packed:
        layout = "TND"
    lengths = [max(rows, keys - 5 * i) for i in range(batch)]
    q_lengths = [max(1, rows - i) for i in range(batch)]
    rope = 16 if made.pick(True, False, False) else 0
    base = {
        "query_rope": None,
        "key_rope": None,
        "block_table": None,
        "block_size": 0,
        "pse_shift": None,
        "atten_mask": None,
        "sparse_mode": 0,
        "pre_tokens": INT_MAX,
        "next_tokens": INT_MAX,
        "inner_precise": 0,
        "input_layout": layout,
        "num_key_value_heads": key_heads,
        "_key_heads": key_heads,
        "_heads": heads,
        "_scale": 1 / math.sqrt(width),
        "_lse": made.pick(True, False),
        "_quant": None,
        "_sink": None,
        "_pse_first": made.pick(True, False),
    }
    first = layout.split("_")[0]
    total_q, total_k = sum(q_lengths), sum(lengths)

    def fresh(n, count, w, ragged):
        if packed:
            return made.normal(n, ragged, w, dtype=dtype) if layout == "NTD" else made.normal(ragged, n, w, dtype=dtype)
        shape = {"BSH": (batch, count, n * w), "BSND": (batch, count, n, w), "BNSD": (batch, n, count, w)}[first]
        return made.normal(*shape, dtype=dtype)

    g = {**base, "query": fresh(heads, rows, width, total_q)}
    if rope:
        g["query_rope"] = fresh(heads, rows, rope, total_q)
    if paged:
        size = made.pick(16, 32)
        form = made.pick("BSH", "BNSD")
        cut = [made.normal(key_heads, length, width, dtype=dtype) for length in lengths]
        g["_key"], g["block_table"] = as_pages(made, cut, lengths, size, form)
        g["_value"] = made.normal(*g["_key"].shape, dtype=dtype)
        if rope:
            shape = list(g["_key"].shape)
            shape[-1] = shape[-1] // width * rope
            g["key_rope"] = made.normal(*shape, dtype=dtype)
        g |= {"block_size": size, "_k": lengths}
    else:
        most = max(lengths)
        g["_key"], g["_value"] = fresh(key_heads, most, width, total_k), fresh(key_heads, most, width, total_k)
        if rope:
            g["key_rope"] = fresh(key_heads, most, rope, total_k)
        g["_k"] = list(itertools.accumulate(lengths)) if packed else (lengths if made.pick(True, False) else None)
    if paged and g["_k"] is None:
        g["_k"] = lengths
    g["_q"] = list(itertools.accumulate(q_lengths)) if packed else (q_lengths if made.pick(True, False) else None)
    g["key"], g["value"] = g["_key"], g["_value"]
    masked = made.pick(None, 0, 3, 2, 4)
    if masked == 0 and not packed:
        mask = torch.rand(batch, 1, rows, max(lengths), generator=made.generator) < 0.3
        g |= {"atten_mask": mask}
    elif masked:
        g |= {"atten_mask": TRIANGLE, "sparse_mode": masked}
        if masked == 4:
            g |= {"pre_tokens": made.pick(5, 40), "next_tokens": made.pick(0, 3)}
    if not packed and not paged and made.pick(True, False, False):
        g["pse_shift"] = made.normal(1, heads, rows, max(lengths), dtype=dtype)
    if made.pick(True, False, False, False) and not g["_lse"]:
        g["_quant"] = made.between(30, 60, 1)
    if second and layout in ("TND", "NTD") and made.pick(True, False):
        g["_sink"] = made.normal(heads, dtype=BF16)
    for hidden, name in (SECOND if second else FIRST).items():
        if hidden in g:
            g[name] = g[hidden]
    if second:
        g.pop("_unused", None)
    faults = [
        ("wrong scale", {"_scale": 1.2 * g["_scale"]}),
        ("stale values", {"_value": g["_value"].roll(1, 1 if layout != "TND" else 0)}),
        ("heads exchanged", {"_key": g["_key"].flip(-1)}),
    ]
    if paged:
        faults.append(
            (
                "neighbour's page",
                {
                    "block_table": g["block_table"].roll(1, 1)
                    if g["block_table"].shape[1] > 1
                    else (g["block_table"] + 1) % g["_key"].shape[0]
                },
            )
        )
    if g["_k"] and not packed and min(g["_k"]) > 1:
        faults.append(("one key too few", {"_k": [k - 1 for k in g["_k"]]}))
    if rope:
        pairs = g["query_rope"].unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        faults.append(("rope pairs exchanged", {"query_rope": pairs}))
    if masked in (2, 3, 4):
        faults.append(("mask lost", {"atten_mask": None}))
    name = "npu_fused_infer_attention_score" + ("_v2" if second else "")
    return Trial(name, ["query", "key", "value"], g, infer, faults)


def second_infer_trial(made):
    return infer_trial(made, True)


def paged(device, g):
    rows = []
    for t in range(g["query"].shape[0]):
        size = g["key_cache"].shape[1]
        places = [(int(g["block_table"][t, p // size]), p % size) for p in range(int(g["context_lens"][t]))]
        k, v = (torch.stack([g[name][a, b] for a, b in places], 1) for name in ("key_cache", "value_cache"))
        rows.append(heads_of(device, g["query"][t][:, None], k, v, g["scale_value"])[0][:, 0])
    return [Output(torch.stack(rows).to(g["query"].dtype))]


def paged_trial(made):
    dtype, tokens, (n, kn) = made.pick(F16, BF16), made.pick(1, 3, 17), made.pick((4, 4), (8, 2))
    width, size, blocks = made.pick(32, 64), 16, 24
    lens = made.whole(1, 64, tokens, dtype=I32)
    table = torch.stack([made.order(blocks)[:4] for _ in range(tokens)]).to(I32)
    g = {
        "query": made.normal(tokens, n, width, dtype=dtype),
        "key_cache": made.normal(blocks, size, kn, width, dtype=dtype),
        "value_cache": made.normal(blocks, size, kn, width, dtype=dtype),
        "num_kv_heads": kn,
        "num_heads": n,
        "scale_value": width**-0.5,
        "block_table": table,
        "context_lens": lens,
        "out": torch.zeros(tokens, n, width, dtype=dtype),
    }
    faults = [
        ("stale page", {"block_table": table.roll(1, 1)}),
        ("one key too few", {"context_lens": (lens - 1).clamp(min=1)}),
        ("neighbour's page", {"block_table": (table + 1) % blocks}),
        ("wrong scale", {"scale_value": 1.3 * width**-0.5}),
    ]
    positional = list(g)
    return Trial("_npu_paged_attention", positional, g, paged, faults, in_place="8")


def update(device, g):
    lse = torch.stack(g["lse"])
    m = lse.amax(0) + torch.log(torch.exp(lse - lse.amax(0)).sum(0))
    out = sum(
        part.float() * torch.exp(one - m).unsqueeze(-1)
        for part, one in list(zip(g["local_out"], g["lse"]))[: -1 if device.loses_terms and len(lse) > 1 else None]
    )
    return [
        Output(out.to(g["local_out"][0].dtype)),
        Output(m, None if g["update_type"] == 1 else torch.zeros(m.shape, dtype=torch.bool), spoil=g["update_type"] == 1),
    ]


def update_trial(made):
    parts, n, d = made.pick(1, 2, 8), made.pick(1, 17, 193), made.pick(64, 128)
    dtype = made.pick(F32, F32, BF16, F16)
    g = {
        "lse": [made.normal(n, size=3) for _ in range(parts)],
        "local_out": [made.normal(n, d, dtype=dtype) for _ in range(parts)],
        "update_type": made.pick(0, 1),
    }
    faults = [
        ("weights of the next row", {"lse": [t.roll(1) for t in g["lse"][:1]] + g["lse"][1:]}),
        ("parts exchanged", {"local_out": g["local_out"][1:] + g["local_out"][:1]}),
    ]
    return Trial("npu_attention_update", ["lse", "local_out", "update_type"], g, update, faults)


def fusion(device, g):
    layout, n = g["input_layout"], g["head_num"]
    packed = layout == "TND"
    kn = g["_key_heads"]
    q, k, v = split(g["query"], layout, n), split(g["key"], layout, kn), split(g["value"], layout, kn)
    if g["query_rope"] is not None:
        q, k = torch.cat([q, split(g["query_rope"], layout, n)], -1), torch.cat([k, split(g["key_rope"], layout, kn)], -1)
    y = torch.zeros(*q.shape[:3], v.shape[-1])
    parts = (
        [
            (0, a, b, c, d)
            for (a, b), (c, d) in zip(itertools.pairwise([0, *g["actual_seq_qlen"]]), itertools.pairwise([0, *g["actual_seq_kvlen"]]))
        ]
        if packed
        else [(i, 0, q.shape[2], 0, k.shape[2]) for i in range(q.shape[0])]
    )
    largest, sums = torch.zeros(*q.shape[:3], 8), torch.zeros(*q.shape[:3], 8)
    for i, (b, a, z, c, e) in enumerate(parts):
        hidden = hidden_by(g["atten_mask"], g["sparse_mode"], z - a, e - c, i, g["pre_tokens"], g["next_tokens"], True)
        pse = None if g["pse"] is None else g["pse"][min(i, g["pse"].shape[0] - 1)]
        part, _, seen = heads_of(device, q[b][:, a:z], k[b][:, c:e], v[b][:, c:e], g["scale"], hidden, pse, g["pse_type"] == 1, g["sink"])
        y[b][:, a:z] = part.float()
    none = torch.zeros(0)
    hide = [
        Output(joined(t, "TND").contiguous() if packed else t, torch.zeros(t.numel() // 8, dtype=torch.bool), spoil=False)
        for t in (largest, sums)
    ]
    return [Output(joined(y, layout).to(g["query"].dtype)), *hide, Output(none, spoil=False)]


def fusion_trial(made):
    dtype, (n, kn), width = made.pick(F16, BF16), made.pick((4, 4), (4, 2)), made.pick(32, 64)
    layout = made.pick("BSH", "SBH", "BSND", "BNSD", "TND")
    batch, rows, keys = made.pick(1, 2), made.pick(1, 33, 64, 193), made.pick(64, 65)
    ends = made.ends(3, rows) if layout == "TND" else None
    k_ends = [keys * (i + 1) for i in range(3)] if ends else None

    def fresh(heads, count, w):
        shape = {
            "BSH": (batch, count, heads * w),
            "SBH": (count, batch, heads * w),
            "BSND": (batch, count, heads, w),
            "BNSD": (batch, heads, count, w),
            "TND": (count, heads, w),
        }[layout]
        return made.normal(*shape, dtype=dtype)

    total = keys * 3 if ends else keys
    rope = layout != "SBH" and made.pick(True, False, False)
    g = {
        "query": fresh(n, rows, width),
        "key": fresh(kn, total, width),
        "value": fresh(kn, total, width),
        "head_num": n,
        "input_layout": layout,
        "_key_heads": kn,
        "query_rope": None,
        "key_rope": None,
        "scale": width**-0.5,
        "pse": None,
        "pse_type": made.pick(0, 1),
        "atten_mask": None,
        "sparse_mode": 0,
        "pre_tokens": INT_MAX,
        "next_tokens": INT_MAX,
        "sink": None,
        "actual_seq_qlen": ends,
        "actual_seq_kvlen": k_ends,
    }
    if rope:
        g |= {"query_rope": fresh(n, rows, 16), "key_rope": fresh(kn, total, 16)}
    faults = [
        ("wrong scale", {"scale": 1.3 * g["scale"]}),
        ("stale values", {"value": g["value"].roll(1, 0 if layout in ("SBH", "TND") else 2 if layout == "BNSD" else 1)}),
    ]
    form = made.pick("none", "mask", "causal", "pse", "sink")
    if form == "mask" and layout != "TND":
        g["atten_mask"] = torch.rand(batch, 1, rows, keys, generator=made.generator) < 0.3
        g["atten_mask"][..., 0] = False
    elif form == "causal" and keys >= rows:
        g |= {"atten_mask": TRIANGLE, "sparse_mode": made.pick(2, 3)}
        faults.append(("mask lost", {"atten_mask": None}))
    elif form == "pse" and layout != "TND":
        g["pse"] = made.normal(batch, n, rows, keys, dtype=dtype)
        faults.append(("pse lost", {"pse": None}))
    elif form == "sink":
        g["sink"] = made.normal(n)
        faults.append(("sink lost", {"sink": None}))
    if rope:
        faults.append(("rope pairs exchanged", {"query_rope": g["query_rope"].unflatten(-1, (-1, 2)).flip(-1).flatten(-2)}))
    return Trial("npu_fusion_attention_v2", ["query", "key", "value", "head_num", "input_layout"], g, fusion, faults)


def chosen_parts(g, key_name):
    """(batch, first row, rows, keys of the sequence as (1, keys, width))"""
    q = g["query"]
    lengths = g["actual_seq_lengths_kv" if key_name == "sparse" else "actual_seq_lengths_key"]
    lengths = None if lengths is None else lengths.tolist()
    key = g["_key"]
    if g["layout_query"] == "TND":
        ends = [0, *g["actual_seq_lengths_query"].tolist()]
        for i, (a, b) in enumerate(itertools.pairwise(ends)):
            yield i, a, b - a, keys_of(g, key, i, lengths)
    else:
        for i in range(q.shape[0]):
            yield i, 0, q.shape[1], keys_of(g, key, i, lengths)


def keys_of(g, key, i, lengths):
    if g["block_table"] is not None:
        size = key.shape[1]
        return torch.stack([key[int(g["block_table"][i, p // size]), p % size, 0] for p in range(lengths[i])])
    if g["_packed"]:
        ends = [0, *lengths]
        return key[ends[i] : ends[i + 1], 0]
    return key[i, : lengths[i] if lengths else None, 0]


def sparse(device, g):
    q, rope = g["query"], g["query_rope"]
    packed = g["layout_query"] == "TND"
    y = torch.zeros(q.shape)
    written = torch.zeros(q.shape[:-1], dtype=torch.bool)
    n = g["sparse_block_size"]
    ropes = {**g, "_key": g["_key_rope"]}
    for (i, first, rows, keys), (_, _, _, of_rope) in zip(chosen_parts(g, "sparse"), chosen_parts(ropes, "sparse")):
        whole = torch.cat([keys, of_rope], -1)
        for r in range(rows):
            at = (first + r,) if packed else (i, r)
            blocks = g["sparse_indices"][at][0].tolist()
            places = [
                b * n + j
                for b in blocks
                if b >= 0
                for j in range(n)
                if b * n + j < keys.shape[0] and (g["sparse_mode"] != 3 or b * n + j <= keys.shape[0] - rows + r)
            ]
            if not places:
                continue
            query = torch.cat([q[at], rope[at]], -1)
            part = heads_of(device, query[:, None], whole[places][None], keys[places][None], g["scale_value"])[0][:, 0]
            y[at], written[at] = part.float(), True
    hide = [Output(torch.zeros(1), torch.zeros(1, dtype=torch.bool), spoil=False) for _ in range(2)]
    return [Output(y.to(q.dtype), written.reshape(-1)), *hide]


def key_form(made, batch, keys, width, dtype, form):
    if form == "pages":
        size = 16
        table = torch.stack([made.order(batch * 16)[: -(-keys // size)] for _ in range(batch)]).to(I32)
        return made.normal(batch * 16, size, 1, width, dtype=dtype), table
    return (made.normal(batch * keys, 1, width, dtype=dtype) if form == "packed" else made.normal(batch, keys, 1, width, dtype=dtype)), None


def sparse_trial(made):
    dtype, batch, rows, heads = made.pick(F16, BF16), made.pick(1, 2), made.pick(1, 3, 5), made.pick(4, 8)
    keys, n, count = made.pick(40, 191, 193), made.pick(1, 1, 8), made.pick(4, 16)
    form = made.pick("plain", "packed", "pages")
    packed = form == "packed"
    lead = (batch * rows,) if packed else (batch, rows)
    key, table = key_form(made, batch, keys, 64, dtype, form)
    of_rope = made.normal(*key.shape[:-1], 16, dtype=dtype)
    chosen = torch.full((*lead, 1, count), -1, dtype=I32)
    for at in itertools.product(*(range(s) for s in lead)):
        some = made.choice.randint(1, min(count, keys // n))
        chosen[at][0, :some] = made.order(keys // n)[:some].to(I32)
    lengths = torch.tensor(list(itertools.accumulate([keys] * batch)) if packed else [keys] * batch, dtype=I32)
    g = {
        "query": made.normal(*lead, heads, 64, dtype=dtype),
        "key": key,
        "value": key,
        "sparse_indices": chosen,
        "scale_value": 0.1,
        "query_rope": made.normal(*lead, heads, 16, dtype=dtype),
        "key_rope": of_rope,
        "_key": key,
        "_key_rope": of_rope,
        "_packed": packed,
        "block_table": table,
        "sparse_block_size": n,
        "sparse_mode": made.pick(0, 3),
        "attention_mode": 2,
        "layout_query": "TND" if packed else "BSND",
        "layout_kv": {"packed": "TND", "plain": "BSND", "pages": "PA_BSND"}[form],
        "actual_seq_lengths_kv": lengths if form != "plain" else None,
        "actual_seq_lengths_query": torch.tensor([rows * (i + 1) for i in range(batch)], dtype=I32) if packed else None,
    }
    shifted = torch.where(chosen >= 0, (chosen + 1) % (keys // n), chosen)
    faults = [
        ("neighbour's block", {"sparse_indices": shifted}),
        ("rope pairs exchanged", {"query_rope": g["query_rope"].unflatten(-1, (-1, 2)).flip(-1).flatten(-2)}),
        ("wrong scale", {"scale_value": 0.15}),
    ]
    if table is not None:
        faults.append(("stale page", {"block_table": table.roll(1, 1)}))
    return Trial("npu_sparse_flash_attention", ["query", "key", "value", "sparse_indices", "scale_value"], g, sparse, faults)


def indexer(device, g):
    q = g["query"]
    packed, count = g["layout_query"] == "TND", g["sparse_count"]
    lead = q.shape[:-2]
    best, values = torch.full((*lead, 1, count), -1, dtype=I32), torch.zeros(*lead, 1, count)
    written = torch.zeros(*lead, 1, count, dtype=torch.bool)
    for i, first, rows, keys in chosen_parts(g, "index"):
        for r in range(rows):
            at = (first + r,) if packed else (i, r)
            scores = device.sum(torch.relu(device.product(q[at], keys.t())) * g["weights"][at].float()[:, None], 0)
            seen = keys.shape[0] - rows + r + 1 if g["sparse_mode"] == 3 else keys.shape[0]
            order = torch.argsort(scores[:seen], descending=not g["_worst"], stable=True)[:count]
            if g["_shuffled"]:
                order = order[torch.tensor(g["_shuffled"](len(order)), dtype=torch.long)] if len(order) else order
            best[at][0, : len(order)], values[at][0, : len(order)] = order.to(I32), scores[order]
            written[at][0, : len(order)] = True
    shown = (
        Output(values.to(q.dtype), spoil=False)
        if g["return_value"]
        else Output(torch.zeros(1), torch.zeros(1, dtype=torch.bool), spoil=False)
    )
    return [Output(best, spoil=False), shown]


def indexer_trial(made):
    dtype, batch, rows, heads = made.pick(F16, BF16), made.pick(1, 2), made.pick(1, 3, 5), made.pick(4, 8)
    keys, count, form = made.pick(64, 191, 193), made.pick(8, 32, 256), made.pick("plain", "packed", "pages")
    packed = form == "packed"
    lead = (batch * rows,) if packed else (batch, rows)
    key, table = key_form(made, batch, keys, 128, dtype, form)
    orders = [made.order(count).tolist() for _ in range(64)]
    shuffled = made.pick(True, False)
    lengths = torch.tensor(list(itertools.accumulate([keys] * batch)) if packed else [keys] * batch, dtype=I32)
    g = {
        "query": made.normal(*lead, heads, 128, dtype=dtype),
        "key": key,
        "_key": key,
        "weights": made.between(0.1, 2, *lead, heads, dtype=made.pick(dtype, F32)),
        "_packed": packed,
        "block_table": table,
        "sparse_count": count,
        "sparse_mode": made.pick(0, 3),
        "return_value": made.pick(True, False),
        "layout_query": "TND" if packed else "BSND",
        "layout_key": {"packed": "TND", "plain": "BSND", "pages": "PA_BSND"}[form],
        "actual_seq_lengths_key": lengths if form != "plain" else None,
        "actual_seq_lengths_query": torch.tensor([rows * (i + 1) for i in range(batch)], dtype=I32) if packed else None,
        "_worst": False,
        "_shuffled": (lambda n: [i for i in orders[n % 64] if i < n]) if shuffled else None,
    }
    faults = []
    if count < keys - rows:
        faults = [
            ("worst keys", {"_worst": True}),
            ("stale keys", {"_key": key.flip(0 if form == "pages" else -3 if form != "packed" else 0)}),
            ("neighbour's weights", {"weights": g["weights"].roll(1, -1)}),
        ]
        if table is not None:
            faults.append(("stale page", {"block_table": table.roll(1, 1)}))
    return Trial("npu_lightning_indexer", ["query", "key", "weights"], g, indexer, faults, single_fault=False, unordered=True)


FORMS = {
    "npu_fused_infer_attention_score": [infer_trial],
    "npu_fused_infer_attention_score_v2": [second_infer_trial],
    "_npu_paged_attention": [paged_trial],
    "npu_attention_update": [update_trial],
    "npu_fusion_attention_v2": [fusion_trial],
    "npu_sparse_flash_attention": [sparse_trial],
    "npu_lightning_indexer": [indexer_trial],
}
