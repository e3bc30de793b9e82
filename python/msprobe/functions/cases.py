# SPDX-License-Identifier: Apache-2.0
"""Cases for one kernel, made from one example of its arguments: dtypes, shapes, layouts and values. The same seed makes the same cases."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch

from msprobe.functions.messages import mapped, tensors_in

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_FEW = 8  # so many distinct values are a choice of labels, not numbers
_LARGEST = 1 << 17  # elements of one tensor
Extents = Tuple[Tuple[int, int], ...]  # what each extent of the example becomes


@dataclass(frozen=True)
class Case:
    """One set of arguments. `values` and `layout` are names in VALUES and LAYOUTS."""

    dtype: torch.dtype
    values: str = "example"
    layout: str = "contiguous"
    extents: Extents = ()
    is_given: bool = False  # the very shapes and dtype of the example

    def __str__(self) -> str:
        words = [str(self.dtype)[6:], f"values: {self.values}"]
        if self.layout != "contiguous":
            words.append(f"layout: {self.layout}")
        return ", ".join(words)


def _generator(seed: int, *words: object) -> torch.Generator:
    return torch.Generator().manual_seed(zlib.crc32(repr((seed, *words)).encode()))


def _normal(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _cancelling(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Neighbours of opposite signs and nearly equal size: sums are small beside their terms."""
    flat = _normal(shape, generator).flatten()
    half = flat.numel() // 2
    flat[1:2 * half:2] = -flat[0:2 * half:2] * (1 + 0.01 * flat[1:2 * half:2])
    return flat.view(shape)


def _outliers(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    values = _normal(shape, generator)
    return torch.where(torch.rand(shape, generator=generator) < 0.02, values * 30, values)


def _subnormal(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    return _normal(shape, generator) * 1e-5


def _coarse(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Few distinct numbers: ties, and zeros."""
    return torch.randint(-3, 4, tuple(shape), generator=generator).double()


def _sorted(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    flat = _normal(shape, generator).flatten().sort().values
    return flat.view(shape)


def _with(value: float) -> Callable[[Sequence[int], torch.Generator], torch.Tensor]:
    def make(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
        values = _normal(shape, generator).flatten()
        if values.numel():
            places = torch.randint(0, values.numel(), (max(1, values.numel() // 64),), generator=generator)
            values[places] = value
            values[-1] = value
        return values.view(shape)

    return make


def _infinities(shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    values = _with(float("inf"))(shape, generator)
    flat = values.flatten()
    flat[:1] = float("-inf")
    return flat.view(shape)


VALUES: Dict[str, Callable[[Sequence[int], torch.Generator], torch.Tensor]] = {
    "example": _normal, "normal": _normal, "cancelling": _cancelling, "outliers": _outliers, "small": _subnormal, "coarse": _coarse,
    "sorted": _sorted, "NaN": _with(float("nan")), "Inf": _infinities,
}
_SPECIAL = ("NaN", "Inf")


class Domain:
    """What is known of an argument from its example: signs, range, rows that sum to 1, few distinct values."""

    def __init__(self, tensor: torch.Tensor) -> None:
        values = tensor.detach().cpu()
        self.dtype = values.dtype
        self.floats = values.is_floating_point()
        self.whole = not self.floats and values.dtype != torch.bool
        flat = values.double().flatten()
        flat = flat[flat.isfinite()]
        self.least = float(flat.min()) if flat.numel() else 0.0
        self.most = float(flat.max()) if flat.numel() else 1.0
        self.mean = float(flat.mean()) if flat.numel() else 0.0
        self.spread = float(flat.std()) if flat.numel() > 1 else abs(self.mean) or 1.0
        self.density = float((flat != 0).double().mean()) if flat.numel() else 0.5
        distinct = flat.unique()
        self.labels = distinct if self.floats and flat.numel() > 2 * _FEW and distinct.numel() <= _FEW else None
        rows = values.double().sum(-1) if values.dim() and values.numel() else torch.zeros(1)
        self.shares = self.floats and self.least >= 0 and values.numel() > 1 and bool((rows - 1).abs().max() < 1e-2)
        # Bounds beyond which a function may not be defined, as far as an example shows them.
        self.not_negative = self.floats and flat.numel() > 4 and self.least >= 0
        self.within_one = self.not_negative and self.most <= 1

    def draw(self, shape: Sequence[int], kind: str, generator: torch.Generator) -> torch.Tensor:
        if self.dtype == torch.bool:
            return torch.rand(shape, generator=generator) < self.density
        if self.whole:
            return torch.randint(int(self.least), int(self.most) + 1, tuple(shape), generator=generator).to(self.dtype)
        if self.labels is not None:
            return self.labels[torch.randint(0, self.labels.numel(), tuple(shape), generator=generator)]
        values = VALUES[kind](shape, generator)
        if kind == "example":
            values = values * self.spread + self.mean
        if self.shares and values.dim():
            return values.nan_to_num(0, 3, -3).softmax(-1)
        if self.within_one:
            return values.sigmoid() if kind != "example" else values.clamp(self.least, self.most)
        return values.abs() if self.not_negative else values


LAYOUTS = ("contiguous", "transposed", "sliced", "offset", "expanded")


def laid_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same numbers in other places of memory."""
    if layout == "transposed" and tensor.dim() > 1:
        order = [*range(tensor.dim() - 2), tensor.dim() - 1, tensor.dim() - 2]
        return tensor.permute(order).contiguous().permute(order)
    if layout == "sliced" and tensor.dim() > 0:
        wide = tensor.new_zeros((*tensor.shape[:-1], tensor.shape[-1] * 2 + 1))
        view = wide[..., :tensor.shape[-1] * 2:2]
        return view.copy_(tensor)
    if layout == "offset":
        flat = tensor.new_zeros(tensor.numel() + 3)[3:]
        return flat.view(tensor.shape).copy_(tensor)
    if layout == "expanded" and tensor.dim() > 1 and tensor.numel():
        return tensor[:1].clone().expand(tensor.shape)
    return tensor.contiguous()


class Example:
    """The arguments a user gave, and everything that is made from them."""

    def __init__(self, args: Sequence[Any], seed: int) -> None:
        self.args = mapped(list(args), lambda tensor: tensor.detach())
        self.seed = seed
        tensors = tensors_in(self.args)
        self._domains = [Domain(tensor) for tensor in tensors]
        floats = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
        self.dtype = max(set(floats), key=floats.count) if floats else torch.float32
        self.has_floats = bool(floats)
        self.extents = sorted({extent for tensor in tensors for extent in tensor.shape if extent > 1})

    def given(self) -> Case:
        return Case(self.dtype, is_given=True)

    def arguments(self, case: Case) -> List[Any]:
        """Fresh ones."""
        domains = iter(self._domains)
        place = iter(range(1 << 30))
        change = dict(case.extents)

        def of(tensor: torch.Tensor) -> torch.Tensor:
            domain = next(domains)
            number = next(place)
            shape = [change.get(extent, extent) for extent in tensor.shape]
            dtype = case.dtype if tensor.dtype == self.dtype and domain.floats else tensor.dtype
            if case.is_given and case.values == "example":
                made = tensor.detach().cpu()
            else:
                made = domain.draw(shape, case.values, _generator(self.seed, number, case.values, shape))
            made = made.to(dtype)
            # Numbers that a function divides by, say, need not be special too.
            return laid_out(made, case.layout).to(tensor.device)

        return [self._number(value, change) for value in mapped(self.args, of)]

    def _number(self, value: Any, change: Dict[int, int]) -> Any:
        """An extent that is named beside the tensors, as in layer_norm(x, [64])."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int) and value > 3:
            return change.get(value, value)
        if type(value) in (list, tuple):
            return type(value)(self._number(item, change) for item in value)
        if isinstance(value, torch.Size):
            return torch.Size(self._number(item, change) for item in value)
        return value

    def shapes(self) -> Iterator[Extents]:
        """Others than those of the example: odd, one, large, empty; all extents at once, and one after another."""
        def changed(change: Callable[[int], int]) -> Extents:
            return tuple((extent, change(extent)) for extent in self.extents)

        for change in (lambda e: e + 1, lambda e: max(1, e - 1), lambda e: e // 2 + 1 if e > 3 else e):
            yield changed(change)
        for extent in self.extents:
            yield ((extent, extent * 2 + 5),)
            yield ((extent, 1),)
        for extent in self.extents:
            yield ((extent, self._long(extent)),)
            yield ((extent, 0),)

    def _long(self, extent: int) -> int:
        """As many as the tensors bear, 4097 at most."""
        most = 4097.0
        for tensor in tensors_in(self.args):
            times = tuple(tensor.shape).count(extent)
            if times and tensor.numel():
                most = min(most, (_LARGEST / (tensor.numel() / extent ** times)) ** (1 / times))
        return max(extent + 2, int(most) | 1)

    def smaller(self, case: Case) -> Iterator[Case]:
        """Forms of a case with one extent reduced."""
        now = {extent: dict(case.extents).get(extent, extent) for extent in self.extents}
        for extent in sorted(now, key=lambda e: -now[e]):
            for to in (1, now[extent] // 8, now[extent] // 2, now[extent] - 1):
                if 0 < to < now[extent]:
                    yield replace(case, extents=tuple((e, to if e == extent else n) for e, n in now.items()), is_given=False)


def plan(example: Example, dtypes: Optional[Sequence[torch.dtype]] = None) -> Iterator[Case]:
    """The very example first; then values, shapes and layouts, each in turn with another dtype."""
    wanted = list(dtypes) if dtypes else [example.dtype, *(dtype for dtype in DTYPES if dtype != example.dtype)]
    if not example.has_floats:
        wanted = [example.dtype]
    yield example.given()
    for dtype in wanted:
        yield Case(dtype, "normal")
    turns = random.Random(example.seed)
    for values in VALUES:
        for dtype in [wanted[0], turns.choice(wanted)] if values in ("example", "outliers", *_SPECIAL) else [turns.choice(wanted)]:
            yield Case(dtype, values)
    for number, extents in enumerate(example.shapes()):
        yield Case(wanted[0] if number % 2 else turns.choice(wanted), "normal", extents=extents)
    for layout in LAYOUTS[1:]:
        yield Case(wanted[0], "normal", layout)
