#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated device without faults is the CPU: dtype, shape, strides and every bit, of results and of gradients.

    python3 tests/sim_exact_check.py LIBRARY

Where PyTorch composes an operator in another way for another device, the device must not follow. Ends with 77 where there is no
PyTorch that can load the library.
"""

import sys
import types

LIBRARY = sys.argv[1]

try:
    import torch
    import torch.nn.functional as F
    torch.ops.load_library(LIBRARY)
    module = types.ModuleType("torch.sim")
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
    torch._register_device_module("sim", module)
except (ImportError, OSError) as error:
    print(f"skipped: {error}")
    sys.exit(77)

from torch.utils._pytree import tree_leaves  # noqa: E402

CHANNELS_LAST = torch.channels_last
torch.set_num_threads(1)
torch.manual_seed(1)


def drawn(*shape, dtype=torch.float32, layout=torch.contiguous_format):
    return torch.randn(*shape).to(dtype).contiguous(memory_format=layout)


def run(function, inputs, device):
    moved = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=device).copy_(t.detach()) for t in inputs]
    moved = [t.requires_grad_(t.is_floating_point()) for t in moved]
    torch.manual_seed(0)
    results = [leaf for leaf in tree_leaves(function(*moved)) if isinstance(leaf, torch.Tensor)]
    ends = [result for result in results if result.requires_grad]
    arriving = torch.Generator().manual_seed(3)
    gradients = [torch.randn(end.shape, generator=arriving).to(end.dtype).to(device) for end in ends]
    wanted = [t for t in moved if t.requires_grad]
    return results + list(torch.autograd.grad(ends, wanted, gradients, allow_unused=True) if ends else [])


def facts(tensor):
    """What must be equal; strides of dimensions of one element say nothing."""
    if tensor is None:
        return None
    strides = [stride for stride, extent in zip(tensor.stride(), tensor.shape) if extent > 1]
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    bits = bytes(plain.view(-1).view(torch.uint8).tolist()) if plain.numel() else b""
    return tensor.dtype, tuple(tensor.shape), strides, bits


def same(name, function, *inputs):
    try:
        bench = run(function, inputs, "cpu")
    except RuntimeError:  # an older CPU has no bfloat16 LSTM, and so has the device
        try:
            run(function, inputs, "sim:1")
        except RuntimeError:
            return
        raise AssertionError(f"{name}: raises on the CPU alone") from None
    device = run(function, inputs, "sim:1")
    assert len(bench) == len(device), f"{name}: {len(device)} results, should be {len(bench)}"
    for i, (right, given) in enumerate(zip(bench, device)):
        for fact, wanted, found in zip(("dtype", "shape", "strides", "bits"), facts(right) or (), facts(given) or ()):
            assert wanted == found, f"{name}, result {i}: its {fact} differ: {found}, on the CPU {wanted}"[:500]
        assert (right is None) == (given is None), f"{name}, result {i}"


def layer(module):
    names = [name for name, _ in module.named_parameters()]
    return (lambda x, *given: torch.func.functional_call(module, dict(zip(names, given)), (x,))), [p.detach() for p in module.parameters()]


def check_recurrent():
    for dtype in (torch.float32, torch.bfloat16):
        for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
            for how in ({}, {"bidirectional": True, "num_layers": 2, "batch_first": True, "dropout": 0.3, "bias": False}):
                function, parameters = layer(kind(6, 8, **how).to(dtype))
                same(f"{kind.__name__} {how} {dtype}", function, drawn(3, 4, 6, dtype=dtype), *parameters)

                def of_packed(x, *given, function=function):
                    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 3, 1]), batch_first=True)
                    return function(packed, *given)[0].data
                same(f"{kind.__name__} {how} {dtype}, packed", of_packed, drawn(3, 4, 6, dtype=dtype), *parameters)
        for kind in (torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell):
            function, parameters = layer(kind(6, 8).to(dtype))
            same(f"{kind.__name__} {dtype}", function, drawn(4, 6, dtype=dtype), *parameters)


def check_attention_and_norms():
    for dtype in (torch.float32, torch.bfloat16):
        heads = [drawn(2, 4, 9, 16, dtype=dtype) for _ in range(3)]
        same("attention", F.scaled_dot_product_attention, *heads)
        same("causal attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *heads)
        function, parameters = layer(torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).to(dtype))
        same(f"transformer layer {dtype}", function, drawn(2, 5, 16, dtype=dtype), *parameters)
        for parameter in (torch.float32, dtype):  # under autocast, parameters stay float32
            four, eight = drawn(4, dtype=parameter), drawn(8, dtype=parameter)
            for layout in (torch.contiguous_format, CHANNELS_LAST):
                image = drawn(2, 4, 8, 8, dtype=dtype, layout=layout)
                same("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), image, four, four)
                same("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), image, four, four)
                same("layer_norm", lambda x, w, b: F.layer_norm(x, (8,), w, b), image, eight, eight)


def check_other_kernels():
    for dtype in (torch.float32, torch.bfloat16):
        matrix = drawn(20, 30, dtype=dtype)
        for name in ("silu", "mish", "gelu", "softplus", "dropout", "alpha_dropout"):
            same(name, getattr(F, name), matrix)
        same("addr", torch.addr, drawn(5, 6, dtype=dtype), drawn(5, dtype=dtype), drawn(6, dtype=dtype))
        same("linear", F.linear, drawn(2, 3, 6, dtype=dtype), drawn(5, 6, dtype=dtype), drawn(5, dtype=dtype))
        for layout in (torch.contiguous_format, CHANNELS_LAST):
            image, kernel = drawn(2, 8, 9, 9, dtype=dtype, layout=layout), drawn(4, 8, 3, 3, dtype=dtype)
            same("conv2d", lambda i, k: F.conv2d(i, k, stride=2, padding=1), image, kernel)
            same("pixel_shuffle", lambda i: F.pixel_shuffle(i, 2), image)
            same("max_pool2d", lambda i: F.max_pool2d(i, 2), image)
            same("interpolate", lambda i: F.interpolate(i, scale_factor=2, mode="bilinear"), image)
    same("stack", lambda a, b: torch.stack([a, b], 1), drawn(3, 4), drawn(3, 4))
    same("any", lambda a: torch.any(a > 0, (0, 1)), drawn(3, 4))


def check_autocast():
    """The CPU's own lists say which operators get the lower precision."""
    function, parameters = layer(torch.nn.LSTM(8, 8))
    cases = {"linear": (F.linear, drawn(3, 8), drawn(5, 8)),
             "layer_norm": (lambda x, w: F.layer_norm(x.bfloat16(), (8,), w), drawn(3, 8), drawn(8)),
             "group_norm": (lambda x, w: F.group_norm(x.bfloat16(), 2, w), drawn(3, 4, 5), drawn(4)),
             "cross_entropy": (lambda x: F.cross_entropy(x.bfloat16(), torch.arange(3, device=x.device)), drawn(3, 8)),
             "cat": (lambda x: torch.cat([x.bfloat16(), x]), drawn(3, 8)),
             "attention": (F.scaled_dot_product_attention, *(drawn(1, 2, 5, 8) for _ in range(3))),
             "lstm": (function, drawn(3, 2, 8), *parameters)}
    for name, (case, *inputs) in cases.items():
        def under_autocast(*given, case=case):
            with torch.autocast(given[0].device.type, dtype=torch.bfloat16):
                return case(*given)
        same(f"{name} under autocast", under_autocast, *inputs)


def check_views():
    same("unfold", lambda t: t.unfold(0, 3, 1), drawn(10))

    def zeros_in_windows(t):
        copy = t.detach().clone()
        copy[2:].unfold(0, 2, 3).zero_()
        torch.view_as_real(torch.view_as_complex(copy.view(5, 2)))[0].fill_(7)
        return copy

    same("through views", zeros_in_windows, drawn(10))
    same("conjugate", lambda t: (torch.complex(t, t) * torch.complex(t, t + 1).conj()).imag, drawn(5))
    same("ifft", lambda t: torch.fft.ifft(t).real, drawn(5))
    same("to the host", lambda t: t.to("cpu", non_blocking=True).to(t.device), drawn(5))


check_recurrent()
check_attention_and_norms()
check_other_kernels()
check_views()
check_autocast()
print("bit for bit")
