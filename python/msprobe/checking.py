# SPDX-License-Identifier: Apache-2.0
"""``msprobe.check("dump", device=...)``: replays a dump with the native program and gives the verdicts as Python objects."""

from __future__ import annotations

import contextlib
import csv
import glob
import html
import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msprobe.common import program
from msprobe.progress import Progress

if TYPE_CHECKING:
    import pandas
    import torch

__all__ = ["CheckError", "CheckResult", "Failure", "check", "check_calls", "find_dump"]

_FAILING = ("warning", "error")


class CheckError(RuntimeError):
    """The check could not be done; the message says why."""


@dataclass(frozen=True)
class Failure:
    """One output or gradient of a call that is beyond the strict bound."""

    call: str  #: the recorded call, e.g. Torch.matmul.0
    result: str  #: which result of it, e.g. forward.output.0
    status: str  #: warning or error
    reason: str  #: what was compared, how far off it is and where
    cause: str  #: the likely cause; empty if nothing fits
    dtype: str
    shape: str
    documented: str  #: the status by the documented standards


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
    result_csv: str
    details_csv: str
    _directory: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False)  # lives as long as the result
    _options: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ok(self) -> bool:
        """Every checked call is within its strict bound and no call was lost."""
        return not self.failures and self.lost == 0

    def __bool__(self) -> bool:
        return self.ok

    @property
    def frame(self) -> pandas.DataFrame:
        """The failures as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("CheckResult.frame needs pandas (pip install pandas); CheckResult.failures is a plain list") from error
        return pandas.DataFrame([vars(failure) for failure in self.failures], columns=list(Failure.__dataclass_fields__))

    def report(self, path: str | os.PathLike[str]) -> str:
        """Write the HTML report to `path`; returns its absolute path."""
        target = os.path.abspath(os.fspath(path))
        _run(["report", self.result_csv, "--dump", self.dump, "-o", target], allowed=(0, 1))
        return target

    def shrink(self, call: str, directory: str | os.PathLike[str] | None = None) -> str:
        """Reduce a failing call to its smallest form. Returns the directory with its dump and ``reproduce.py``."""
        names = {failure.call for failure in self.failures}
        if call not in names:
            raise ValueError(f"{call!r} is not among the failing calls: {', '.join(sorted(names)) or 'there are none'}")
        target = os.path.abspath(os.fspath(directory) if directory is not None else f"shrink_{call}")
        _run(["shrink", "-api_info", self.dump, "--only", call, "-o", target, *self._options], allowed=(0, 1))
        return target

    def _sentence(self) -> str:
        skipped = sum(self.skipped.values())
        tail = f"{self.checked} of {self.recorded} calls checked" + (f", {skipped} skipped" if skipped else "")
        tail += f", {self.lost} lost" if self.lost else ""
        if self.ok:
            return f"{self.device}: OK; {tail}"
        apis = _count_by_api(self.failures)
        if not apis:
            return f"{self.device}: NOT OK; {tail}"
        named = ", ".join(f"{api} ({calls})" for api, calls in apis)
        return f"{self.device}: NOT OK. {len(apis)} APIs wrong: {named}; {tail}"

    def __str__(self) -> str:
        lines = [self._sentence()]
        for failure in self.failures[:10]:
            lines.append(f"  {failure.status.upper():7} {failure.call} {failure.result}: {failure.reason}"
                         + (f"; likely cause: {failure.cause}" if failure.cause else ""))
        if len(self.failures) > 10:
            lines.append(f"  ... and {len(self.failures) - 10} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self.ok else "#cf222e"
        out = [f'<p style="color:{colour};font-weight:600">{html.escape(self._sentence())}</p>']
        if self.failures:
            titles = ("call", "result", "status", "reason", "cause")
            out.append("<table><tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>")
            for failure in self.failures[:100]:
                out.append("<tr>" + "".join(f"<td>{html.escape(getattr(failure, title))}</td>" for title in titles) + "</tr>")
            out.append("</table>")
        if len(self.failures) > 100:
            out.append(f"<p>and {len(self.failures) - 100} more</p>")
        return "".join(out)


def check(dump: str | os.PathLike[str], device: str | torch.device = "cpu", *, out: str | os.PathLike[str] | None = None,
          jobs: int = 1, only: list[str] | None = None, sim_config: str | os.PathLike[str] | None = None,
          progress: bool | None = None, options: list[str] | None = None) -> CheckResult:
    """Replay every recorded call on `device` and on a CPU benchmark of higher precision, and judge what it gives.

    dump: a dump.json, or a directory with one (``step0/rank0`` below it included).
    device: ``"cpu"``, ``"cuda:0"``, ``"npu:0"``, ``"sim"``, ``"recorded"`` (the outputs stored in the dump), or a torch.device.
    out: where the CSVs go; without it they live as long as the result.
    jobs: engine processes that share the work.
    only: names of calls, e.g. ``["Torch.matmul.0"]``.
    sim_config: YAML with the faults of the simulated device.
    progress: show a progress bar; by default on a terminal and in a notebook.
    options: further options of ``msprobe acc_check``.

    Raises CheckError if nothing could be checked. A failing call raises nothing: see ``CheckResult.ok``.
    """
    path = find_dump(dump)
    scratch = tempfile.TemporaryDirectory(prefix="msprobe_") if out is None else None
    directory = scratch.name if scratch is not None else os.fspath(out)  # type: ignore[arg-type]
    os.makedirs(directory, exist_ok=True)
    device_options = ["-d", str(device)]
    if sim_config is not None:
        device_options += ["--sim-config", os.fspath(sim_config)]
    words = ["acc_check", "-api_info", path, "-o", directory, "--jobs", str(jobs), *device_options]
    for name in only or []:
        words += ["--only", name]
    words += [*(options or []), "--json"]
    with Progress(directory, path, enabled=progress):
        answer = _run(words, allowed=(0, 1))
    try:
        summary = json.loads(answer)
    except ValueError as error:
        raise CheckError(f"msprobe acc_check printed no summary: {answer[:200]!r}") from error
    return CheckResult(device=summary["device"], dump=path, recorded=summary["recorded"], checked=summary["checked"],
                       skipped=summary["skipped"], lost=summary["lost"], failures=_read_failures(summary["details_csv"]),
                       result_csv=summary["result_csv"], details_csv=summary["details_csv"], _directory=scratch,
                       _options=tuple(device_options))


@contextlib.contextmanager
def check_calls(device: str | torch.device = "cpu", **keywords: object) -> Iterator[_Pending]:
    """Record every call of the block, replay it on `device`, and raise AssertionError if one is wrong.

        with msprobe.check_calls(device="npu:0") as checked:
            model(batch).sum().backward()
        print(checked.result)

    The keywords are those of check(). An exception of the block itself is passed on and nothing is checked.
    """
    from msprobe.recording import record

    pending = _Pending()
    with tempfile.TemporaryDirectory(prefix="msprobe_dump_") as scratch:
        with record(scratch, task="tensor") as recording:
            yield pending
        pending.result = check(recording.path, device, **keywords)  # type: ignore[arg-type]
        if not pending.result.ok:
            raise AssertionError(str(pending.result))


class _Pending:
    """What check_calls() binds: ``result`` is there after the block."""

    result: CheckResult | None = None


def find_dump(path: str | os.PathLike[str]) -> str:
    """The one dump.json at or below `path`."""
    given = os.path.abspath(os.path.expanduser(os.fspath(path)))
    if os.path.isfile(given):
        return given
    if not os.path.isdir(given):
        raise FileNotFoundError(f"{given}: no such file or directory")
    found: list[str] = []
    for pattern in ("dump.json", "rank*/dump.json", "step*/rank*/dump.json"):
        found = found or sorted(glob.glob(os.path.join(glob.escape(given), pattern)))
    if not found:
        raise FileNotFoundError(f"{given}: no dump.json here, nor in step*/rank* below")
    if len(found) > 1:
        raise ValueError(f"{given} contains {len(found)} dumps; choose one of them: {', '.join(found[:4])}{', ...' if len(found) > 4 else ''}")
    return found[0]


def _run(words: list[str], allowed: tuple[int, ...]) -> str:
    command = [program.find(), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            output, errors = running.communicate()
        except BaseException:  # Ctrl-C, which in a notebook reaches this process alone: the program ends in good order
            with contextlib.suppress(BaseException):
                running.send_signal(signal.SIGINT)
                running.wait(timeout=10)
            running.kill()
            raise
    if running.returncode not in allowed:
        raise CheckError(_last_error(errors) or f"'{shlex.join(command)}' ended with status {running.returncode}")
    return output


def _last_error(log: str) -> str:
    """The message of the last error line, without its time stamp."""
    for line in reversed(log.splitlines()):
        if "[ERROR]" in line:
            return line.split("[ERROR]", 1)[1].strip()
    return log.strip().splitlines()[-1] if log.strip() else ""


def _read_failures(details_csv: str) -> list[Failure]:
    failures = []
    with open(details_csv, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            if row.get("Strict Status") not in _FAILING:
                continue
            call, result = _split(row["API name"])
            failures.append(Failure(call=call, result=result, status=row["Strict Status"], reason=row["Strict Reason"],
                                    cause=row["Likely Cause"], dtype=row["DEVICE Dtype"], shape=row["Shape"], documented=row["Status"]))
    return failures


def _split(row_name: str) -> tuple[str, str]:
    """Torch.matmul.0.forward.output.0 -> (Torch.matmul.0, forward.output.0)."""
    for direction in (".forward.", ".backward."):
        if direction in row_name:
            call, _, rest = row_name.partition(direction)
            return call, direction[1:] + rest
    return row_name, ""


def _count_by_api(failures: list[Failure]) -> list[tuple[str, int]]:
    calls: dict[str, set[str]] = {}
    for failure in failures:
        calls.setdefault(failure.call.rpartition(".")[0], set()).add(failure.call)
    return [(api, len(names)) for api, names in calls.items()]
