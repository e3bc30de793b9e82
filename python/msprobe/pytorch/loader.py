# SPDX-License-Identifier: Apache-2.0
"""Tells when a batch is fetched from a data loader."""
from typing import Callable, Optional

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter


class LoaderWatch:
    """Calls before() before and after(index) after every batch that is fetched from `loader` (None: from any loader) in this process;
    batches are counted from 0."""

    def __init__(self, before: Callable[[], None], after: Callable[[int], None], loader: Optional[DataLoader] = None) -> None:
        self._count = 0
        self._original = original = _BaseDataLoaderIter.__next__

        def __next__(iterator):
            if loader is not None and iterator._dataset is not loader.dataset:
                return original(iterator)
            before()
            batch = original(iterator)
            index, self._count = self._count, self._count + 1
            after(index)
            return batch

        _BaseDataLoaderIter.__next__ = __next__

    def close(self) -> None:
        _BaseDataLoaderIter.__next__ = self._original
