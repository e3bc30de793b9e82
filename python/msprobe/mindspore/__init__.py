# SPDX-License-Identifier: Apache-2.0
"""The collector for MindSpore, PyNative mode."""
try:
    import mindspore as _mindspore  # noqa: F401
except ImportError as error:
    raise ImportError("msprobe.mindspore needs MindSpore, which this Python does not have or cannot load "
                      f"({error}); MindSpore 2.10 needs numpy below 2") from error
try:
    from msprobe import _collect as _native  # noqa: F401
except ImportError as error:
    raise ImportError("msprobe.mindspore: its native module is missing or built for another Python; run 'pip install .' in the directory of "
                      "msprobe to build it for this one") from error
from msprobe.common.comparison import compare, compare_distributed
from msprobe.mindspore.callback import MsprobeStep
from msprobe.mindspore.debugger import PrecisionDebugger

__all__ = ["MsprobeStep", "PrecisionDebugger", "compare", "compare_distributed"]
