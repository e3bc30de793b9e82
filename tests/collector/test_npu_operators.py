# SPDX-License-Identifier: Apache-2.0
"""Small copies of what serving on an NPU consists of, recorded and checked: the operators are compositions on the CPU under their names."""
import csv
import os
import pathlib
import subprocess
import sys
import types
import unittest

import collected
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "npu_operators"))
import attention
import products
import quantise
import recorder
import routing
import training


def kv_cache_in_place(kv, gamma, cos, sin, index, k_cache, ckv_cache, **keywords):
    results = routing.kv_rmsnorm_rope_cache(kv, gamma, cos, sin, index, k_cache, ckv_cache, **keywords)
    k_cache.copy_(results[0])
    ckv_cache.copy_(results[1])
    return k_cache, ckv_cache, results[2], results[3]


def paged_into_out(query, key_cache, value_cache, num_kv_heads, num_heads, scale_value, block_table, context_lens, out):
    args = (query, key_cache, value_cache, num_kv_heads, num_heads, scale_value, block_table, context_lens, out)
    out.copy_(attention.paged(*args)[0])


def finalize_routing(rows, skip1, skip2, bias, scales, places, experts, drop_pad_mode=0):
    picked = rows.float()[places.long().view_as(scales)] if drop_pad_mode == 2 else None
    return (picked * scales.float()[..., None]).sum(1).to(rows.dtype)


def as_operator(function):
    """As an operator of a plug-in arrives at the collector: as one call, whatever it is made of."""

    def operator(*args, **keywords):
        if torch._C._is_torch_function_mode_enabled():
            return torch.overrides.handle_torch_function(operator, (), *args, **keywords)
        return function(*args, **keywords)

    return operator


def fake_torch_npu():
    module = types.ModuleType("torch_npu")
    single = {
        "npu_quant_matmul": products.quant_matmul,
        "npu_weight_quant_batchmatmul": products.weight_quant_batchmatmul,
    }
    several = {
        "npu_dynamic_quant": quantise.dynamic_quant,
        "npu_dequant_swiglu_quant": quantise.dequant_swiglu_quant,
        "npu_moe_init_routing_v2": routing.init_routing,
        "npu_moe_gating_top_k": training.gating,
        "npu_fused_infer_attention_score": attention.infer,
        "npu_add_rms_norm": quantise.add_rms_norm,
    }
    others = {
        "npu_grouped_matmul": products.grouped_matmul,
        "npu_kv_rmsnorm_rope_cache": kv_cache_in_place,
        "_npu_paged_attention": paged_into_out,
        "npu_moe_finalize_routing": finalize_routing,
    }
    for name, function in single.items():
        others[name] = lambda *args, function=function, **keywords: function(*args, **keywords)[0]
    for name, function in several.items():
        others[name] = lambda *args, function=function, **keywords: tuple(function(*args, **keywords))
    for name, function in others.items():
        setattr(module, name, as_operator(function))
    return module


def quantised_linear(npu, x):
    codes, scale = npu.npu_dynamic_quant(x)
    weight, of_weight = recorder.whole(-128, 128, 64, 48), recorder.uniform(48, low=1e-4, high=1e-3)
    return npu.npu_quant_matmul(codes, weight, of_weight, pertoken_scale=scale, output_dtype=15)


def moe_layer(npu, x):
    experts, k, hidden = 8, 2, 32
    logits = x.float() @ recorder.normal(x.shape[1], experts)
    weights, chosen, _ = npu.npu_moe_gating_top_k(logits, k, bias=recorder.normal(experts) * 0.1, norm_type=1)
    rows, places, counts, scale = npu.npu_moe_init_routing_v2(
        x,
        chosen,
        scale=torch.ones(experts, x.shape[1]),
        expert_num=experts,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        quant_mode=1,
    )
    lists = {"group_list": counts, "group_list_type": 1, "split_item": 2, "group_type": 0}
    gate = npu.npu_grouped_matmul([rows], [recorder.whole(-128, 128, experts, x.shape[1], 2 * hidden)], **lists)[0]
    codes, scale = npu.npu_dequant_swiglu_quant(
        gate,
        weight_scale=recorder.uniform(experts, 2 * hidden, low=1e-4, high=1e-3),
        activation_scale=scale,
        quant_scale=torch.ones(experts, hidden),
        group_index=counts,
        quant_mode=1,
    )
    down = recorder.whole(-128, 128, experts, hidden, x.shape[1])
    scales = {"scale": [recorder.uniform(experts, x.shape[1], low=1e-4, high=1e-3)], "per_token_scale": [scale], "output_dtype": 15}
    rows = npu.npu_grouped_matmul([codes], [down], **lists, **scales)[0]
    return npu.npu_moe_finalize_routing(rows, None, None, None, weights.bfloat16(), places, None, drop_pad_mode=2)


def mla_attention(npu, x):
    tokens = x.shape[0]
    angle = recorder.normal(1, 1, tokens, 64)
    latent, rope = torch.zeros(4, 16, 1, 128, dtype=x.dtype), torch.zeros(4, 16, 1, 64, dtype=x.dtype)
    kv = recorder.normal(1, 1, tokens, 192, dtype=x.dtype)
    npu.npu_kv_rmsnorm_rope_cache(
        kv,
        recorder.uniform(128, low=0.5, high=1.5, dtype=x.dtype),
        torch.cos(angle).to(x.dtype),
        torch.sin(angle).to(x.dtype),
        torch.arange(tokens) + 16,
        rope,
        latent,
        cache_mode="PA_BNSD",
    )
    queries = [recorder.normal(1, 1, 4, width, dtype=x.dtype) for width in (128, 64)]
    return npu.npu_fused_infer_attention_score(
        queries[0].flatten(2),
        latent.flatten(2),
        latent.flatten(2),
        query_rope=queries[1].flatten(2),
        key_rope=rope.flatten(2),
        num_heads=4,
        num_key_value_heads=1,
        scale=0.07,
        block_table=torch.tensor([[1, 2]], dtype=torch.int32),
        block_size=16,
        actual_seq_lengths_kv=[tokens],
    )[0]


def paged_decode(npu, x):
    y, _, _ = npu.npu_add_rms_norm(x, recorder.normal(*x.shape, dtype=x.dtype), torch.ones(x.shape[1], dtype=x.dtype))
    query = y.unflatten(1, (4, 16)).contiguous()
    caches = [recorder.normal(8, 16, 2, 16, dtype=x.dtype) for _ in range(2)]
    table = recorder.whole(0, 8, x.shape[0], 3, dtype=torch.int32)
    lengths = recorder.whole(1, 48, x.shape[0], dtype=torch.int32)
    out = torch.zeros_like(query)
    npu._npu_paged_attention(query, *caches, 2, 4, 0.25, table, lengths, out)
    return out


@unittest.skipUnless(os.environ.get("MSPROBE_HAS_ENGINE", "1") == "1", "there is no engine")
class NpuOperatorsTest(unittest.TestCase):
    def setUp(self):
        sys.modules["torch_npu"] = fake_torch_npu()
        self.addCleanup(sys.modules.pop, "torch_npu")

    def statuses(self, directory):
        out = pathlib.Path(directory) / "checked"
        command = [os.environ["MSPROBE"], "acc_check", "-api_info", f"{directory}/dump.json", "-d", "recorded", "-o", str(out)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn(done.returncode, (0, 1), done.stdout)
        (details,) = out.glob("accuracy_checking_details_*.csv")
        found = {}
        with open(details, encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                if row["API name"].startswith("NPU."):
                    found.setdefault(row["API name"].split(".")[1], []).append((row["Strict Status"].strip(), row["Strict Reason"]))
        return found

    def test_layers_of_a_model_are_recorded_and_pass(self):
        for layer in (quantised_linear, moe_layer, mla_attention, paged_decode):
            with self.subTest(layer.__name__), collected.debugger({"task": "tensor"}) as made:
                made.start()
                layer(sys.modules["torch_npu"], recorder.normal(9, 64, dtype=torch.bfloat16))
                made.stop()
                made.step()
                found = self.statuses(collected.step_directory(made))
                self.assertGreaterEqual(len(found), 2)
                for name, results in found.items():
                    self.assertTrue(any(status in ("pass", "inconclusive") for status, _ in results), (name, results))
                    for status, reason in results:
                        self.assertNotIn(status, ("error", "warning"), (name, reason))


if __name__ == "__main__":
    unittest.main()
