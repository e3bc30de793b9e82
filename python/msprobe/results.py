# SPDX-License-Identifier: Apache-2.0
"""What a check found, as Python objects: the verdict, the wrong results, and every call with all its numbers."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, List

from msprobe.common import program
from msprobe.error_map import ErrorMap

if TYPE_CHECKING:
    import pandas

__all__ = ["Call", "Calls", "CheckResult", "Failure"]

RAISED = "raised"  #: the status of a failure that the device could not compute
_SHOWN_AS_TEXT, _SHOWN_AS_HTML = 10, 100


@dataclass(frozen=True)
class Failure:
    """One output or gradient of a call that is wrong, or a call that the device could not run."""

    call: str  #: the recorded call, e.g. Torch.matmul.0
    result: str  #: which result of it, e.g. forward.output.0; empty for the whole call
    status: str  #: warning or error; raised: the operator does not run on the device
    reason: str  #: what was compared, how far off it is and where
    cause: str  #: the likely cause; empty if nothing fits
    dtype: str
    shape: str
    documented: str  #: the status by the documented standards
    line: str = ""  #: source line of the call, e.g. train.py:29; empty if it was not recorded
    module: str = ""  #: the module that made the call
    error_over_bound: float | None = None  #: above 1 it is wrong; None: no bound was needed to see it
    place: str = ""  #: the dump, e.g. step1/rank0, if several were checked
    map: ErrorMap | None = field(default=None, repr=False, compare=False)  #: where in the output the error is


@dataclass(frozen=True)
class Call:
    """A recorded call, whatever became of it."""

    name: str
    api: str
    verdict: str  #: one word: pass, wrong, slightly wrong, raised, lost, inconclusive, documented thresholds only, skipped
    status: str | None  #: the strict status; None: it was not judged
    documented: str  #: the status by the documented standards
    error_over_bound: float | None
    cause: str
    reason: str  #: in one line, why it does not pass or was not checked; empty if it passes
    line: str
    module: str
    results: list[dict[str, Any]] = field(repr=False)  #: its outputs and gradients, each with all metrics
    place: str = ""


class Calls(List[Call]):
    """Every call of a check, in the order of the recording."""

    @property
    def frame(self) -> pandas.DataFrame:
        """A pandas DataFrame with a row for each output and gradient, and a column for each number."""
        rows = []
        for call in self:
            own = {key: value for key, value in vars(call).items() if key != "results"}
            for result in call.results or [{}]:
                rows.append({**own, "result": result.get("result", ""), "dtype": result.get("device_dtype", ""),
                             "shape": result.get("shape", ""), **result.get("metrics", {})})
        return _data_frame(rows)


@dataclass
class CheckResult:
    """What a check found. True in a condition if nothing is wrong."""

    device: str
    dump: str
    recorded: int
    checked: int
    skipped: dict[str, int]
    lost: int
    failures: list[Failure]
    result_csv: str  #: if several dumps were checked, the directory of all results
    details_csv: str
    raised: int = 0  #: calls that raise an error on the device and not on the CPU; they are among the failures
    inconclusive: int = 0  #: checked calls that are within their bound, which proves little
    exit_status: int = 0  #: of ``msprobe acc_check``: 1 if something is wrong, by what ``fail_on`` counts
    parts: list[CheckResult] = field(default_factory=list, repr=False)  #: one for each dump, if there are several
    place: str = ""  #: the dump, e.g. step1/rank0, if several were checked
    _directory: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False)  # lives as long as the result
    _options: tuple[str, ...] = field(default=(), repr=False)
    _calls: Calls | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """Every checked call is within its strict bound, ran on the device, and no call was lost (or as ``fail_on`` says)."""
        return self.exit_status == 0

    def __bool__(self) -> bool:
        return self.ok

    @property
    def frame(self) -> pandas.DataFrame:
        """The failures as a pandas DataFrame. ``calls.frame`` has every call."""
        columns = [name for name in Failure.__dataclass_fields__ if name != "map"]
        return _data_frame([{name: getattr(failure, name) for name in columns} for failure in self.failures], columns)

    @property
    def calls(self) -> Calls:
        """Every recorded call with all its numbers, its source line and module."""
        if self._calls is None:
            self._calls = Calls(call for part in self.parts for call in part.calls) if self.parts else Calls(self._read_calls())
        return self._calls

    def report(self, path: str | os.PathLike[str]) -> str:
        """Write the HTML report to `path`; returns its absolute path."""
        target = os.path.abspath(os.fspath(path))
        program.run(["report", *self._csvs(), *([] if self.parts else ["--dump", self.dump]), "-o", target], allowed=(0, 1))
        return target

    def shrink(self, call: str, directory: str | os.PathLike[str] | None = None) -> str:
        """Reduce a failing call to its smallest form. Returns the directory with its dump and ``reproduce.py``."""
        names = {failure.call for failure in self.failures}
        if call not in names:
            raise ValueError(f"{call!r} is not among the failing calls: {', '.join(sorted(names)) or 'there are none'}")
        for part in self.parts:
            if any(failure.call == call for failure in part.failures):
                return part.shrink(call, directory)
        target = os.path.abspath(os.fspath(directory) if directory is not None else f"shrink_{call}")
        program.run(["shrink", "-api_info", self.dump, "--only", call, "-o", target, *self._options], allowed=(0, 1))
        return target

    def show(self, call: str | None = None) -> None:
        """In a notebook: the verdict as a table, or of one call the maps of where its results are wrong. Elsewhere: as text."""
        shown = [self] if call is None else [failure.map for failure in self.failures if failure.call == call and failure.map is not None]
        try:
            from IPython.display import display
        except ImportError:
            display = print
        if not shown:
            print(f"there is no error map of {call}")
        for item in shown:
            display(item)

    def _csvs(self) -> list[str]:
        return [part.result_csv for part in self.parts] or [self.result_csv]

    def _read_calls(self) -> Iterable[Call]:
        answer = json.loads(program.run(["report", self.result_csv, "--dump", self.dump, "--json"], allowed=(0,)))
        for call in answer["runs"][0]["calls"]:
            yield Call(name=call["name"], api=call["api"], verdict=call["verdict"], status=call["status"], documented=call["documented"],
                       error_over_bound=as_number(call["error_over_bound"]), cause=call["cause"], reason=call["why"],
                       line=call["source_line"], module=call["module"], results=[_plain(result) for result in call["results"]],
                       place=self.place)

    def _sentence(self) -> str:
        skipped = sum(self.skipped.values())
        tail = f"{self.checked} of {self.recorded} calls checked" + (f", {skipped} skipped" if skipped else "")
        tail += f", {self.inconclusive} inconclusive" if self.inconclusive else ""
        tail += f", {self.lost} lost" if self.lost else ""
        tail += f", in {len(self.parts)} dumps" if self.parts else ""
        if self.ok:
            return f"{self.device}: OK; {tail}"
        raised = _count_by_api([failure for failure in self.failures if failure.status == RAISED])
        found = []
        if raised:
            found.append(f"{len(raised)} {'API does' if len(raised) == 1 else 'APIs do'} not run on the device: {', '.join(api for api, _ in raised)}")
        apis = _count_by_api([failure for failure in self.failures if failure.status != RAISED])
        if apis:
            named = ", ".join(f"{api} ({calls})" for api, calls in apis)
            found.append(f"{len(apis)} {'API' if len(apis) == 1 else 'APIs'} wrong: {named}")
        return f"{self.device}: NOT OK{'. ' if found else ''}{'; '.join(found)}; {tail}"

    def __str__(self) -> str:
        lines = [self._sentence()]
        for failure in self.failures[:_SHOWN_AS_TEXT]:
            where = " ".join(filter(None, (failure.place, failure.module, failure.line)))
            reason = f"{failure.cause}: {failure.reason}" if failure.status == RAISED else failure.reason
            cause = f"; likely cause: {failure.cause}" if failure.cause and failure.status != RAISED else ""
            lines.append(f"  {failure.status.upper():7} {failure.call} {failure.result}: {reason}{cause}" + (f"  [{where}]" if where else ""))
        if len(self.failures) > _SHOWN_AS_TEXT:
            lines.append(f"  ... and {len(self.failures) - _SHOWN_AS_TEXT} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self.ok else "#cf222e"
        out = [f'<p style="color:{colour};font-weight:600">{html.escape(self._sentence())}</p>']
        if self.failures:
            titles = ["call", "result", "status", "reason", "cause", "module", "line"]
            if self.parts:
                titles.insert(0, "place")
            out.append("<table><tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>")
            for failure in self.failures[:_SHOWN_AS_HTML]:
                out.append("<tr>" + "".join(f"<td>{html.escape(getattr(failure, title))}</td>" for title in titles) + "</tr>")
            out.append("</table>")
        if len(self.failures) > _SHOWN_AS_HTML:
            out.append(f"<p>and {len(self.failures) - _SHOWN_AS_HTML} more</p>")
        return "".join(out)


def as_number(value: Any) -> float | None:
    """JSON has no NaN and infinity: they come as texts."""
    return None if value is None else float(value)


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "metrics": {title: as_number(value) for title, value in result["metrics"].items()},
            "error_map": ErrorMap.of(result["error_map"]) if result["error_map"] else None}


def _data_frame(rows: list[dict[str, Any]], columns: list[str] | None = None) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("a data frame needs pandas (pip install pandas); CheckResult.failures and .calls are plain lists") from error
    return pandas.DataFrame(rows, columns=columns)


def _count_by_api(failures: list[Failure]) -> list[tuple[str, int]]:
    calls: dict[str, set[str]] = {}
    for failure in failures:
        calls.setdefault(failure.call.rpartition(".")[0], set()).add(failure.place + failure.call)
    return [(api, len(names)) for api, names in calls.items()]
