"""Tells when a batch is fetched from a data loader."""
from typing import Callable, Optional

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter


class LoaderWatch:
    """Calls on_batch(index) after every batch that is fetched from `loader` (None: from any loader) in this process, counted from 0."""

    def __init__(self, on_batch: Callable[[int], None], loader: Optional[DataLoader] = None) -> None:
        self._on_batch = on_batch
        self._loader = loader
        self._count = 0
        self._original = original = _BaseDataLoaderIter.__next__
        watch = self

        def __next__(iterator):
            watched = watch._loader is None or iterator._dataset is watch._loader.dataset
            batch = original(iterator)
            if watched:
                index, watch._count = watch._count, watch._count + 1
                watch._on_batch(index)
            return batch

        _BaseDataLoaderIter.__next__ = __next__

    def close(self) -> None:
        _BaseDataLoaderIter.__next__ = self._original
