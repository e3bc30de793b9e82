# SPDX-License-Identifier: Apache-2.0
"""Calls of 8 and 4 bits with results of our own: formats, layouts of scales, right arithmetics and faults, in NumPy.

Nothing here is the program's code or PyTorch's arithmetic: check_low_precision.py scores the program with it.
"""

import copy
import dataclasses
from collections.abc import Callable

import numpy as np
import torch

# ---- formats ----------------------------------------------------------------------------------------------------------


def _decoded(code: int, mantissa: int, bias: int, sign_bit: int) -> float:
    rest = code & (sign_bit - 1)
    exponent, low = rest >> mantissa, rest & ((1 << mantissa) - 1)
    value = low * 2.0 ** (1 - bias - mantissa) if exponent == 0 else (1 + low / (1 << mantissa)) * 2.0 ** (exponent - bias)
    return -value if code & sign_bit else value


def _tables() -> dict[str, np.ndarray]:
    e4m3, e5m2 = ([_decoded(c, m, b, 128) for c in range(256)] for m, b in ((3, 7), (2, 15)))
    fn_uz, e5_uz = ([_decoded(c, m, b, 128) for c in range(256)] for m, b in ((3, 8), (2, 16)))
    for code in (0x7F, 0xFF):
        e4m3[code] = np.nan
    for code in range(0x7C, 0x80):
        e5m2[code], e5m2[code | 128] = (np.inf, -np.inf) if code == 0x7C else (np.nan, np.nan)
    fn_uz[128] = e5_uz[128] = np.nan
    e8m0 = [2.0 ** (c - 127) for c in range(255)] + [np.nan]
    e2m1 = [_decoded(c & 15, 1, 1, 8) for c in range(256)]
    named = {"e4m3fn": e4m3, "e5m2": e5m2, "e4m3fnuz": fn_uz, "e5m2fnuz": e5_uz, "e8m0": e8m0, "e2m1": e2m1}
    return {name: np.array(values, dtype=np.float64) for name, values in named.items()}


TABLES = _tables()
CODES = {"e4m3fn": 256, "e5m2": 256, "e4m3fnuz": 256, "e5m2fnuz": 256, "e8m0": 255, "e2m1": 16}
DTYPES = {
    "e4m3fn": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "e4m3fnuz": torch.float8_e4m3fnuz,
    "e5m2fnuz": torch.float8_e5m2fnuz,
    "e8m0": torch.float8_e8m0fnu,
    "e2m1": torch.float4_e2m1fn_x2,
}
LARGEST = {name: np.nanmax(np.where(np.isfinite(table), table, np.nan)) for name, table in TABLES.items()}
MANTISSA = {torch.float32: (24, -149, 128), torch.bfloat16: (8, -133, 128), torch.float16: (11, -24, 16), torch.float64: (53, -1074, 1024)}


def encode(form: str, values: np.ndarray, saturate: bool | None = None) -> np.ndarray:
    """The nearest codes, ties to even; beyond the range as PyTorch 2.13 does, or saturated (true), or not (false)."""
    table, top = TABLES[form], LARGEST[form]
    half = CODES[form] // 2
    codes = np.arange(half)[np.isfinite(table[:half])] if form != "e8m0" else np.arange(255)
    ladder = table[codes]
    size = np.abs(values)
    clean = np.where(np.isfinite(size), size, 0)
    above = np.clip(np.searchsorted(ladder, clean, side="right"), 1, len(ladder) - 1)
    low, high = ladder[above - 1], ladder[above]
    down, up = clean - low, high - clean
    tie_up = (codes[above - 1] & 1) == 1 if form != "e8m0" else np.ones_like(clean, dtype=bool)
    code = np.where((up < down) | ((up == down) & tie_up), codes[above], codes[above - 1])
    if form == "e8m0":
        code = np.where((clean > ladder[0]) & (clean < ladder[1]), 1, code)
    limit = top + (ladder[-1] - ladder[-2]) / 2 if form != "e8m0" else 1.5 * top
    beyond = (size >= limit) if form not in ("e4m3fn", "e2m1") else (size > top)
    keeps = form in ("e4m3fn", "e2m1") if saturate is None else saturate
    nan = {"e4m3fn": 0x7F, "e5m2": 0x7F, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80, "e8m0": 0xFF, "e2m1": 7}[form]
    outer = codes[-1] if keeps else 0x7C if form == "e5m2" else nan
    if saturate is False:
        beyond = size >= limit if form != "e4m3fn" else size > 464
        code = np.where((size > top) & ~beyond, codes[-1], code)
    code = np.where(beyond, outer, code)
    code = np.where(np.isnan(values), nan, code).astype(np.uint8)
    if form == "e8m0":
        return code
    sign = np.signbit(values)
    if form.endswith("fnuz"):
        return np.where(sign & (code != 0) & (code != nan), code | 128, code).astype(np.uint8)
    return np.where(sign, code | (8 if form == "e2m1" else 128), code).astype(np.uint8)


def rounded(values: np.ndarray, dtype: torch.dtype, how=np.rint) -> np.ndarray:
    """Numbers of a float dtype, rounded once."""
    digits, least, most = MANTISSA[dtype]
    finite = np.isfinite(values)
    safe = np.where(finite, values, 0)
    unit = np.maximum(np.frexp(safe)[1] - digits, least)
    near = np.ldexp(how(np.ldexp(safe, -unit)), unit)
    near = np.where(np.abs(near) >= 2.0**most, np.copysign(np.inf, near), near) if most < 1024 else near
    return np.where(finite, near, values)


def tensor_of(values: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    for form, own in DTYPES.items():
        if own == dtype:
            return torch.from_numpy(encode(form, values)).view(dtype)
    return torch.from_numpy(rounded(values, dtype)).to(dtype)


def packed(codes: np.ndarray) -> np.ndarray:
    return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8)


# ---- layouts ----------------------------------------------------------------------------------------------------------

TENSOR, ROW, B16, B32, B128, SQUARE = range(6)
LENGTH = {B16: 16, B32: 32, B128: 128, SQUARE: 128}


def ceil(number: int, by: int) -> int:
    return -(-number // by)


def swizzled(grid: np.ndarray, fill: int = 0) -> np.ndarray:
    rows, blocks = grid.shape
    wide = ceil(blocks, 4)
    out = np.full(ceil(rows, 128) * wide * 512, fill, dtype=grid.dtype)
    r, c = np.meshgrid(np.arange(rows), np.arange(blocks), indexing="ij")
    out[((r // 128) * wide + c // 4) * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4] = grid
    return out


def unswizzled(flat: np.ndarray, rows: int, blocks: int) -> np.ndarray:
    wide = ceil(blocks, 4)
    r, c = np.meshgrid(np.arange(rows), np.arange(blocks), indexing="ij")
    return flat[((r // 128) * wide + c // 4) * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4]


@dataclasses.dataclass
class Side:
    """A factor of one product, its rows outermost."""

    codes: np.ndarray  # (rows, terms)
    form: str  # a format, or "plain": codes are the numbers
    grid: np.ndarray  # (rows, blocks) or (1, 1); of squares one row for each 128
    recipe: int = TENSOR
    whole: float = 1.0
    plain: torch.dtype = torch.bfloat16

    def wide_grid(self) -> np.ndarray:
        rows, terms = self.codes.shape
        grid = np.repeat(self.grid, 128, axis=0)[:rows] if self.recipe == SQUARE else self.grid
        if grid.shape[1] > 1:
            grid = np.repeat(grid, LENGTH[self.recipe], axis=1)[:, :terms]
        return np.broadcast_to(grid, (rows, terms))

    def raw(self) -> np.ndarray:
        return self.codes if self.form == "plain" else TABLES[self.form][self.codes]

    def numbers(self) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.raw() * self.wide_grid() * self.whole


@dataclasses.dataclass
class Part:
    left: Side
    right: Side
    index: int = -1
    row: int = 0
    column: int = 0


@dataclasses.dataclass
class Product:
    label: str
    name: str
    parts: list[Part]
    shape: tuple[int, ...]
    out: torch.dtype
    args: list
    kwargs: dict
    bias: np.ndarray | None = None
    fast: bool = False
    scale_result: float | None = None
    on_cpu: bool = False
    bias_after: bool = False  # faults
    experts: int = 0

    def place(self, result: np.ndarray, part: Part) -> np.ndarray:
        matrix = result if part.index < 0 else result[part.index]
        return matrix[part.row : part.row + len(part.left.codes), part.column : part.column + len(part.right.codes)]

    def summed(self, arithmetic: Callable[[Part], np.ndarray]) -> np.ndarray:
        result = np.zeros(self.shape)
        with np.errstate(all="ignore"):
            for part in self.parts:
                self.place(result, part)[...] = arithmetic(part)
            if self.bias is not None:
                if self.bias_after:
                    result = rounded(result, self.out)
                result = result + self.bias
            return result / self.scale_result if self.scale_result else result

    def defined(self) -> np.ndarray:
        mask = np.zeros(self.shape, dtype=bool)
        for part in self.parts:
            self.place(mask, part)[...] = True
        return mask


# ---- right arithmetics ------------------------------------------------------------------------------------------------


def exact(part: Part) -> np.ndarray:
    return part.left.numbers() @ part.right.numbers().T


def single(part: Part) -> np.ndarray:
    """Scales first, sums in float32, as PyTorch's CPU."""
    left, right = (s.raw().astype(np.float32) * s.wide_grid().astype(np.float32) * np.float32(s.whole) for s in (part.left, part.right))
    if (
        not (np.isfinite(left).all() and np.isfinite(right).all())
        and np.isfinite(part.left.numbers()).all()
        and np.isfinite(part.right.numbers()).all()
    ):
        return exact(part)
    return (torch.from_numpy(np.ascontiguousarray(left)) @ torch.from_numpy(np.ascontiguousarray(right)).T).numpy().astype(np.float64)


def single_after(part: Part) -> np.ndarray:
    """Sums in float32 by blocks, scales after them."""

    def f32(x):
        return rounded(x, torch.float32)

    return _by_blocks(
        part,
        lambda a, b: f32((torch.from_numpy(a.astype(np.float32)) @ torch.from_numpy(b.astype(np.float32)).T).numpy().astype(np.float64)),
        f32,
    )


def _by_blocks(part: Part, product, f32) -> np.ndarray:
    left, right = part.left, part.right
    terms = left.codes.shape[1]
    lengths = [LENGTH[s.recipe] for s in (left, right) if s.recipe >= B16 and s.grid.shape[1] > 1]
    block = min(lengths, default=max(terms, 1))
    wide_left, wide_right = left.wide_grid(), right.wide_grid()
    total = np.zeros((len(left.codes), len(right.codes)))
    for begin in range(0, terms, block):
        end = min(begin + block, terms)
        piece = product(left.raw()[:, begin:end], right.raw()[:, begin:end])
        piece = f32(f32(piece * wide_left[:, begin : begin + 1]) * wide_right[:, begin : begin + 1].T)
        total = f32(total + piece)
    return f32(total * f32(left.whole * right.whole)) if left.whole * right.whole != 1 else total


def unit(bits: int, block: int = 32, promote: int = 0):
    """A matrix unit: `block` products at once, `bits` behind the largest exponent, cut."""

    def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        terms = a.shape[1]
        total = np.zeros((len(a), len(b)))
        running = np.zeros_like(total)
        for begin in range(0, terms, block):
            products = a[:, None, begin : begin + block] * b[None, :, begin : begin + block]
            top = np.maximum(np.abs(products).max(axis=2), np.abs(running))
            quantum = np.ldexp(1.0, np.frexp(np.where(np.isfinite(top), top, 0))[1] - 1 - bits)
            cut = np.where(np.isfinite(products), np.trunc(products / quantum[..., None]), products).sum(axis=2) + np.trunc(
                running / quantum
            )
            running = _kept(cut * quantum, min(bits, 23))
            if promote and (begin + block) % promote == 0:
                total, running = rounded(total + running, torch.float32), np.zeros_like(total)
        return rounded(total + running, torch.float32)

    def f32(x):
        return rounded(x, torch.float32)

    def arithmetic(part: Part) -> np.ndarray:
        inside = any(s.recipe in (B16, B32) for s in (part.left, part.right))
        if not inside:
            return _by_blocks(part, multiply, f32)
        left, right = part.left.raw() * part.left.wide_grid(), part.right.raw() * part.right.wide_grid()
        return multiply(left, right) * (part.left.whole * part.right.whole)

    return arithmetic


def _kept(values: np.ndarray, bits: int) -> np.ndarray:
    finite = np.isfinite(values)
    power = np.frexp(np.where(finite, values, 0))[1] - 1 - bits
    return np.where(finite, np.ldexp(np.trunc(np.ldexp(np.where(finite, values, 0), -power)), power), values)


# ---- making calls -----------------------------------------------------------------------------------------------------


def draw(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> np.ndarray:
    values = rng.standard_normal(shape)
    if kind == "positive":
        return np.abs(values) + 0.1
    if kind == "wide":
        return values * np.exp2(rng.integers(-6, 7, shape))
    if kind == "sparse":
        return values * (rng.random(shape) < 0.3)
    if kind == "outlier":
        values[:, rng.integers(0, max(shape[1], 1), 1)] *= 50
    return values


def quantised(rng: np.random.Generator, form: str, recipe: int, values: np.ndarray, whole: bool = False) -> Side:
    """Scales as the recipe chooses them, a little uneven from row to row and block to block."""
    rows, terms = values.shape
    if recipe == TENSOR:
        grid = np.array([[max(np.abs(values).max(initial=0), 1e-6) / LARGEST[form]]])
    else:
        values = values * np.exp2(rng.integers(-3, 4, (rows, 1)))
        length = LENGTH.get(recipe, max(terms, 1))
        blocks = max(ceil(terms, length), 1)
        spread = np.repeat(np.exp2(rng.integers(-2, 3, (rows, blocks))), length, axis=1)[:, :terms]
        values = values * (spread if recipe != ROW else 1)
        padded = np.zeros((rows, blocks * length))
        padded[:, :terms] = np.abs(values)
        grid = padded.reshape(rows, blocks, length).max(axis=2) / LARGEST[form]
        if recipe == SQUARE:
            grid = np.stack([grid[r : r + 128].max(axis=0) for r in range(0, rows, 128)]) if rows else grid
        grid = np.maximum(grid, 1e-6)
    side = Side(np.zeros(values.shape, dtype=np.uint8), form, grid, recipe)
    if recipe == B32:
        side.grid = np.exp2(np.ceil(np.log2(grid)))
    elif recipe == B16:
        side.whole = float(np.float32(grid.max(initial=1e-6) / 448)) if whole else 1.0
        side.grid = TABLES["e4m3fn"][encode("e4m3fn", np.maximum(grid / side.whole, 2.0**-6))]
    else:
        side.grid = grid.astype(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        side.codes = encode(form, values / (side.wide_grid() * side.whole), saturate=True)
    return side


def codes_tensor(side: Side, transposed: bool) -> torch.Tensor:
    if side.form == "plain":
        made = tensor_of(side.codes, side.plain)
    else:
        made = torch.from_numpy(packed(side.codes) if side.form == "e2m1" else side.codes.copy()).view(DTYPES[side.form])
    return made.t() if transposed else made


def grid_tensor(grid: np.ndarray, recipe: int) -> torch.Tensor:
    if recipe == B32:
        return torch.from_numpy((np.round(np.log2(grid)) + 127).astype(np.uint8)).view(torch.float8_e8m0fnu)
    if recipe == B16:
        return torch.from_numpy(encode("e4m3fn", grid)).view(torch.float8_e4m3fn)
    return torch.from_numpy(grid.astype(np.float32))


def scale_tensor(side: Side, first: bool, right: bool, swizzle: bool, rng: np.random.Generator) -> torch.Tensor:
    grid = side.grid
    if side.recipe == TENSOR:
        return grid_tensor(grid, TENSOR).reshape(())
    if side.recipe == ROW:
        made = grid_tensor(grid, ROW)
        return made.reshape(1, -1) if right else made
    if side.recipe in (B16, B32):
        codes = grid_tensor(grid, side.recipe).view(torch.uint8).numpy()
        if swizzle:
            codes = swizzled(codes, fill=int(rng.integers(0, 255)))
        return torch.from_numpy(codes.copy()).view(torch.float8_e8m0fnu if side.recipe == B32 else torch.float8_e4m3fn)
    if side.recipe == B128:
        outer = torch.from_numpy(grid.astype(np.float32).T.copy())  # (KB, rows) contiguous: outermost is K
        return outer if right and first else outer.t()
    if first:
        made = torch.from_numpy(grid.astype(np.float32))
        return made.t() if right else made
    tall = ceil(grid.shape[1], 4) * 4
    buffer = rng.random((grid.shape[0], tall)).astype(np.float32)
    buffer[:, : grid.shape[1]] = grid
    return torch.from_numpy(buffer).t()


def scaled(
    rng,
    label,
    name,
    shape,
    forms,
    recipes,
    out,
    *,
    swizzle=False,
    whole=False,
    bias=None,
    fast=False,
    scale_result=None,
    kinds=("normal", "normal"),
):
    m, k, n = shape
    left = quantised(rng, forms[0], recipes[0], draw(rng, kinds[0], (m, k)), whole)
    right = quantised(rng, forms[1], recipes[1], draw(rng, kinds[1], (n, k)), whole)
    first = name.endswith("_mm")
    a, b = codes_tensor(left, False), codes_tensor(right, True)
    sa, sb = (scale_tensor(s, first, r, swizzle, rng) for s, r in ((left, False), (right, True)))
    bias_values = None
    if bias is not None:
        bias_values = rounded(rng.standard_normal(n) * 3 * k**0.5, bias)
    bias_tensor = None if bias is None else tensor_of(bias_values, bias)
    sr = None if scale_result is None else torch.tensor(scale_result)
    if first:
        args, kwargs = [a, b, sa, sb], {"bias": bias_tensor, "scale_result": sr, "out_dtype": out, "use_fast_accum": fast}
        kwargs = {key: value for key, value in kwargs.items() if value is not None and value is not False}
    else:

        def listed(side, scale):
            if side.whole != 1:
                return [[scale, torch.tensor(side.whole, dtype=torch.float32)], [side.recipe, 0], [int(swizzle), 0]]
            return [[scale], [side.recipe], [int(swizzle)]]

        args = [a, b, *listed(left, sa), *listed(right, sb), bias_tensor, out, [], fast]
        kwargs = {}
    simple = {TENSOR: 1, ROW: 1}
    on_cpu = all(r in simple for r in recipes) and recipes[0] == recipes[1] and "e2m1" not in forms
    return Product(
        label, name, [Part(left, right)], (m, n), out, args, kwargs, bias=bias_values, fast=fast, scale_result=scale_result, on_cpu=on_cpu
    )


def grouped(rng, label, name, form, kind, sizes, inner, recipe, *, tail=0, dtype=torch.bfloat16, plain=False, swizzle=True):
    """kind: "2d3d", "3d3d", "2d2d", "3d2d"; `sizes`: of the groups; `inner`: the two other extents."""
    groups = len(sizes)
    parts, at = [], 0
    for g, size in enumerate(sizes):
        if kind == "2d3d":
            m, n, k = size, inner[0], inner[1]
        elif kind == "3d2d":
            m, n, k = inner[0], size, inner[1]
        elif kind == "2d2d":
            m, n, k = inner[0], inner[1], size
        else:
            m, n, k = inner[0], inner[1], size

        def side(rows, k=k):
            values = draw(rng, "normal", (rows, k))
            if plain:
                return Side(rounded(values, dtype), "plain", np.ones((1, 1)), plain=dtype)
            return quantised(rng, form, recipe, values)

        part = Part(side(m), side(n))
        part.index = g if kind in ("2d2d", "3d3d") else -1
        part.row, part.column = (at, 0) if kind == "2d3d" else (0, at) if kind == "3d2d" else (0, 0)
        parts.append(part)
        at += size
    total = at + tail

    def joined(get, split):  # (rows, terms) tensors of the groups to one factor, rows outermost
        pieces = [codes_tensor(get(p), False) for p in parts]
        if split == "stack":
            return torch.stack([piece.view(torch.uint8) if not plain else piece for piece in pieces])
        dim = 0 if split == "rows" else 1
        pieces = [piece.view(torch.uint8) if not plain else piece for piece in pieces]
        if tail:
            pad = list(pieces[0].shape)
            pad[dim] = tail // (2 if form == "e2m1" and dim == 1 else 1)
            pieces.append(torch.full(pad, 1, dtype=pieces[0].dtype))
        return torch.cat(pieces, dim)

    splits = {"2d3d": ("rows", "stack"), "3d2d": ("stack", "rows"), "2d2d": ("terms", "terms"), "3d3d": ("stack", "stack")}[kind]
    left, right = joined(lambda p: p.left, splits[0]), joined(lambda p: p.right, splits[1])
    if not plain:
        left, right = left.contiguous().view(DTYPES[form]), right.contiguous().view(DTYPES[form])
    right = right.transpose(-1, -2)
    offs = None if kind == "3d3d" else torch.tensor(np.cumsum(sizes), dtype=torch.int32)

    def scales(get, split):
        if recipe == ROW:
            pieces = [grid_tensor(get(p).grid, ROW).flatten() for p in parts]
            if split == "stack":
                return torch.stack(pieces)
            made = torch.cat(pieces)
            return torch.cat([made, torch.ones(tail)]) if tail and split == "rows" else made
        pieces = []
        for p in parts:
            codes = grid_tensor(get(p).grid, recipe).view(torch.uint8).numpy()
            pieces.append(torch.from_numpy(swizzled(codes, 3) if swizzle else codes.copy()))
        if split == "stack":
            made = torch.stack(pieces)
        elif swizzle:
            made = torch.cat(pieces)
            if split == "rows":
                made = made.view(
                    -1, ceil(parts[0].left.grid.shape[1] if get(parts[0]) is parts[0].left else parts[0].right.grid.shape[1], 4) * 4
                )
        else:
            made = torch.cat(pieces, 0 if split == "rows" else 1)
        return made.contiguous().view(torch.float8_e8m0fnu if recipe == B32 else torch.float8_e4m3fn)

    m = total if kind == "2d3d" else inner[0]
    n = total if kind == "3d2d" else inner[0] if kind == "2d3d" else inner[1]
    if kind == "3d2d":
        m, n = inner[0], total
    shape = (m, n) if kind in ("2d3d", "3d2d") else (groups, inner[0], inner[1])
    if plain:
        return Product(label, name, parts, shape, dtype, [left, right], {"offs": offs}, on_cpu=True, experts=groups)
    sa, sb = scales(lambda p: p.left, splits[0]), scales(lambda p: p.right, splits[1])
    if name.endswith("v2"):
        args = [
            left,
            right,
            [sa],
            [recipe],
            [int(swizzle and recipe != ROW)],
            [sb],
            [recipe],
            [int(swizzle and recipe != ROW)],
            offs,
            None,
            torch.bfloat16,
            [],
            False,
        ]
        return Product(label, name, parts, shape, torch.bfloat16, args, {}, experts=groups)
    return Product(
        label, name, parts, shape, torch.bfloat16, [left, right, sa, sb], {"offs": offs, "out_dtype": torch.bfloat16}, experts=groups
    )


def products(seed: int) -> list[Product]:
    rng = np.random.default_rng(seed)
    f32, bf16, f16, e4, e5 = torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2
    made = []

    def add(name, shape, forms, recipes, out, **more):
        label = f"{name} {shape} {forms} {recipes} {out} " + " ".join(f"{k}={v}" for k, v in more.items())
        made.append(scaled(rng, label, name, shape, forms, recipes, out, **more))

    one, two = "_scaled_mm", "_scaled_mm_v2"
    EE, E5 = ("e4m3fn", "e4m3fn"), ("e4m3fn", "e5m2")
    tensorwise, rowwise = (TENSOR, TENSOR), (ROW, ROW)
    for out in (bf16, f16, f32, e4, e5):
        add(one, (17, 48, 33), EE, tensorwise, out)
        add(two, (31, 257, 29), E5, rowwise, out)
    add(one, (64, 2048, 32), EE, tensorwise, bf16, kinds=("positive", "positive"))
    add(one, (64, 2048, 32), EE, tensorwise, f32, kinds=("positive", "positive"))
    add(one, (64, 2048, 32), EE, tensorwise, bf16, fast=True, kinds=("positive", "positive"))
    add(one, (40, 1000, 24), EE, rowwise, f32, kinds=("sparse", "outlier"))
    add(one, (40, 1000, 24), EE, rowwise, bf16, bias=bf16)
    add(one, (130, 272, 64), E5, tensorwise, bf16, bias=bf16)
    add(one, (130, 272, 64), ("e5m2", "e5m2"), tensorwise, f16, kinds=("wide", "normal"))
    add(one, (16, 512, 48), EE, tensorwise, e4, scale_result=0.25)
    add(one, (16, 512, 48), EE, tensorwise, bf16, bias=f16)
    add(one, (16, 512, 48), EE, tensorwise, f32, bias=f32)
    add(one, (1, 16, 1), EE, tensorwise, bf16)
    add(one, (1, 7, 5), EE, rowwise, f32)
    add(one, (20, 96, 40), ("e4m3fnuz", "e4m3fnuz"), tensorwise, bf16)
    add(one, (20, 96, 40), ("e4m3fnuz", "e5m2fnuz"), rowwise, f32)
    add(one, (20, 96, 40), ("e5m2fnuz", "e5m2fnuz"), tensorwise, f16)
    add(one, (64, 512, 96), EE, (B128, B128), bf16)
    add(one, (200, 700, 130), EE, (B128, B128), bf16)
    add(one, (200, 640, 256), EE, (B128, SQUARE), f32)
    add(one, (256, 640, 72), EE, (SQUARE, B128), bf16)
    add(two, (64, 512, 96), EE, (B128, B128), f32)
    add(two, (200, 640, 256), EE, (B128, SQUARE), bf16, bias=bf16)
    add(two, (300, 896, 72), EE, (SQUARE, B128), bf16)
    for forms in (EE, E5, ("e5m2", "e5m2")):
        add(one, (130, 256, 48), forms, (B32, B32), bf16, swizzle=True)
    add(two, (130, 288, 48), EE, (B32, B32), bf16, swizzle=True)
    add(two, (33, 320, 160), EE, (B32, B32), f32)
    add(two, (33, 320, 160), EE, (B32, B32), f32, swizzle=True, bias=f32)
    add(two, (72, 256, 40), ("e2m1", "e2m1"), (B32, B32), bf16, swizzle=True)
    add(two, (72, 256, 40), ("e2m1", "e2m1"), (B32, B32), f32)
    add(one, (140, 192, 40), ("e2m1", "e2m1"), (B16, B16), bf16, swizzle=True)
    add(two, (140, 192, 40), ("e2m1", "e2m1"), (B16, B16), bf16, swizzle=True, whole=True)
    add(two, (48, 512, 150), ("e2m1", "e2m1"), (B16, B16), f32, whole=True)
    add(two, (48, 512, 150), ("e2m1", "e2m1"), (B16, B16), bf16, swizzle=True, whole=True, bias=bf16)
    add(two, (8, 4096, 8), EE, tensorwise, bf16)
    add(two, (8, 4096, 8), EE, rowwise, f32, kinds=("positive", "positive"))
    add(two, (64, 64, 64), EE, rowwise, e5)
    add(two, (128, 128, 128), EE, (B128, B128), e4)
    add(two, (64, 96, 32), EE, (B32, B32), f16, swizzle=True)

    def group(*args, **more):
        name, form, kind, sizes, inner, recipe = args
        made.append(grouped(rng, f"{name} {form} {kind} {sizes} {inner} {recipe} {more}", *args, **more))

    sizes = [16, 0, 48, 32]
    for kind in ("2d3d", "3d2d", "2d2d"):
        group("_scaled_grouped_mm", "e4m3fn", kind, sizes, (40, 64), ROW)
        group("_scaled_grouped_mm_v2", "e4m3fn", kind, sizes, (40, 64), ROW)
    group("_scaled_grouped_mm", "e4m3fn", "3d3d", [48, 48, 48], (40, 24), ROW)
    group("_scaled_grouped_mm", "e4m3fn", "2d3d", sizes, (40, 64), ROW, tail=11)
    group("_scaled_grouped_mm", "e4m3fn", "2d3d", [32, 130, 64], (48, 128), B32)
    group("_scaled_grouped_mm_v2", "e4m3fn", "2d3d", [32, 130, 64], (48, 128), B32)
    group("_scaled_grouped_mm_v2", "e4m3fn", "2d2d", [32, 128, 64], (48, 40), B32)
    group("_scaled_grouped_mm_v2", "e2m1", "2d3d", [32, 130, 64], (48, 128), B32)
    group("_scaled_grouped_mm_v2", "e2m1", "2d3d", [32, 130, 64], (48, 128), B16)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for kind in ("2d3d", "3d2d", "2d2d"):
            group("_grouped_mm", "plain", kind, sizes, (40, 64), TENSOR, plain=True, dtype=dtype)
        group("_grouped_mm", "plain", "3d3d", [48, 48, 48], (40, 24), TENSOR, plain=True, dtype=dtype)
        group("_grouped_mm", "plain", "2d3d", sizes, (40, 64), TENSOR, plain=True, dtype=dtype, tail=9)
    return made


# ---- faults -----------------------------------------------------------------------------------------------------------

Change = Callable[[Product, np.random.Generator], bool]


def of_side(which: str, change: Callable[[Side, np.random.Generator], bool]) -> Change:
    def apply(product: Product, rng: np.random.Generator) -> bool:
        done = [change(getattr(part, which), rng) for part in product.parts]
        return any(done)

    return apply


def _rolled(by: int, axis: int):
    def change(side: Side, rng) -> bool:
        if side.grid.shape[axis] < 2:
            return False
        side.grid = np.roll(side.grid, by, axis)
        return True

    return change


def _first_block(side: Side, rng) -> bool:
    if side.grid.shape[1] < 2:
        return False
    side.grid = np.repeat(side.grid[:, :1], side.grid.shape[1], axis=1)
    return True


def _times(factor: float):
    def change(side: Side, rng) -> bool:
        if side.form == "plain":
            return False
        side.grid = side.grid * factor
        return True

    return change


def _one_block(factor: float):
    def change(side: Side, rng) -> bool:
        if side.grid.size < 2:
            return False
        side.grid = side.grid.copy()
        side.grid[rng.integers(side.grid.shape[0]), rng.integers(side.grid.shape[1])] *= factor
        return True

    return change


def _column_by_column(side: Side, rng) -> bool:
    if min(side.grid.shape) < 2:
        return False
    side.grid = np.ascontiguousarray(side.grid.T).reshape(side.grid.shape)
    return True


def _read_plainly(side: Side, rng) -> bool:
    if side.recipe not in (B16, B32):
        return False
    rows, blocks = side.grid.shape
    side.grid = swizzled(side.grid)[: ceil(rows, 128) * 128 * ceil(blocks, 4) * 4].reshape(-1, ceil(blocks, 4) * 4)[:rows, :blocks]
    return True


def _swizzled_twice(side: Side, rng) -> bool:
    if side.recipe not in (B16, B32):
        return False
    rows, blocks = side.grid.shape
    whole = np.zeros((ceil(rows, 128) * 128, ceil(blocks, 4) * 4))
    whole[:rows, :blocks] = side.grid
    side.grid = unswizzled(whole.reshape(-1), rows, blocks)
    return True


def _halves(side: Side, rng) -> bool:
    if side.form != "e2m1":
        return False
    side.codes = side.codes.reshape(len(side.codes), -1, 2)[:, :, ::-1].reshape(side.codes.shape)
    return True


def _lost(where: str, count: int):
    def change(side: Side, rng) -> bool:
        terms = side.codes.shape[1]
        if terms <= count:
            return False
        begin = {"last": terms - count, "first": 0, "middle": terms // 2 // count * count}[where]
        side.codes = side.codes.copy()
        side.codes[:, begin : begin + count] = 0
        return True

    return change


def _flushed(side: Side, rng) -> bool:
    if side.form == "plain":
        return False
    normal = {"e4m3fn": 2.0**-6, "e5m2": 2.0**-14, "e4m3fnuz": 2.0**-7, "e5m2fnuz": 2.0**-15, "e2m1": 1.0}[side.form]
    small = np.abs(side.raw()) < normal
    if not (small & (side.raw() != 0)).any():
        return False
    side.codes = np.where(small, 0, side.codes).astype(np.uint8)
    return True


def _reciprocal(side: Side, rng) -> bool:
    if side.form == "plain":
        return False
    side.grid = 1 / side.grid
    return True


def _no_whole(side: Side, rng) -> bool:
    if side.whole == 1:
        return False
    side.whole = 1.0
    return True


def _exponent_only(side: Side, rng) -> bool:
    if side.form == "plain" or (np.log2(side.grid) % 1 == 0).all():
        return False
    side.grid = np.exp2(np.floor(np.log2(side.grid)))
    return True


def _exchanged(product: Product, rng) -> bool:
    done = False
    for part in product.parts:
        if (
            part.left.form != "plain"
            and part.left.grid.shape == part.right.grid.shape
            and part.left.recipe == part.right.recipe
            and part.left.grid.size > 1
        ):
            part.left.grid, part.right.grid = part.right.grid, part.left.grid
            done = True
    return done


def _no_bias(product: Product, rng) -> bool:
    if product.bias is None:
        return False
    product.bias = None
    return True


def _twice_bias(product: Product, rng) -> bool:
    if product.bias is None:
        return False
    product.bias = product.bias * 2
    return True


def _other_expert(product: Product, rng) -> bool:
    rights = [part.right for part in product.parts]
    if len(rights) < 2 or len({r.codes.shape for r in rights}) > 1:
        return False
    for part, right in zip(product.parts, rights[1:] + rights[:1]):
        part.right = right
    return True


def _offset(product: Product, rng) -> bool:
    """The last row of a group is computed with the next expert."""
    if product.experts < 2 or product.parts[0].index >= 0:
        return False
    for a, b in zip(product.parts, product.parts[1:]):
        if (
            len(a.left.codes) > 1
            and b.row > a.row
            and a.left.codes.shape[1] == b.left.codes.shape[1]
            and a.left.recipe in (ROW, TENSOR, B32)
        ):
            moved = copy.deepcopy(a)
            moved.left.codes, moved.right = a.left.codes[-1:], b.right
            moved.left.grid = a.left.grid[-1:]
            moved.row = a.row + len(a.left.codes) - 1
            product.parts.append(moved)
            return True
    return False


BEFORE: dict[str, Change] = {
    **{f"next block, {s}": of_side(s, _rolled(-1, 1)) for s in ("left", "right")},
    **{f"block before, {s}": of_side(s, _rolled(1, 1)) for s in ("left", "right")},
    **{f"next row's scale, {s}": of_side(s, _rolled(-1, 0)) for s in ("left", "right")},
    **{f"first block everywhere, {s}": of_side(s, _first_block) for s in ("left", "right")},
    **{f"scale doubled, {s}": of_side(s, _times(2)) for s in ("left",)},
    **{f"scale halved, {s}": of_side(s, _times(0.5)) for s in ("right",)},
    **{f"one block's exponent off, {s}": of_side(s, _one_block(f)) for s, f in (("left", 2), ("right", 0.5))},
    **{f"column by column, {s}": of_side(s, _column_by_column) for s in ("left", "right")},
    **{f"read plainly, {s}": of_side(s, _read_plainly) for s in ("left", "right")},
    **{f"swizzled twice, {s}": of_side(s, _swizzled_twice) for s in ("left", "right")},
    **{f"halves swapped, {s}": of_side(s, _halves) for s in ("left", "right")},
    "lost last 1": of_side("left", _lost("last", 1)),
    "lost last 16": of_side("left", _lost("last", 16)),
    "lost first 32": of_side("left", _lost("first", 32)),
    "lost middle 32": of_side("right", _lost("middle", 32)),
    "lost middle 128": of_side("right", _lost("middle", 128)),
    "flushed": of_side("left", _flushed),
    "reciprocal": of_side("left", _reciprocal),
    "no whole scale": of_side("left", _no_whole),
    "exponent only": of_side("left", _exponent_only),
    "stale amax": of_side("left", _times(0.9)),
    "slightly stale amax": of_side("left", _times(0.97)),
    "exchanged": _exchanged,
    "no bias": _no_bias,
    "bias twice": _twice_bias,
    "other expert": _other_expert,
    "offset off by one": _offset,
}


def spoiled_results(product: Product, right: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Faults of the rounded result, as numbers of its dtype (float64)."""
    made: dict[str, np.ndarray] = {}
    if right.size == 0:
        return made
    flat = right.reshape(-1)
    shown = np.flatnonzero(np.isfinite(flat) & (flat != 0) & product.defined().reshape(-1))
    if len(shown) == 0:
        return made

    def at(place: int, value: float) -> np.ndarray:
        changed = right.copy()
        changed.reshape(-1)[place] = value
        return changed

    place = int(rng.choice(shown))
    made["halved"] = right / 2
    made["doubled"] = right * 2
    made["negated"] = -right
    made["one NaN"] = at(place, np.nan)
    made["one infinity"] = at(place, np.inf)
    made["one zero"] = at(place, 0)
    made["one wrong element"] = at(place, flat[place] * 1.25 + 3 * np.abs(flat[shown]).mean())
    form = next((f for f, d in DTYPES.items() if d == product.out), None)
    digits = {"e4m3fn": 4, "e5m2": 3}.get(form) or MANTISSA[product.out][0]
    units = 2.0 ** (np.frexp(flat[place])[1] - digits)
    made["one element two units off"] = at(place, flat[place] + 2 * units)
    if right.ndim == 2 and min(right.shape) >= 16:
        tile = right.copy()
        tile[:16, :16] = tile[:16, :16].T.copy()
        made["transposed tile"] = tile
        tile = right.copy()
        tile[:16, :16] = 0
        made["lost tile"] = tile
    if right.shape[-1] > 1:
        made["columns rolled"] = np.roll(right, 1, axis=-1)
        cut = right.copy()
        cut[..., -1] = 0
        made["lost last column"] = cut
    if right.ndim == 3 and len(right) > 1:
        made["groups accumulated"] = np.cumsum(right, axis=0)
    made["saturated at 448"] = np.clip(right, -448, 448)
    return made


# ---- casts, and 8-bit results of other operators ----------------------------------------------------------------------


@dataclasses.dataclass
class Cast:
    """A call whose result has one right code for each number; `right` may have several forms of it."""

    label: str
    name: str
    args: list
    rights: dict[str, torch.Tensor]
    wrongs: dict[str, torch.Tensor]


def _coded(form: str, codes: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(codes.astype(np.uint8))).view(DTYPES[form])


def _stochastic(form: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    nearest = TABLES[form][encode(form, values, saturate=True)]
    ladder = np.unique(TABLES[form][np.isfinite(TABLES[form])])
    low = ladder[np.clip(np.searchsorted(ladder, values, side="right") - 1, 0, len(ladder) - 1)]
    high = ladder[np.clip(np.searchsorted(ladder, values, side="left"), 0, len(ladder) - 1)]
    with np.errstate(all="ignore"):
        share = np.where(high > low, (values - low) / (high - low), 0)
    return encode(form, np.where(np.isfinite(values), np.where(rng.random(values.shape) < share, high, low), nearest))


def code_faults(form: str, codes: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Codes that are spoiled, whatever they come from."""
    table = TABLES[form]
    values = table[codes]
    made = {"halved": encode(form, values / 2), "doubled": encode(form, values * 2, saturate=True)}
    flat = codes.reshape(-1)
    normal = np.flatnonzero(np.isfinite(table[flat]) & (table[flat] != 0) & (np.abs(table[flat]) < LARGEST[form]))
    if len(normal):
        for step in (1, -1):
            one = codes.copy()
            place = rng.choice(normal)
            one.reshape(-1)[place] = (int(flat[place]) + step) & 255
            made[f"one code {step:+d}"] = one
        one = codes.copy()
        one.reshape(-1)[rng.choice(normal)] ^= 0x80 if form != "e8m0" else 0x10
        made["one sign or exponent bit"] = one
        block = codes.copy().reshape(-1)
        begin = int(rng.integers(0, max(block.size - 32, 1)))
        block[begin : begin + 32] = 0 if form != "e8m0" else 127
        made["lost block of 32"] = block.reshape(codes.shape)
        block = codes.copy().reshape(-1)
        block[begin : begin + 32] = np.where(
            block[begin : begin + 32] & 0x7F > 0x08, block[begin : begin + 32] - (8 if form != "e5m2" else 4), block[begin : begin + 32]
        )
        made["block of 32 halved"] = block.reshape(codes.shape)
        nan = codes.copy()
        nan.reshape(-1)[rng.choice(normal)] = {"e5m2": 0x7E, "e4m3fn": 0x7F, "e8m0": 0xFF}.get(form, 0x80)
        made["one NaN"] = nan
    if codes.ndim == 2 and min(codes.shape) >= 16:
        tile = codes.copy()
        tile[:16, :16] = tile[:16, :16].T.copy()
        made["transposed tile"] = tile
        tail = codes.copy()
        tail[:, -1] = codes[:, -2]
        made["last column twice"] = tail
    made["rows shifted"] = np.roll(codes, 1, axis=0)
    pairs = codes.copy().reshape(-1)
    even = pairs[: len(pairs) // 2 * 2].reshape(-1, 2)[:, ::-1].reshape(-1)
    pairs[: len(even)] = even
    made["bytes swapped"] = pairs.reshape(codes.shape)

    def differs(other: np.ndarray) -> bool:
        a, b = table[codes], table[other]
        return bool(((a != b) & ~(np.isnan(a) & np.isnan(b))).any())

    return {fault: spoiled for fault, spoiled in made.items() if differs(spoiled)}


def casts(seed: int) -> list[Cast]:
    rng = np.random.default_rng(seed + 7)
    made = []
    for form in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0"):
        for source in (torch.float32, torch.bfloat16, torch.float16):
            for kind in ("in range", "beyond", "small"):
                values = (
                    rng.standard_normal((40, 34))
                    * {"in range": LARGEST[form] / 8 if form != "e8m0" else 8, "beyond": min(LARGEST[form], 60000.0), "small": 2.0**-6}[
                        kind
                    ]
                )
                if kind == "beyond":
                    values.reshape(-1)[:3] = np.nan, np.inf, -np.inf
                values = rounded(values, source)
                codes = encode(form, values)
                rights = {"nearest": _coded(form, codes)}
                if form == "e4m3fn":
                    rights["not finite beyond"] = _coded(form, encode(form, values, saturate=False))
                wrongs = {fault: _coded(form, spoiled) for fault, spoiled in code_faults(form, codes, rng).items()}
                if form != "e8m0":
                    table = TABLES[form]
                    others = {
                        "stochastic": _stochastic(form, values, rng),
                        "cut": encode(form, np.sign(values) * _down(form, np.abs(values))),
                    }
                    if kind == "beyond":
                        others["saturated"] = encode(form, np.nan_to_num(values, nan=0, posinf=1e9, neginf=-1e9), saturate=True)
                        others["infinity saturated"] = encode(
                            form, np.where(np.isinf(values), np.sign(values) * LARGEST[form], values), saturate=True
                        )
                    if kind == "small":
                        least = {"e4m3fn": 2.0**-6, "e5m2": 2.0**-14, "e4m3fnuz": 2.0**-7, "e5m2fnuz": 2.0**-15}[form]
                        others["flushed"] = np.where(np.abs(table[codes]) < least, 0, codes)
                    other_form = {"e4m3fn": "e4m3fnuz", "e4m3fnuz": "e4m3fn", "e5m2": "e5m2fnuz", "e5m2fnuz": "e5m2"}[form]
                    others["other format's codes"] = encode(other_form, values)
                    for fault, spoiled in others.items():
                        a, b = table[codes], table[spoiled.astype(np.uint8)]
                        if fault in ("saturated", "infinity saturated") and form == "e4m3fn" and not np.isnan(values).any():
                            continue
                        if ((a != b) & ~(np.isnan(a) & np.isnan(b))).any():
                            wrongs[fault] = _coded(form, spoiled)
                made.append(Cast(f"to {form} from {source} {kind}", "Tensor.to", [tensor_of(values, source), DTYPES[form]], rights, wrongs))
        for target in (torch.float32, torch.bfloat16):
            codes = rng.integers(0, 256, (20, 30)).astype(np.uint8)
            values = TABLES[form][codes]
            wrongs = {
                "halved": values / 2,
                "doubled": values * 2,
                "one code": np.where(np.arange(600).reshape(20, 30) == 77, np.where(values == 1, 2, 1), values),
                "NaN lost": np.nan_to_num(values, nan=480, posinf=np.inf, neginf=-np.inf),
                "infinity lost": np.where(np.isinf(values), 57344, values),
                "subnormals flushed": np.where(
                    np.abs(values)
                    < {"e4m3fn": 2.0**-6, "e5m2": 2.0**-14, "e4m3fnuz": 2.0**-7, "e5m2fnuz": 2.0**-15, "e8m0": 2.0**-120}[form],
                    0,
                    values,
                ),
            }
            right = tensor_of(values, target)
            made.append(
                Cast(
                    f"from {form} to {target}",
                    "Tensor.to",
                    [_coded(form, codes), target],
                    {"exact": right},
                    {f: tensor_of(v, target) for f, v in wrongs.items() if not np.array_equal(v, values, equal_nan=True)},
                )
            )
    for form in ("e4m3fn", "e5m2"):
        for shape in ((24, 64, 33), (17, 300, 20)):
            a, b = (encode(form, rng.standard_normal(s)) for s in ((shape[0], shape[1]), (shape[2], shape[1])))
            exact_values = TABLES[form][a] @ TABLES[form][b].T
            single_values = (
                (torch.from_numpy(TABLES[form][a].astype(np.float32)) @ torch.from_numpy(TABLES[form][b].astype(np.float32)).T)
                .double()
                .numpy()
            )
            codes = encode(form, exact_values)
            left, right = _coded(form, a), _coded(form, b)
            calls = {"Torch.matmul": [left, right.t()], "Functional.linear": [left, right]}
            for name, args in calls.items():
                made.append(
                    Cast(
                        f"{name} {form} {shape}",
                        name,
                        args,
                        {"exact": _coded(form, codes), "float32": _coded(form, encode(form, single_values))},
                        {f: _coded(form, c) for f, c in code_faults(form, codes, rng).items()},
                    )
                )
        codes = rng.integers(0, 0x70, (20, 24)).astype(np.uint8)
        tensor = _coded(form, codes)
        padded = np.pad(codes, ((0, 0), (2, 3)))
        moves = {
            "Functional.pad": ([tensor, [2, 3]], padded),
            "Torch.cat": ([[tensor, tensor], 0], np.concatenate([codes, codes])),
            "Torch.flip": ([tensor, [1]], codes[:, ::-1]),
            "Tensor.repeat": ([tensor, 2, 1], np.tile(codes, (2, 1))),
            "Tensor.clone": ([tensor], codes),
            "Tensor.type_as": ([torch.from_numpy(TABLES[form][codes]).float(), tensor], codes),
        }
        for name, (args, right) in moves.items():
            made.append(
                Cast(
                    f"{name} {form}",
                    name,
                    args,
                    {"exact": _coded(form, right)},
                    {f: _coded(form, c) for f, c in code_faults(form, right, rng).items()},
                )
            )
    return made


def _down(form: str, sizes: np.ndarray) -> np.ndarray:
    ladder = np.unique(TABLES[form][np.isfinite(TABLES[form]) & (TABLES[form] >= 0)])
    clean = np.where(np.isfinite(sizes), sizes, 0)
    low = ladder[np.clip(np.searchsorted(ladder, clean, side="right") - 1, 0, len(ladder) - 1)]
    return np.where(np.isfinite(sizes) & (sizes <= LARGEST[form]), low, sizes)
