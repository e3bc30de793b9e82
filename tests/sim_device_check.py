#!/usr/bin/env python3
"""The simulated device in plain PyTorch: it computes what the CPU does, on its own memory, and errs as it is told.

    python3 tests/sim_device_check.py LIBRARY

Ends with 77 where there is no PyTorch that can load the library.
"""

import os
import subprocess
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


def same(name: str, function, *inputs: torch.Tensor) -> None:
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
        assert ((bench - device).abs() <= 1e-5).all(), f"{name}: {(bench - device).abs().max()}"


def check_results() -> None:
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


def in_other_process(profile: str, rules: str, code: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(rules)
        file.flush()
        environment = {**os.environ, "MSPROBE_SIM_PROFILE": profile, "MSPROBE_SIM_CONFIG": file.name if rules else ""}
        program = (f"import torch, types; torch.ops.load_library({LIBRARY!r})\n"
                   f"torch._register_device_module('sim', types.ModuleType('torch.sim'))\n{code}")
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        return done.stdout.strip() + done.stderr.strip()


def check_profiles_and_faults() -> None:
    product = "a = torch.full((1, 1), 1 + 2**-12).to('sim'); print((a @ a).item() == 1)"
    assert in_other_process("tf32", "", product) == "True"
    assert in_other_process("exact", "", product) == "False"
    overflow = "a = torch.full((1,), 6e4, dtype=torch.half).to('sim'); print((a + a).item())"
    assert in_other_process("saturate", "", overflow) == "65504.0"
    small = "a = torch.full((1,), 1e-40).to('sim'); print((a + a).item())"
    assert in_other_process("ftz", "", small) == "0.0"
    doubled = "a = torch.ones(2, 2).to('sim'); print((a @ a).sum().item(), (a + a).sum().item())"
    assert in_other_process("exact", "faults:\n  - {fault: times_two, operators: [mm]}\n", doubled) == "16.0 8.0"
    assert "no fault 'hiccup'" in in_other_process("exact", "faults:\n  - {fault: hiccup}\n", doubled)
    assert "no sim profile" in in_other_process("fast", "", doubled)


check_results()
check_memory()
check_profiles_and_faults()
print("as it should be")
