# SPDX-License-Identifier: Apache-2.0
"""What a server records of its batches: the tokens of one request, and some of the forward passes that make a sequence."""
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.utils.hooks import RemovableHandle

from msprobe.common import log


class TokensOfRequest:
    """Where the tokens of a request lie in a batch. Batches are the tokens of their requests, one behind the other, in the order of
    `scheduled_tokens`. Servers add to the ids that their clients know, so a part of an id will do where it is the part of one alone."""

    def __init__(self) -> None:
        self._told: set = set()

    def find(self, scheduled: Mapping, request_id: Any) -> Optional[Tuple[int, int, int]]:
        """(tokens of the batch, first, end) of the request; None if it is not in this batch."""
        sizes = self._sizes(scheduled)
        wanted = str(request_id)
        matching = [name for name in sizes if name == wanted] or [name for name in sizes if wanted in name]
        if len(matching) > 1:
            self._tell(f"request_id {wanted!r} fits {len(matching)} requests of a batch ({', '.join(matching[:3])}, ...): none is recorded; "
                       "give the whole id")
        if len(matching) != 1:
            return None
        names = list(sizes)
        first = sum(sizes[name] for name in names[:names.index(matching[0])])
        return sum(sizes.values()), first, first + sizes[matching[0]]

    def _sizes(self, scheduled: Mapping) -> Dict[str, int]:
        try:
            return {str(name): int(count) for name, count in scheduled.items()}
        except (AttributeError, TypeError, ValueError):
            self._tell(f"scheduled_tokens: found {type(scheduled).__name__}, expected {{request: number of tokens}}; ignored")
            return {}

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            log.warning(text)


class TokenRange:
    """Records the forward passes `first` to `last` of a model, counted from 0: in the loop that makes a sequence, 0 is the prompt and each
    further one a token."""

    def __init__(self, model: torch.nn.Module, first: int, last: int, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._first, self._last = first, last
        self._begin, self._end = begin, end
        self._passes = 0
        self._hooks: List[RemovableHandle] = [model.register_forward_pre_hook(self._before), model.register_forward_hook(self._after)]

    def _before(self, _module, _inputs) -> None:
        number, self._passes = self._passes, self._passes + 1
        if number == self._first:
            self._begin()

    def _after(self, _module, _inputs, _output) -> None:
        if self._passes == self._last + 1:
            self._end()
            self.close()

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()


def checked_range(given: Any) -> Optional[Tuple[int, int]]:
    """[first, last]; None, and a line, where it is something else."""
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        first, last = given
        if all(isinstance(value, int) and not isinstance(value, bool) for value in given) and 0 <= first <= last:
            return first, last
    log.warning(f"token_range: found {given!r}, expected [first, last] with 0 <= first <= last; every forward pass is recorded")
    return None
