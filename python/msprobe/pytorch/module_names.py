# SPDX-License-Identifier: Apache-2.0
"""What a model calls its modules."""
from typing import List, Tuple

import torch

# Parts of a path that a wrapper adds: torch.compile, FSDP, a checkpoint's wrapper, and those that hold the model as `module`.
_WRAPPERS = frozenset(("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"))
_HOLDERS = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)


def module_names(root: torch.nn.Module) -> List[Tuple[torch.nn.Module, str]]:
    """Every module below `root` with its path; `root` itself has the name of its class."""
    held = "module." if isinstance(root, _HOLDERS) else ""
    named = []
    for path, module in root.named_modules():
        path = path[len(held):] if path.startswith(held) else "" if path == held.rstrip(".") else path
        path = ".".join(part for part in path.split(".") if part not in _WRAPPERS)
        named.append((module, path or type(module).__name__))
    return named
