# SPDX-License-Identifier: Apache-2.0
"""Memory of a kernel under test: poisoned before it is used, with guards on both sides."""

from __future__ import annotations

from typing import Any, List, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_GUARD = 64  # elements on each side
_ALIGN = 16
_WHOLE = {torch.uint8: (0xA5, 0x3C), torch.int8: (0x5A, 0x3C), torch.bool: (True, False)}


def poison(dtype: torch.dtype, second: bool) -> Any:
    """A value that changes every result it gets into; another one for the second run."""
    if dtype.is_floating_point:
        return 1234.5 if second else float("nan")
    if dtype.is_complex:
        return complex(1234.5, -7) if second else complex(float("nan"), 0)
    if dtype in _WHOLE:
        return _WHOLE[dtype][second]
    return 1234567 % (torch.iinfo(dtype).max + 1) if second else 3


class Block:
    """A tensor of one storage, with guards before and behind its elements."""

    def __init__(self, shape: Tuple[int, ...], stride: Tuple[int, ...], dtype: torch.dtype, device: torch.device, second: bool) -> None:
        self.length = 1 + sum((extent - 1) * step for extent, step in zip(shape, stride)) if all(shape) else 0
        self.whole = torch.empty(self.length + 2 * _GUARD + _ALIGN, dtype=dtype, device=device)
        self.whole.fill_(poison(dtype, second))
        begin = (self.whole.data_ptr() // self.whole.element_size()) % _ALIGN
        self.begin = _GUARD + (_ALIGN - begin) % _ALIGN
        self.tensor = self.whole.as_strided(shape, stride, self.begin)
        self.before = self.whole[:self.begin].clone(), self.whole[self.begin + self.length:].clone()

    def written_outside(self) -> bool:
        now = self.whole[:self.begin], self.whole[self.begin + self.length:]
        return any(not _same_bits(one, other) for one, other in zip(self.before, now))


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.numel() == 0:
        return True
    return torch.equal(one.contiguous().flatten().view(torch.uint8), other.contiguous().flatten().view(torch.uint8))


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and _same_bits(one.detach(), other.detach())


_EMPTY = {"aten::empty.memory_format", "aten::empty_strided", "aten::empty_like", "aten::new_empty", "aten::new_empty_strided"}


class Guarded(TorchDispatchMode):
    """While it lasts, what torch.empty and its kin give is poisoned and guarded."""

    def __init__(self, second: bool) -> None:
        super().__init__()
        self.second = second
        self.blocks: List[Block] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func.name() not in _EMPTY or not isinstance(made, torch.Tensor) or made.layout != torch.strided:
            return made
        block = Block(tuple(made.shape), tuple(made.stride()), made.dtype, made.device, self.second)
        self.blocks.append(block)
        return block.tensor

    def put(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same numbers and strides, guarded."""
        if tensor.layout != torch.strided:
            return tensor
        block = Block(tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, tensor.device, self.second)
        if tensor.numel():
            if any(step == 0 and extent > 1 for extent, step in zip(tensor.shape, tensor.stride())):
                narrow = tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())
                block.tensor[narrow].copy_(tensor[narrow])
            else:
                block.tensor.copy_(tensor)
        self.blocks.append(block)
        return block.tensor

    def written_outside(self) -> bool:
        return any(block.written_outside() for block in self.blocks)
