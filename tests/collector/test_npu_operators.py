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


class Whole(torch.autograd.Function):
    """An operator with a gradient: one node of autograd, as in the plug-in."""

    @staticmethod
    def forward(ctx, function, keywords, *args):
        ctx.function, ctx.keywords = function, keywords
        ctx.save_for_backward(*(value for value in args if isinstance(value, torch.Tensor)))
        ctx.args = [None if isinstance(value, torch.Tensor) else value for value in args]
        with torch.no_grad():
            results = function(*args, **keywords)
        exact = [result for result in results if not result.is_floating_point()]
        ctx.mark_non_differentiable(*exact)
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        tensors = iter(ctx.saved_tensors)
        args = [
            next(tensors).detach().requires_grad_(needed) if value is None else value
            for value, needed in zip(ctx.args, ctx.needs_input_grad[2:])
        ]
        with torch.enable_grad():
            results = ctx.function(*args, **ctx.keywords)
        wanted = [value for value, needed in zip(args, ctx.needs_input_grad[2:]) if needed]
        found = iter(torch.autograd.grad(results[0], wanted, gradients[0]))
        return (None, None, *(next(found) if needed else None for needed in ctx.needs_input_grad[2:]))


def with_gradient(function):
    return lambda *args, **keywords: Whole.apply(function, keywords, *args)


def permute(tokens, indices):
    first = torch.argsort(indices.flatten(), stable=True)
    went = torch.empty_like(first).scatter_(0, first, torch.arange(first.numel()))
    return tokens[first // indices.shape[1]], went.to(torch.int32)


def unpermute(rows, places, probs):
    picked = rows.float()[places.long()].reshape(*probs.shape, -1)
    return [(picked * probs.float()[..., None]).sum(1).to(rows.dtype)]


def geglu(x):
    linear, active = x.float().chunk(2, -1)
    activated = torch.nn.functional.gelu(active, approximate="tanh")
    return (linear * activated).to(x.dtype), activated.to(x.dtype)


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
        "npu_moe_token_permute": with_gradient(permute),
        "npu_moe_token_unpermute": lambda *args: with_gradient(unpermute)(*args)[0],
        "npu_geglu": with_gradient(geglu),
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


def trained_moe(npu, x):
    """Tokens to their experts, a gate, and back, with gradients."""
    x = x.requires_grad_(True)
    chosen = torch.stack([torch.randperm(4, generator=recorder.GENERATOR)[:2] for _ in range(x.shape[0])]).to(torch.int32)
    probs = recorder.uniform(x.shape[0], 2, low=0.1, high=1).requires_grad_(True)
    rows, places = npu.npu_moe_token_permute(x, chosen)
    gated = npu.npu_geglu(rows)[0]
    npu.npu_moe_token_unpermute(gated, places, probs).float().square().sum().backward()


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
                    found.setdefault(row["API name"].split(".")[1], []).append(
                        (row["API name"], row["Strict Status"].strip(), row["Strict Reason"])
                    )
        return found

    def recorded(self, layer):
        with collected.debugger({"task": "tensor"}) as made:
            made.start()
            layer(sys.modules["torch_npu"], recorder.normal(9, 64, dtype=torch.bfloat16))
            made.stop()
            made.step()
            return self.statuses(collected.step_directory(made))

    def test_layers_of_a_model_are_recorded_and_pass(self):
        for layer in (quantised_linear, moe_layer, mla_attention, paged_decode, trained_moe):
            with self.subTest(layer.__name__):
                found = self.recorded(layer)
                self.assertGreaterEqual(len(found), 2)
                for name, results in found.items():
                    self.assertTrue(any(status in ("pass", "inconclusive") for _, status, _ in results), (name, results))
                    for row, status, reason in results:
                        self.assertNotIn(status, ("error", "warning"), (row, reason))
                if layer is trained_moe:
                    judged = {
                        row.split(".")[1]
                        for results in found.values()
                        for row, status, _ in results
                        if ".backward." in row and status == "pass"
                    }
                    self.assertEqual(judged, set(found))

    def test_a_wrong_operator_is_the_one_that_is_named(self):
        """The operator inside the layer loses its last rows, keys or group; those behind it compute with that, and are right."""
        for layer, name in (
            (moe_layer, "npu_grouped_matmul"),
            (quantised_linear, "npu_quant_matmul"),
            (mla_attention, "npu_fused_infer_attention_score"),
            (paged_decode, "npu_add_rms_norm"),
            (trained_moe, "npu_moe_token_permute"),
        ):
            right = getattr(sys.modules["torch_npu"], name)

            def wrong(*args, right=right, **keywords):
                results = right(*args, **keywords)
                first = results[0] if isinstance(results, (list, tuple)) else results
                with torch.no_grad():
                    first.view(-1, first.shape[-1])[-1:] = 0
                return results

            with self.subTest(layer.__name__):
                setattr(sys.modules["torch_npu"], name, as_operator(wrong))
                found = self.recorded(layer)
                setattr(sys.modules["torch_npu"], name, right)
                blamed = {api for api, results in found.items() for row, status, _ in results if status == "error" and ".forward." in row}
                self.assertEqual(blamed, {name})


if __name__ == "__main__":
    unittest.main()
