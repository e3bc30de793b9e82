# SPDX-License-Identifier: Apache-2.0
"""The choice of experts and of keys, and the loss."""

import itertools
import math

import torch
from recorder import GENERATOR, HALVES, normal, uniform, unwritten

FLOATS = (*HALVES, torch.float32)


def gating(x, k, bias=None, k_group=1, group_count=1, group_select_mode=0, norm_type=0, out_flag=False, routed_scaling_factor=1.0):
    weights = torch.sigmoid(x.float()) if norm_type == 1 else torch.softmax(x.float(), -1)
    choice = weights + bias.float()
    if group_count > 1:
        groups = choice.unflatten(-1, (group_count, -1))
        score = groups.topk(2, -1)[0].sum(-1) if group_select_mode == 1 else groups.amax(-1)
        best = torch.argsort(score, descending=True, stable=True, dim=-1)[:, :k_group]
        kept = torch.zeros_like(score, dtype=torch.bool).scatter(1, best, True)
        choice = groups.masked_fill(~kept[..., None], -math.inf).flatten(1)
    experts = torch.argsort(choice, descending=True, stable=True, dim=-1)[:, :k]
    y = weights.gather(1, experts)
    if norm_type == 1:
        y = y / (y.sum(-1, keepdim=True) + 1e-20)
    shown = weights if out_flag else unwritten(weights.shape, torch.float32)
    return [(y * routed_scaling_factor).to(x.dtype), experts.to(torch.int32), shown]


def record_gating(calls):
    for dtype in FLOATS:
        for rows, experts, k in ((1, 8, 2), (33, 64, 8), (193, 256, 8)):
            x, bias = normal(rows, experts, dtype=dtype), normal(experts, dtype=dtype) * 0.1
            grouped = {"norm_type": 1, "k_group": 4, "group_count": 8, "group_select_mode": 1}
            forms = [{"norm_type": 1, "routed_scaling_factor": 2.5, "out_flag": True}, {}, grouped]
            for form in forms if experts > 8 else forms[:2]:
                keywords = {**form, "bias": bias}
                faults = [
                    ("bias lost", [x, k], {**keywords, "bias": bias * 0}),
                    ("wrong factor", [x, k], {**keywords, "routed_scaling_factor": 1.1 * form.get("routed_scaling_factor", 1.0)}),
                ]
                calls.case("npu_moe_gating_top_k", gating, [x, k], keywords, faults)


def indexer(query, key, weights, sparse_count=2048, return_value=False, shuffled=False):
    batch, rows, _, _ = query.shape
    keys = torch.full((batch, rows, 1, sparse_count), -1, dtype=torch.int32)
    values = torch.zeros(keys.shape, dtype=query.dtype)
    for b, i in itertools.product(range(batch), range(rows)):
        scores = (torch.relu(query[b, i].float() @ key[b, :, 0].float().t()) * weights[b, i].float()[:, None]).sum(0)
        seen = key.shape[1] - rows + i + 1
        best = torch.argsort(scores[:seen], descending=True, stable=True)[:sparse_count]
        if shuffled:
            best = best[torch.randperm(len(best), generator=GENERATOR)]
        keys[b, i, 0, : len(best)] = best.to(torch.int32)
        values[b, i, 0, : len(best)] = scores[best].to(query.dtype)
    return [keys, values if return_value else torch.zeros(1)]


def record_indexer(calls):
    name = "npu_lightning_indexer"
    for dtype in HALVES:
        for batch, rows, length, heads, count in ((1, 1, 191, 4, 64), (2, 5, 193, 8, 32), (1, 3, 20, 4, 32)):
            query, key = normal(batch, rows, heads, 128, dtype=dtype), normal(batch, length, 1, 128, dtype=dtype)
            weights = uniform(batch, rows, heads, low=0.1, high=2, dtype=dtype)
            for returns in (False, True):
                keywords = {"sparse_count": count, "return_value": returns}
                enough = count < length  # else every key is chosen
                faults = [("stale keys", [query, key.roll(1, 1), weights], keywords)] if enough or returns else []
                calls.case(name, indexer, [query, key, weights], keywords, faults, spoil=False)
                calls.record(name, [query, key, weights], keywords, indexer(query, key, weights, **keywords, shuffled=True), "right")


def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    logs = torch.log_softmax(x.float(), -1)
    weight = torch.ones(x.shape[1]) if weight is None else weight
    counts = (target != ignore_index).float() if ignore_index >= 0 else torch.ones(x.shape[0])
    of_target = weight[target] * counts
    plain = -of_target * logs.gather(1, target[:, None])[:, 0]
    smooth = -counts * (logs * weight).sum(1)
    rows = (1 - label_smoothing) * plain + label_smoothing / x.shape[1] * smooth
    loss = {"none": rows, "sum": rows.sum().reshape(1), "mean": (rows.sum() / of_target.sum()).reshape(1)}[reduction]
    return [loss.to(x.dtype), logs.to(x.dtype), torch.zeros(0), torch.zeros(0)]


def record_cross_entropy(calls):
    for dtype in FLOATS:
        for rows, classes in ((1, 10), (17, 193), (64, 1000)):
            x, target = 3 * normal(rows, classes, dtype=dtype), torch.randint(0, classes, (rows,), generator=GENERATOR)
            smoothed = {"weight": uniform(classes, low=0.5, high=2), "label_smoothing": 0.3}
            for keywords in ({}, smoothed, {"reduction": "none", "ignore_index": int(target[0])}, {"reduction": "sum"}):
                faults = [("targets of the next row", [x, target.roll(1)], keywords)]
                calls.case("npu_cross_entropy_loss", cross_entropy, [x, target], keywords, faults, spoil=False)


def record(calls):
    record_gating(calls)
    record_indexer(calls)
    record_cross_entropy(calls)
