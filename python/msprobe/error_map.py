# SPDX-License-Identifier: Apache-2.0
"""Where in an output the error is: the map that a check keeps of every wrong output, as data and as a picture in a notebook."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

__all__ = ["ErrorMap"]

# docs/report.md, "Error maps": what the character of a cell stands for.
_CODES = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BOUND, _FAR, _NOT_FINITE, _PER_DECADE = 20, 60, 61, 4
_CELL_PIXELS, _MOST_PIXELS = 14, 420
_WITHIN, _BEYOND, _SPECIAL = "#e8f3ec", ("#f6c7b6", "#ee8f73", "#d94f3a", "#a3161f"), "#5b2a86"


@dataclass(frozen=True)
class ErrorMap:
    """The largest error over bound in each part of an output. Above 1 the part is wrong."""

    shape: tuple[int, ...]  #: of the output
    plane: bool  #: the map spans the last two dimensions; else the flat index, row by row
    cells: list[list[float]]  #: 0: equal; NaN: NaN or an infinity on one side only
    worst: list[tuple[int, float, float, float]]  #: flat index, device, benchmark, error over bound; the farthest off first

    @staticmethod
    def of(line: dict[str, Any]) -> ErrorMap:
        """From a line of accuracy_checking_maps_*.jsonl."""
        columns = line["columns"]
        values = [_over_bound(code) for code in line["cells"]]
        cells = [values[start:start + columns] for start in range(0, len(values), columns)] if columns else []
        worst = [(int(index), _number(device), _number(bench), _number(over)) for index, device, bench, over in line["worst"]]
        return ErrorMap(tuple(line["shape"]), bool(line["plane"]), cells, worst)

    def _repr_html_(self) -> str:
        rows, columns = len(self.cells), len(self.cells[0]) if self.cells else 0
        if not columns:
            return "<p>no map</p>"
        pixels = max(1, min(_CELL_PIXELS, _MOST_PIXELS // max(rows, columns)))
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * pixels}" height="{rows * pixels}" role="img">']
        for y, line in enumerate(self.cells):
            for x, value in enumerate(line):
                out.append(f'<rect x="{x * pixels}" y="{y * pixels}" width="{pixels}" height="{pixels}" fill="{_colour(value)}">'
                           f"<title>{html.escape(_words(value))}</title></rect>")
        where = "the last two dimensions" if self.plane else "the flat index"
        return "".join([*out, f"</svg><p>largest error over bound, over {where} of {list(self.shape)}; green is within the bound</p>"])


def _over_bound(code: str) -> float:
    number = _CODES.index(code)
    if number == 0:
        return 0.0
    if number == _NOT_FINITE:
        return math.nan
    if number == _FAR:
        return math.inf
    return 10 ** ((number - _BOUND - (0.5 if number > _BOUND else 0)) / _PER_DECADE)


def _number(value: Any) -> Any:
    """Texts stand for what JSON has no number for."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return complex(value.replace("i", "j"))


def _colour(value: float) -> str:
    if math.isnan(value):
        return _SPECIAL
    if value <= 1:
        return _WITHIN
    decades = min(int(math.log10(min(value, 1e9))), 2 * len(_BEYOND) - 1)
    return _BEYOND[min(decades // 2, len(_BEYOND) - 1)]


def _words(value: float) -> str:
    if math.isnan(value):
        return "NaN or infinite on one side only"
    return "equal" if value == 0 else f"about {value:.2g} x bound"
