# SPDX-License-Identifier: Apache-2.0
"""module_dump(module, name): until module_dump_end() one module is recorded as a whole, under a name of the user's, and nothing else."""
import torch

from msprobe.common.config import ConfigError


def module_dump(module: torch.nn.Module, dump_name: str) -> None:
    """From now on only calls of `module` are recorded, as ``Module.{dump_name}.{Class}``, at whatever level."""
    from msprobe.pytorch.debugger import PrecisionDebugger

    if not isinstance(module, torch.nn.Module):
        raise ConfigError(f"module_dump: found {type(module).__name__}, expected a torch.nn.Module")
    PrecisionDebugger._existing()._begin_black_box(module, str(dump_name))


def module_dump_end() -> None:
    """Recording goes on as before module_dump()."""
    from msprobe.pytorch.debugger import PrecisionDebugger

    PrecisionDebugger._existing()._end_black_box()
