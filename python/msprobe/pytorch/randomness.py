# SPDX-License-Identifier: Apache-2.0
"""Fixes the randomness of a run, so that two runs can be compared."""
import functools
import importlib
import os
import random
from typing import Callable

import torch

from msprobe.pytorch.function_body import FunctionBody

_DROPOUTS = "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
_RECURRENT = "lstm gru rnn_tanh rnn_relu".split()
_is_removed = False


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False, is_enhanced: bool = False) -> None:
    """Seeds Python, numpy (where it is loaded) and PyTorch; `mode` asks for deterministic kernels, `rm_dropout` makes every dropout
    hand on its input, from now on. `is_enhanced` is accepted for the sake of scripts that pass it."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= 2**32 - 1:
        raise ValueError(f"seed: {seed!r}, expected an integer from 0 to 4294967295")
    for name, flag in (("mode", mode), ("rm_dropout", rm_dropout), ("is_enhanced", is_enhanced)):
        if not isinstance(flag, bool):
            raise ValueError(f"{name}: {flag!r}, expected True or False")
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    try:
        import numpy
        numpy.random.seed(seed)
    except ImportError:
        pass
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(mode)
    if rm_dropout:
        _remove_dropout()


def _remove_dropout() -> None:
    """Every probability becomes 0: of the functions, of attention, and between the layers of recurrent modules."""
    global _is_removed
    if _is_removed:
        return
    _is_removed = True
    functional, recurrent = torch.nn.functional, importlib.import_module("torch._VF")
    for name in _DROPOUTS:
        if hasattr(functional, name):
            FunctionBody(getattr(functional, name), _with_probability("p", 1)).exchange()
    FunctionBody(functional.multi_head_attention_forward, _with_probability("dropout_p", 10)).exchange()
    attention = getattr(functional, "scaled_dot_product_attention", None)  # not written in Python
    if attention is not None:
        functional.scaled_dot_product_attention = _plain(attention, _with_probability("dropout_p", 4))
    for name in _RECURRENT:
        setattr(recurrent, name, _plain(getattr(recurrent, name), _without_floats))


def _plain(original: Callable, replacement: Callable) -> Callable:
    @functools.wraps(original, assigned=("__name__", "__doc__"))
    def function(*args, **kwargs):
        return replacement(original, args, kwargs)
    return function


def _with_probability(name: str, position: int) -> Callable:
    def run(original: Callable, args: tuple, kwargs: dict):
        if len(args) > position:
            return original(*args[:position], 0.0, *args[position + 1:], **kwargs)
        return original(*args, **{**kwargs, name: 0.0})
    return run


def _without_floats(original: Callable, args: tuple, kwargs: dict):
    """The probability is the only number with a fraction that they take."""
    return original(*(0.0 if isinstance(value, float) else value for value in args), **kwargs)
