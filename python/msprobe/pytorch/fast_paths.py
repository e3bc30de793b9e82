# SPDX-License-Identifier: Apache-2.0
"""nn.MultiheadAttention, nn.TransformerEncoderLayer and nn.TransformerEncoder run one fused operator in evaluation, unless
torch.overrides.has_torch_function says that somebody overrides their calls. It says so as soon as any mode is on, the collector's own
included, and the model would run other operators while it is recorded than it does otherwise. So for these
three it ignores the collector's mode."""
import sys
import types
from typing import Callable

import torch
from torch import overrides

# What they run then. It is recorded like the functions of the list, which has what it stands for.
FUSED = ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")

_ASKING = frozenset(kind.forward.__code__ for kind in (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer,
                                                       torch.nn.TransformerEncoder) if isinstance(kind.forward, types.FunctionType))


class FastPaths:
    """`ask_without_mode(function, arguments)` calls the function while the collector's mode is off."""

    def __init__(self, ask_without_mode: Callable) -> None:
        original = overrides.has_torch_function

        def has_torch_function(arguments):
            if sys._getframe(1).f_code in _ASKING:
                return ask_without_mode(original, arguments)
            return original(arguments)

        self._own, self._function = original, has_torch_function
        # A model that is scripted while it is recorded takes this one for PyTorch's own, too.
        torch.jit._builtins._register_builtin(has_torch_function, "aten::has_torch_function")

    def start(self) -> None:
        if overrides.has_torch_function is self._own:
            overrides.has_torch_function = self._function

    def stop(self) -> None:
        """Unless somebody else has replaced it since."""
        if overrides.has_torch_function is self._function:
            overrides.has_torch_function = self._own
