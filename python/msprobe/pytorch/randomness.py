"""Fixes the randomness of a run, so that two runs can be compared."""
import os
import random

import torch


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False, is_enhanced: bool = False) -> None:
    """Seeds Python, numpy (where it is loaded) and PyTorch; `mode` asks for deterministic kernels. `rm_dropout` and `is_enhanced`
    are accepted for the sake of scripts that pass them; the model is never changed."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= 2**32 - 1:
        raise ValueError(f"seed: {seed!r}, wanted an integer from 0 to 4294967295")
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    try:
        import numpy
        numpy.random.seed(seed)
    except ImportError:
        pass
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(bool(mode))
