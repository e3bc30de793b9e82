#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated device in plain PyTorch: it computes what the CPU does, on its own memory, and errs as configured.

    python3 tests/sim_device_check.py LIBRARY

Ends with 77 where there is no PyTorch that can load the library.
"""

import ctypes
import functools
import math
import sys
import tempfile
import types

LIBRARY = sys.argv[1]

try:
    import torch
    import torch.nn.functional as F
    torch.ops.load_library(LIBRARY)
    torch._register_device_module("sim", types.ModuleType("torch.sim"))
except (ImportError, OSError) as error:
    print(f"skipped: {error}")
    sys.exit(77)


ROUNDED, CUT = 1e-5, 1e-3  # the largest difference: of sums in another order; of up to 100 terms of 20 cut at 2^-22 of the sum


def same(name: str, function, *inputs: torch.Tensor, limit: float = ROUNDED) -> None:
    """Forward and backward, up to the order of sums: layouts differ, and the CPU has fused kernels of its own."""
    sides = []
    for device in ("cpu", "sim:1"):
        moved = [t.detach().to(device).requires_grad_(t.is_floating_point()) for t in inputs]
        output = function(*moved)
        outputs = list(output) if isinstance(output, (list, tuple)) else [output]
        total = sum(o.sum() for o in outputs if o.is_floating_point())
        gradients = torch.autograd.grad(total, [t for t in moved if t.requires_grad], allow_unused=True)
        assert all(o.device.type == device.split(":")[0] for o in outputs), name
        sides.append([t.detach().cpu() for t in [*outputs, *(g for g in gradients if g is not None)]])
    for bench, device in zip(*sides):
        assert bench.shape == device.shape and bench.dtype == device.dtype, name
        assert ((bench - device).abs() <= limit).all(), f"{name}: {(bench - device).abs().max()}"


def check_results(same=same) -> None:
    torch.manual_seed(0)
    x, w, image = torch.randn(6, 8), torch.randn(5, 8), torch.randn(2, 3, 9, 9)
    same("linear", F.linear, x, w, torch.randn(5))
    same("matmul", torch.matmul, torch.randn(2, 4, 6), torch.randn(2, 6, 3))
    same("conv2d", lambda i, k: F.conv2d(i, k, stride=2, padding=1), image, torch.randn(4, 3, 3, 3))
    same("attention", F.scaled_dot_product_attention, *(torch.randn(2, 2, 5, 4) for _ in range(3)))
    same("layer_norm", lambda t: F.layer_norm(t, (8,)), x)
    same("batch_norm", lambda i: F.batch_norm(i, None, None, training=True), image)
    same("sort", torch.sort, x)
    same("index", lambda t: t[torch.tensor([3, 0])][:, 2:7:2], x)
    same("unique", lambda t: torch.unique(t.detach().round()).sum() + t.sum(), x)
    same("in place", lambda t: t.clone().add_(1).mul_(t), x)
    same("view", lambda t: t.view(4, 12).transpose(0, 1).reshape(-1), x)


def check_memory() -> None:
    on_device = torch.ones(3, device="sim")
    assert (on_device + torch.tensor(1.0)).cpu().tolist() == [2, 2, 2], "numbers may stay on the CPU"
    for mixed in (lambda: on_device + torch.ones(3), lambda: on_device + torch.ones(3, device="sim:2")):
        try:
            mixed()
        except RuntimeError as error:
            assert "same device" in str(error), error
        else:
            raise AssertionError("a tensor that was not moved is an error")


def configure(profile: str, rules: str = "") -> str:
    """Tells the device how it is; what it says where that is wrong."""
    library = ctypes.CDLL(LIBRARY)
    library.msprobe_sim_configure.restype = ctypes.c_char_p
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(rules)
        file.flush()
        said = library.msprobe_sim_configure(profile.encode(), file.name.encode() if rules else b"", b"")
        return "" if said is None else said.decode()


def check_profiles_and_faults() -> None:
    product = lambda: torch.matmul(torch.full((1, 1), 1 + 2**-12).to("sim"), torch.full((1, 1), 1 + 2**-12).to("sim")).item()
    assert product() != 1
    assert configure("tf32") == "" and product() == 1
    large, small = torch.full((1,), 6e4, dtype=torch.half).to("sim"), torch.full((1,), 1e-40).to("sim")
    assert configure("saturate") == "" and (large + large).item() == 65504
    assert configure("ftz") == "" and (small + small).item() == 0
    assert configure("exact") == "" and (small + small).item() > 0 and math.isinf((large + large).item())
    ones = torch.ones(2, 2).to("sim")
    assert configure("exact", "faults:\n  - {fault: times_two, operators: [mm]}\n") == ""
    assert (ones @ ones).sum().item() == 16 and (ones + ones).sum().item() == 8
    assert "unknown fault 'hiccup' (known: zeros, times_two, " in configure("exact", "faults:\n  - {fault: hiccup}\n")
    assert "unknown sim profile 'fast'" in configure("fast")


def check_recurrent_layers_under_autocast() -> None:
    """Built from their parts they give the half type, as the CPU's own kernels do."""
    torch.sim.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
    assert configure("bf16-accumulate") == ""
    layer = torch.nn.LSTM(8, 4, num_layers=2)
    weights = [weight.detach().to("sim") for weight in layer.parameters()]
    states = [torch.zeros(2, 2, 4, dtype=torch.bfloat16).to("sim") for _ in range(2)]
    with torch.autocast("sim", dtype=torch.bfloat16):
        results = torch._VF.lstm(torch.randn(3, 2, 8).bfloat16().to("sim"), states, weights, True, 2, 0.0, False, False, False)
    assert [result.dtype for result in results] == [torch.bfloat16] * 3, [result.dtype for result in results]
    assert configure("exact") == ""


def check_units() -> None:
    """A matrix unit computes products, linear layers, convolutions and attention, forward and backward, and cuts."""
    left, right = torch.rand(4, 4096), torch.rand(4096, 4)
    lost = lambda: (left.double() @ right.double() - (left.to("sim") @ right.to("sim")).cpu()).mean().item()
    assert abs(lost()) < 1e-3
    for profile in ("unit1-23-cut", "unit16-25-cut", "unit8-24-strided", "unit16-24-apart"):
        assert configure(profile) == ""
        assert "apart" in profile or 1e-4 < lost() < 1, profile
        cut = functools.partial(same, limit=CUT)
        check_results(cut)
        image = torch.randn(2, 4, 9, 9)
        cut("groups", lambda i, k: F.conv2d(i, k, stride=2, padding=1, groups=2), image, torch.randn(6, 2, 3, 3))
        cut("dilated", lambda i, k: F.conv2d(i, k, dilation=2), image, torch.randn(6, 4, 3, 3))
        cut("conv1d", lambda i, k, b: F.conv1d(i, k, b, padding=1), image[0], torch.randn(6, 9, 3), torch.randn(6))
        cut("conv3d", F.conv3d, torch.randn(1, 2, 4, 4, 4), torch.randn(3, 2, 2, 2, 2))
        cut("transposed", F.conv_transpose2d, image, torch.randn(4, 2, 3, 3))
        cut("mv", torch.mv, torch.randn(4, 6), torch.randn(6))
        cut("dot", torch.dot, torch.randn(6), torch.randn(6))
        cut("addbmm", lambda a, b, c: torch.addbmm(a, b, c, beta=0.5, alpha=2), torch.randn(3, 5), torch.randn(2, 3, 4),
            torch.randn(2, 4, 5))
        cut("empty", torch.matmul, torch.randn(0, 4), torch.randn(4, 3))
    assert configure("unit16-13-fp8") == ""
    if hasattr(torch, "float8_e4m3fn"):
        eights = [torch.rand(16, 512).to(torch.float8_e4m3fn).to("sim") for _ in range(2)]
        scale = torch.ones(()).to("sim")
        given = torch._scaled_mm(eights[0], eights[1].t(), scale, scale, out_dtype=torch.float32).cpu()
        right = eights[0].cpu().double() @ eights[1].cpu().double().t()
        assert 1e-5 < ((right - given) / right).max() < 0.1, "13 bits"
    assert configure("exact") == ""


check_results()
check_memory()
check_units()
check_profiles_and_faults()
check_recurrent_layers_under_autocast()
print("as it should be")
