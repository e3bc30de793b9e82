# SPDX-License-Identifier: Apache-2.0
"""The collector for PyTorch."""
try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("msprobe.pytorch needs PyTorch (1.13 or newer), which this Python does not have") from error
try:
    from msprobe import _collect as _native  # noqa: F401
except ImportError as error:
    raise ImportError("msprobe.pytorch: its native module is missing or built for another Python; run 'pip install .' in the directory of "
                      "msprobe to build it for this one") from error
from msprobe.pytorch.acl_graph import AclGraphDumper, acl_save
from msprobe.pytorch.black_box import module_dump, module_dump_end
from msprobe.pytorch.comparison import compare, compare_distributed
from msprobe.pytorch.debugger import PrecisionDebugger
from msprobe.pytorch.randomness import seed_all

__all__ = ["AclGraphDumper", "PrecisionDebugger", "acl_save", "compare", "compare_distributed", "module_dump", "module_dump_end", "seed_all"]
