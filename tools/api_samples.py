# SPDX-License-Identifier: Apache-2.0
"""Samples for API names: calls that Python can make, from PyTorch's operator database and by hand."""

from __future__ import annotations

import sys
import types
import unittest
from collections import defaultdict
from typing import Any

try:
    import expecttest  # noqa: F401
except ImportError:  # torch.testing wants it, though nothing used here does
    unused = types.ModuleType("expecttest")
    unused.TestCase, unused.ACCEPT = unittest.TestCase, False
    sys.modules["expecttest"] = unused

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

Sample = tuple[tuple, dict]
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
PER_DTYPE = 3
MAX_ELEMENTS = 20_000


def fresh(value: Any) -> Any:
    """A copy that nothing else changes; tensors keep requires_grad."""

    def copy(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        clone = x.detach().clone()
        return clone.requires_grad_() if x.requires_grad else clone

    return tree_map(copy, value)


def elements(value: Any) -> int:
    total = 0

    def count(x: Any) -> None:
        nonlocal total
        total += x.numel() if isinstance(x, torch.Tensor) else 0

    tree_map(count, value)
    return total


def database() -> dict[str, list[Sample]]:
    """Operator samples by the last part of the operator's names, aliases included."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for op in op_db:
        for dtype in DTYPES:
            if dtype not in op.dtypes:
                continue
            try:
                torch.manual_seed(0)
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))[:PER_DTYPE]
            except Exception:  # a sample generator that needs what this machine lacks
                continue
            for sample in samples:
                call = ((sample.input, *sample.args), sample.kwargs)
                if elements(call) > MAX_ELEMENTS:
                    continue
                names = {op.name, op.name.split(".")[-1], *(a.name for a in op.aliases)}
                for name in names | {n.split(".")[-1] for n in names}:
                    found[name].append(call)
                    found[name.replace(".", "_")].append(call)
    return found


class Catch(TorchDispatchMode):
    """Keeps the calls that reach the dispatcher while samples run, by operator name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[Sample]] = defaultdict(list)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func._schema.name.split("::")[1]
        if len(self.found[name]) < PER_DTYPE and elements((args, kwargs)) <= MAX_ELEMENTS:
            self.found[name].append((fresh(args), fresh(kwargs or {})))
        return func(*args, **(kwargs or {}))


def dispatched() -> dict[str, list[Sample]]:
    """What the operator samples and their gradients call underneath."""
    with Catch() as caught:
        for op in op_db:
            if torch.float32 not in op.dtypes:
                continue
            try:
                samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd))[:2]
                for sample in samples:
                    out = op(sample.input, *sample.args, **sample.kwargs)
                    outs = [o for o in (out if isinstance(out, (list, tuple)) else [out])
                            if isinstance(o, torch.Tensor) and o.requires_grad]
                    torch.autograd.backward(outs, [torch.ones_like(o) for o in outs])
            except Exception:  # not every sample can be differentiated; what was caught stays
                continue
    return caught.found


def by_hand() -> dict[str, list[Sample]]:
    """Names the operator database has no samples for."""
    torch.manual_seed(0)
    x = torch.randn(4, 6)
    y = torch.rand(4, 6) + 0.5
    ints = torch.randint(1, 7, (4, 6))
    image = torch.randn(2, 4, 6, 6)
    seq = torch.randn(5, 2, 3)
    binary = [((x, y), {}), ((x, 2), {}), ((ints, ints), {}), ((ints > 3, ints > 4), {})]
    found: dict[str, list[Sample]] = defaultdict(list)
    for name in """add and div truediv floordiv eq ge gt le lt ne lshift rshift mod mul or sub xor pow iadd iand idiv
                   ifloordiv ilshift imod imul ior irshift isub ixor ipow itruediv radd rmul rsub rdiv rtruediv rpow
                   rfloordiv rmod rand ror rxor""".split():
        found[f"__{name}__"] = list(binary)
    found["__matmul__"] = [((x, y.t().contiguous()), {})]
    for name in ("__bool__", "__nonzero__"):
        found[name] = [((x[0, 0].clone(),), {})]
    found["__setitem__"] = [((x, 0, 1), {}), ((x, slice(1, 3), y[1:3].clone()), {})]
    for name in "bfloat16 bool byte cfloat char double float half int long short numpy stride".split():
        found[name].append(((x,), {}))
    weights = [torch.randn(12, 3), torch.randn(12, 3), torch.randn(12), torch.randn(12)]
    hx = [torch.randn(1, 2, 3), torch.randn(1, 2, 3)]
    gates = [torch.randn(9, 3), torch.randn(9, 3), torch.randn(9), torch.randn(9)]
    cells = [torch.randn(3, 3), torch.randn(3, 3), torch.randn(3), torch.randn(3)]
    rnn = (True, 1, 0.0, False, False, False)
    found["lstm"] = [((seq, hx, weights, *rnn), {})]
    found["gru"] = [((seq, hx[0], gates, *rnn), {})]
    found["rnn_tanh"] = found["rnn_relu"] = [((seq, hx[0], cells, *rnn), {})]
    found["lstm_cell"] = [((seq[0], [hx[0][0], hx[1][0]], *weights), {})]
    found["gru_cell"] = [((seq[0], hx[0][0], *gates), {})]
    found["multi_head_attention_forward"] = [
        ((seq, seq.clone(), seq.clone(), 3, 1, torch.randn(9, 3), torch.randn(9), None, None, False, 0.0,
          torch.randn(3, 3), torch.randn(3)), {})]
    for dims, shape in ((1, (2, 3, 8)), (2, (2, 3, 8, 8)), (3, (2, 3, 8, 8, 8))):
        pooled = torch.randn(shape)
        for name in (f"max_pool{dims}d_with_indices", f"lp_pool{dims}d"):
            found[name].append(((pooled, *([2.0] if name.startswith("lp") else []), 2), {}))
        found[f"adaptive_max_pool{dims}d_with_indices"] = [((pooled, 4), {})]
        if dims > 1:
            found[f"fractional_max_pool{dims}d_with_indices"] = [((pooled, 2), {"output_size": 4})]
        values, places = getattr(torch.nn.functional, f"max_pool{dims}d")(pooled, 2, return_indices=True)
        found[f"max_unpool{dims}d"].append(((values, places, 2), {}))
    found["affine_grid"] = [((torch.randn(2, 2, 3), [2, 3, 4, 4]), {})]
    found["affine_grid_generator"] = [((torch.randn(2, 2, 3), [2, 3, 4, 4], False), {})]
    found["fold"] = [((torch.randn(2, 12, 9), (4, 4), (2, 2)), {})]
    found["conv_tbc"] = [((torch.randn(5, 2, 3), torch.randn(3, 3, 4), torch.randn(4)), {"pad": 1})]
    found["upsample"] = found["upsample_nearest"] = [((image,), {"scale_factor": 2})]
    found["upsample_bilinear"] = [((image,), {"size": (5, 7)})]
    found["softmin"].append(((x,), {"dim": 1}))
    found["gumbel_softmax"] = [((x,), {"tau": 0.7, "hard": True})]
    found["gaussian_nll_loss"].append(((x, y, y), {}))
    found["alpha_dropout_"] = found["dropout_"] = found["feature_alpha_dropout_"] = [((image, 0.5, True), {})]
    found["feature_dropout"] = found["feature_dropout_"] = [((image, 0.5, True), {})]
    found["dropout"].append(((image, 0.5, True), {}))
    for name in "celu_ elu_ selu_ relu_ leaky_relu_ hardtanh_ rrelu_ hardsigmoid_ hardswish_ mish_ silu_ gelu_".split():
        found[name].append(((x,), {}))
    found["threshold_"].append(((x, 0.1, 20.0), {}))
    for name in "bartlett_window blackman_window hamming_window hann_window kaiser_window".split():
        found[name].append(((10,), {}))
    found["range"] = [((0, 9, 2), {})]
    for name in ("rand", "randn", "zeros", "ones"):
        found[name].append((([3, 2],), {}))
    found["randint"].append(((0, 9, [3, 2]), {}))
    found["randperm"] = [((9,), {})]
    found["scalar_tensor"] = [((2.5,), {})]
    found["tril_indices"].append(((4, 3), {}))
    found["triu_indices"].append(((4, 3), {}))
    for name in "cauchy_ exponential_ geometric_ log_normal_ normal_ uniform_ bernoulli_".split():
        found[name].append(((y, 0.5) if name == "geometric_" else (y,), {}))
        found[name[:-1]].append(((y, 0.5) if name == "geometric_" else (y,), {}))
    found["normal"] = [((x, y), {}), ((0.0, 1.0, [3, 2]), {})] + found["normal"]
    found["binomial"] = [((torch.full((4,), 9.0), torch.full((4,), 0.5)), {})]
    found["poisson"] = [((y,), {})]
    found["multinomial"].append(((y, 2), {}))
    found["embedding_renorm_"] = [((x, torch.tensor([0, 2]), 1.0, 2.0), {})]
    found["choose_qparams_optimized"] = [((torch.randn(64), 64, 50, 0.16, 8), {})]
    found["histogramdd"] = [((torch.rand(8, 2), [3, 3]), {})]
    found["norm_except_dim"] = [((x, 2, 0), {})]
    found["nuclear_norm"] = [((x,), {})]
    found["frobenius_norm"] = [((x, [1]), {})]
    found["native_norm"] = [((x, 2), {})]
    found["resolve_neg"] = [((x,), {})]
    found["row_stack"] = found["vstack"]
    found["align_as"] = []
    for name in "dsmm spmm".split():
        found[name] = [((x, y.t().contiguous()), {})]
    found["_add_relu"] = found["_add_relu_"] = [((x, y), {})]
    found["_aminmax"] = [((x,), {})]
    found["_adaptive_avg_pool2d"].append(((image, [3, 3]), {}))
    found["_foreach_norm"] = [(([x, y],), {})]
    state = [torch.tensor(1.0), torch.tensor(1.0)]
    adam = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "amsgrad": False, "maximize": False}
    moments = ([x, y], [y, x], [x * 0, y * 0], [x * 0, y * 0], [], state)
    found["_fused_adamw_"] = found["_fused_adam_"] = found["_fused_adam"] = [(moments, adam)]
    for name in "mul div add sub maximum minimum".split():
        found[f"_foreach_{name}"] = found[f"_foreach_{name}_"] = [(([x, y], [y, x]), {}), (([x, y], 2.0), {})]
    for name in "neg reciprocal sign sqrt".split():
        found[f"_foreach_{name}"] = found[f"_foreach_{name}_"] = [(([y, y],), {})]
    for name in "addcdiv addcmul".split():
        found[f"_foreach_{name}"] = found[f"_foreach_{name}_"] = [(([x, y], [y, x], [y, y]), {})]
    found["_foreach_lerp_"] = [(([x, y], [y, x], 0.5), {})]
    found["_foreach_copy_"] = [(([x, y], [y, x]), {})]
    found["_foreach_pow"] = [(([y, y], 2), {})]
    found["_amp_foreach_non_finite_check_and_unscale_"] = [(([x, y], torch.zeros(1), torch.ones(1)), {})]
    found["_softmax_backward_data"] = [((x, y, 1, torch.float32), {})]
    found["_convolution"] = [((image, torch.randn(3, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
                               False, False, True, True), {})]
    found["convolution"].append(((image, torch.randn(3, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1), {}))
    found["_batch_norm_impl_index"] = [((image, None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5, True), {})]
    found["batch_norm_update_stats"] = [((image, None, None, 0.1), {})]
    found["instance_norm"].append(((image, None, None, None, None, True, 0.1, 1e-5, True), {}))
    found["native_batch_norm"].append(((image, None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5), {}))
    found["native_group_norm"] = [((image, None, None, 2, 4, 36, 2, 1e-5), {})]
    found["grid_sampler"] = [((image, torch.rand(2, 5, 5, 2) * 2 - 1, 0, 0, False), {})]
    found["t_"] = found["t"]
    for name in ("resize_", ):
        found[name].append(((x, [6, 4]), {}))
    found["resize_as_"] = found["_resize_output_"] = found["_resize_output"] = [((x, y), {})]
    found["transpose_"] = found["swapdims_"] = [((x, 0, 1), {})]
    found["squeeze_"] = [((x[:1].clone(),), {})]
    found["unsqueeze_"] = [((x, 0), {})]
    found["fill_"].append(((x, 2.0), {}))
    found["put_"] = [((x, torch.tensor([0, 3]), torch.tensor([1.0, 2.0])), {})]
    return found


def mkldnn_rnn_backward(inputs: tuple) -> Sample:
    """Of an LSTM layer: takes what its forward gave."""
    output, hy, cy, workspace = torch.ops.aten.mkldnn_rnn_layer(*inputs, False, [], 2, 3, 1, True, False, False, True)
    gradients = (torch.ones_like(output), torch.ones_like(hy), torch.ones_like(cy))
    return (*inputs, output, hy, cy, *gradients, False, 2, 3, 1, True, True, False, [], False, workspace), {}


def by_hand_more() -> dict[str, list[Sample]]:
    """Operators below Python's own functions: reductions as numbers, lists as one argument, backward operators."""
    torch.manual_seed(0)
    x, y = torch.randn(4, 6), torch.rand(4, 6) + 0.5
    image, volume, signal = torch.randn(2, 4, 6, 6), torch.randn(2, 3, 4, 4, 4), torch.randn(2, 3, 8)
    signs, classes = torch.sign(torch.randn(4)), torch.tensor([0, 2, 5, 1])
    square = torch.eye(4) * 3 + 0.1
    pad2, pad3 = [1, 1, 2, 0], [1, 1, 2, 0, 1, 1]
    labels2d = torch.randint(0, 4, (2, 6, 6))
    total = torch.tensor(72.0)
    mask = torch.rand(4, 6) > 0.5
    zeros, ones = torch.zeros(4), torch.ones(4)
    rnn = (torch.randn(5, 2, 3), torch.randn(12, 3), torch.randn(12, 3), torch.randn(12), torch.randn(12), torch.zeros(2, 3),
           torch.zeros(2, 3))
    return {
        "dropout1d": [((signal, 0.5, True), {})],
        "embedding": [((classes, x.t().contiguous()), {})],
        "triplet_margin_with_distance_loss": [((x, y, x * y), {"margin": 0.5, "swap": True})],
        "sparse_coo_tensor": [((torch.tensor([[0, 1], [2, 0]]), torch.tensor([1.5, 2.5]), [2, 3]), {})],
        "batch_norm_stats": [((image, 1e-5), {})],
        "batch_norm_elemt": [((image, None, None, zeros, ones, 1e-5), {})],
        "batch_norm_gather_stats": [((image, zeros[None], ones[None], None, None, 0.1, 1e-5, 72), {})],
        "batch_norm_gather_stats_with_counts": [((image, zeros[None], ones[None], None, None, 0.1, 1e-5, ones[:1]), {})],
        "batch_norm_backward_reduce": [((image, image, zeros, ones, None, True, True, True), {})],
        "batch_norm_backward_elemt": [((image, image, zeros, ones, None, zeros, zeros, torch.ones(1).int()), {})],
        "cudnn_batch_norm": [((image, ones, zeros, zeros, ones, True, 0.1, 1e-5), {})],
        "cudnn_batch_norm_backward": [((image, image, ones, zeros, ones, zeros, ones, 1e-5, torch.zeros(0).byte()), {})],
        "hspmm": [((x, y.t().contiguous()), {})],
        "hsmm": [((x, y.t().contiguous()), {})],
        "smm": [((x, y.t().contiguous()), {})],
        "saddmm": [((square, x, y.t().contiguous()), {})],
        "sspaddmm": [((square, x, y.t().contiguous()), {})],
        "q_zero_point": [((x,), {})],
        "symeig": [((square,), {})],
        "map_": [((x, y, lambda a, b: a + b), {})],
        "map2_": [((x, y, y, lambda a, b, c: a + b + c), {})],
        "pin_memory": [((x,), {})],
        "_pin_memory": [((x,), {})],
        "_cudnn_rnn": [((torch.randn(5, 2, 3), [x], 4, None, torch.zeros(1, 2, 3), None, 2, 3, 0, 1, False, 0.0, False, False,
                         [], None), {})],
        "_fused_dropout": [((x, 0.5), {})],
        "_fused_moving_avg_obs_fq_helper": [
            ((x, ones[:1].long(), ones[:1].long(), zeros[:1], ones[:1], ones[:1], zeros[:1].int(), 0.01, 0, 255, 0), {})],
        "_nested_tensor_from_tensor_list": [(([x, y],), {})],
        "_scaled_dot_product_efficient_attention": [((image, image, image, None, False), {})],
        "_scaled_dot_product_efficient_attention_backward": [
            ((image, image, image, image, None, image, image, total.long(), total.long(), 0.0, [True] * 4), {})],
        "_scaled_dot_product_flash_attention": [((image, image, image), {})],
        "_scaled_dot_product_flash_attention_backward": [
            ((image, image, image, image, image, image, classes, classes, 6, 6, 0.0, False, total.long(), total.long()), {})],
        "_sparse_coo_tensor_with_dims_and_tensors": [
            ((2, 0, [2, 3], torch.tensor([[0, 1], [2, 0]]), torch.tensor([1.5, 2.5])), {"layout": torch.sparse_coo})],
        "_thnn_fused_lstm_cell": [((x, x, y), {})],
        "_thnn_fused_lstm_cell_backward_impl": [((x, x, x, x, y, False), {})],
        "fill_diagonal_": [((x, 1.5), {})],
        "type_as": [((x, y.double()), {})],
        "float_power_": [((y.double(), 2), {})],
        "unsafe_split_with_sizes": [((x, [1, 3]), {})],
        "adaptive_max_pool1d": [((signal, 4), {})],
        "alpha_dropout": [((image, 0.5, True), {})],
        "feature_alpha_dropout": [((image, 0.5, True), {})],
        "chain_matmul": [((x, y.t().contiguous(), x), {})],
        "cosine_embedding_loss": [((x, y, signs), {"reduction": 1})],
        "ctc_loss": [((torch.randn(8, 2, 5).log_softmax(2), torch.tensor([[1, 2], [3, 4]]), [8, 8], [2, 2]), {})],
        "einsum": [(("ij,kj->ik", x, y), {}), (("ij,kj->ik", [x, y]), {})],
        "embedding_bag": [((x, torch.tensor([0, 2, 1, 3]), torch.tensor([0, 2])), {})],
        "hinge_embedding_loss": [((x, torch.sign(x), 1.0, 1), {})],
        "kl_div": [((x, y, 1), {})],
        "margin_ranking_loss": [((x[:, 0].clone(), y[:, 0].clone(), signs, 0.0, 1), {})],
        "max_pool1d": [((signal, 2), {})],
        "max_pool2d": [((image, [2, 2]), {})],
        "max_pool3d": [((volume, 2), {})],
        "poisson_nll_loss": [((x, y, True, False, 1e-8, 1), {})],
        "polygamma": [((1, y), {})],
        "broadcast_tensors": [(([x, y[:1].clone()],), {}), ((x, y[:1].clone()), {})],
        "copy": [((x, y), {})],
        "is_pinned": [((x,), {})],
        "is_same_size": [((x, y), {})],
        "lift": [((x,), {})],
        "native_dropout": [((x, 0.5, True), {})],
        "nll_loss": [((x.log_softmax(1), classes), {})],
        "nll_loss2d_forward": [((image, labels2d, None, 1, -100), {})],
        "nll_loss2d_backward": [((torch.tensor(1.0), image, labels2d, None, 1, -100, total), {})],
        "reflection_pad2d": [((image, pad2), {})],
        "reflection_pad2d_backward": [((torch.randn(2, 4, 8, 8), image, pad2), {})],
        "reflection_pad3d": [((volume, pad3), {})],
        "reflection_pad3d_backward": [((torch.randn(2, 3, 6, 6, 6), volume, pad3), {})],
        "replication_pad3d": [((volume, pad3), {})],
        "replication_pad3d_backward": [((torch.randn(2, 3, 6, 6, 6), volume, pad3), {})],
        "upsample_nearest2d": [((image, [12, 12]), {})],
        "upsample_nearest2d_backward": [((torch.randn(2, 4, 12, 12), [12, 12], [2, 4, 6, 6]), {})],
        "upsample_nearest3d": [((volume, [8, 8, 8]), {})],
        "zero": [((x,), {})],
        "rrelu_with_noise_": [((x, torch.zeros(4, 6), 0.1, 0.3, True), {})],
        "_addmm_activation": [((torch.randn(4), x, y.t().contiguous()), {})],
        "_assert_async": [((torch.tensor(True),), {})],
        "_functional_assert_async": [((torch.tensor(True), "must hold", torch.tensor(0.0)), {})],
        "_cholesky_solve_helper": [((torch.randn(4, 2), square, False), {})],
        "_embedding_bag_forward_only": [((x, torch.tensor([0, 2, 1, 3]), torch.tensor([0, 2])), {})],
        "_euclidean_dist": [((x, y), {})],
        "_int_mm": [((torch.randint(-9, 9, (32, 8), dtype=torch.int8), torch.randint(-9, 9, (8, 8), dtype=torch.int8)), {})],
        "_list_to_tensor": [(([1, 2, 3],), {})],
        "_make_dep_token": [((), {})],
        "_functional_sym_constrain_range": [((3, 1, 5, torch.tensor(0.0)), {})],
        "_functional_sym_constrain_range_for_size": [((3, 1, 5, torch.tensor(0.0)), {})],
        "sym_constrain_range": [((3,), {"min": 1, "max": 5})],
        "sym_constrain_range_for_size": [((3,), {"min": 1, "max": 5})],
        "_native_batch_norm_legit_functional": [
            ((image, None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5), {})],
        "_native_batch_norm_legit_no_training": [((image, None, None, torch.zeros(4), torch.ones(4), 0.1, 1e-5), {})],
        "_reshape_alias": [((x, [6, 4], [4, 1]), {})],
        "_resize_output": [((x, [6, 4], torch.device("cpu")), {})],
        "_resize_output_": [((x, [6, 4], torch.device("cpu")), {})],
        "_unsafe_index": [((x, [torch.tensor([0, 2])]), {})],
        "_unsafe_index_put": [((x, [torch.tensor([0, 2])], y[:2].clone()), {})],
        "native_dropout_backward": [((x, mask, 2.0), {})],
        "mkldnn_rnn_layer": [((*rnn, False, [], 2, 3, 1, True, False, False, False), {})],
        "mkldnn_rnn_layer_backward": [mkldnn_rnn_backward(rnn)],
    }
