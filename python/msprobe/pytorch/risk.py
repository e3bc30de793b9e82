# SPDX-License-Identifier: Apache-2.0
"""risk_level: which names are left out when the user asks for fewer."""
import os

from msprobe.common.ops_file import read_ops

LEVELS_FILE = os.path.join(os.path.dirname(__file__), "hook_module", "risk_levels.yaml")


def hidden(level: str):
    """Tells for (group, name) whether `level` leaves it out."""
    if level == "ALL":
        return lambda group, name: False
    names = read_ops(LEVELS_FILE)
    low, core = frozenset(names["low"]), frozenset(names["core"])

    def is_hidden(group: str, name: str) -> bool:
        if level == "FOCUS":
            return name in low
        return group not in ("torch_npu", "distributed", "npu_distributed") and name not in core
    return is_hidden
