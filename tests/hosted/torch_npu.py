# SPDX-License-Identifier: Apache-2.0
"""A back end of PyTorch that lives in Python, under the name of Ascend's, made of the simulated device: for tests.

MSPROBE_TEST_SIM names libmsprobe-sim.so. MSPROBE_TEST_PLUGIN says how the import goes wrong: `no_library`, `cause`, `exits`, `no_device`;
or how the device does: `on_the_cpu` (its fallback does not say that it is the device), `sticky` (after an error in gelu every copy fails),
`silent` (after it nothing is done any more, and nothing said).
MSPROBE_SIM_CONFIG and MSPROBE_SIM_PROFILE are those of the simulated device.
"""
import ctypes
import os
import sys
import time
import warnings

import torch

print("torch_npu prints to standard output")
WRONG = os.environ.get("MSPROBE_TEST_PLUGIN", "")

if WRONG == "no_library":
    try:
        ctypes.CDLL("libhccl_of_nobody.so")
    except OSError as error:
        raise RuntimeError("Failed to load the backend extension: torch_npu.") from error
if WRONG == "cause":
    try:
        try:
            raise ValueError("the first cause\nand more of it")
        except ValueError:
            raise KeyError("the second")
    except KeyError as error:
        raise RuntimeError("the last") from error
if WRONG == "exits":
    sys.exit(3)

torch.utils.rename_privateuse1_backend("npu")
# What it exports for msprobe is not seen.
ctypes.CDLL(os.environ["MSPROBE_TEST_SIM"], os.RTLD_LOCAL if WRONG == "on_the_cpu" else os.RTLD_GLOBAL)


FAILED = ("gelu failed\n[ERROR] {time} (PID:{pid}, Device:{device}, RankID:-1) ERR00100 call failed at 0x{address:012x}\n"
          "in /usr/local/vendor/{pid}/kernel.cc:7")


def gelu_fails(how):
    """gelu raises with a message of its own each time; what else it breaks is `how`."""
    library = torch.library.Library("aten", "IMPL")

    def copy(source, target, non_blocking=False):
        if how == "sticky":
            raise RuntimeError("copy: error code is 507015")
        return target

    def gelu(tensor, **_):
        if not hasattr(library, "broken"):
            library.broken = True
            library.impl("_copy_from", copy, "PrivateUse1")
        raise RuntimeError(FAILED.format(time=time.strftime("%Y-%m-%d-%H:%M:%S"), pid=os.getpid(), device=tensor.device.index,
                                         address=id(tensor) << 12))

    library.impl("gelu", gelu, "PrivateUse1")
    return library


if WRONG in ("sticky", "silent"):
    warnings.simplefilter("ignore")
    LIBRARY = gelu_fails(WRONG)


class npu:
    """torch.npu"""

    class config:
        allow_internal_format = True

    @staticmethod
    def device_count():
        return 0 if WRONG == "no_device" else 8

    @staticmethod
    def set_compile_mode(jit_compile):
        print("jit_compile", jit_compile, file=sys.stderr)


torch._register_device_module("npu", npu)
