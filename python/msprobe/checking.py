# SPDX-License-Identifier: Apache-2.0
"""``msprobe.check("dump", device=...)``: replays a dump with the native program and gives the verdicts as Python objects."""

from __future__ import annotations

import contextlib
import csv
import glob
import json
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msprobe.common import new_file, program
from msprobe.common.program import CheckError, DeviceMissing
from msprobe.error_map import ErrorMap
from msprobe.progress import Progress
from msprobe.results import RAISED, Call, Calls, CheckResult, Failure, as_number

if TYPE_CHECKING:
    import torch

__all__ = ["Call", "Calls", "CheckError", "CheckResult", "DeviceMissing", "Failure", "check", "check_calls", "find_dumps"]

_FAILING = ("warning", "error")
_DEVICE_FAILED = "device_failed: "  # what the message of a call begins with that does not run on the device


def check(dump: str | os.PathLike[str], device: str | torch.device = "cpu", *, out: str | os.PathLike[str] | None = None,
          jobs: int = 1, only: list[str] | None = None, sim_profile: str | None = None, sim_config: str | os.PathLike[str] | None = None,
          card: str | os.PathLike[str] | None = None, fail_on: str | None = None, seed: int | None = None, timeout: float | None = None,
          progress: bool | None = None, options: list[str] | None = None) -> CheckResult:
    """Replay every recorded call on `device` and on a CPU benchmark of higher precision, and judge what it gives.

    dump: a dump.json, or a directory: of a rank, of a step, or of several steps and ranks; then the result has ``parts``.
    device: ``"cpu"``, ``"cuda:0"``, ``"npu:0"``, ``"sim"``, ``"recorded"`` (the outputs stored in the dump), or a torch.device.
    out: where the CSVs go; without it they live as long as the result.
    jobs: engine processes that share the work.
    only: names of calls, APIs or patterns, e.g. ``["Torch.matmul.0", "conv2d", "Functional.*"]``.
    sim_profile, sim_config: arithmetic and faults of the simulated device (``msprobe help sim``).
    card: the card of the device (``msprobe probe_device -o``), for a tighter bound.
    fail_on: which verdicts make ``result.ok`` false: strict (default), error, warning, inconclusive.
    seed: of generated inputs.
    timeout: seconds for a small call; large ones get more.
    progress: show a progress bar; by default on a terminal and in a notebook.
    options: further options of ``msprobe acc_check``.

    Raises DeviceMissing if there is no such device, CheckError if nothing could be checked. A failing call raises nothing: see
    ``CheckResult.ok``.
    """
    dumps = find_dumps(dump)
    scratch = tempfile.TemporaryDirectory(prefix="msprobe_") if out is None else None
    directory = scratch.name if scratch is not None else os.fspath(out)  # type: ignore[arg-type]
    new_file.make_directories(directory)
    device_options = ["-d", str(device)]
    for name, value in (("--sim-profile", sim_profile), ("--sim-config", sim_config)):
        if value is not None:
            device_options += [name, os.fspath(value)]
    given = os.path.abspath(os.path.expanduser(os.fspath(dump)))
    words = ["acc_check", "-api_info", dumps[0] if len(dumps) == 1 else given, "-o", directory, "--jobs", str(jobs), *device_options]
    for name in only or []:
        words += ["--only", name]
    for name, given_value in (("--card", card), ("--fail-on", fail_on), ("--seed", seed), ("--timeout", timeout)):
        if given_value is not None:
            words += [name, str(given_value)]
    words += [*(options or []), "--json"]
    with Progress(directory, dumps, enabled=progress):
        answer = program.run(words, allowed=(0, 1))
    try:
        summary = json.loads(answer)
    except ValueError as error:
        raise CheckError(f"msprobe acc_check printed no summary: {answer[:200]!r}") from error
    if "checks" not in summary:
        return _result(summary, dumps[0], scratch, tuple(device_options))
    parts = [_result(part, os.path.join(given, part["place"], "dump.json"), None, tuple(device_options)) for part in summary["checks"]]
    return _joined(parts, given, directory, summary["exit_status"], scratch)


def _result(summary: dict[str, Any], dump: str, scratch: tempfile.TemporaryDirectory[str] | None, options: tuple[str, ...]) -> CheckResult:
    place = summary.get("place", "")
    return CheckResult(device=summary["device"], dump=dump, recorded=summary["recorded"], checked=summary["checked"],
                       skipped=summary["skipped"], lost=summary["lost"], raised=summary["raised"],
                       inconclusive=summary.get("strict", {}).get("inconclusive", 0),
                       failures=_read_failures(summary["details_csv"], summary["failures"], place),
                       result_csv=summary["result_csv"], details_csv=summary["details_csv"], exit_status=summary["exit_status"], place=place,
                       _directory=scratch, _options=options)


def _joined(parts: list[CheckResult], dump: str, directory: str, exit_status: int,
            scratch: tempfile.TemporaryDirectory[str] | None) -> CheckResult:
    skipped: dict[str, int] = {}
    for part in parts:
        for reason, calls in part.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + calls
    return CheckResult(device=parts[0].device, dump=dump, recorded=sum(part.recorded for part in parts),
                       checked=sum(part.checked for part in parts), skipped=skipped, lost=sum(part.lost for part in parts),
                       raised=sum(part.raised for part in parts), inconclusive=sum(part.inconclusive for part in parts),
                       failures=[failure for part in parts for failure in part.failures], result_csv=directory, details_csv=directory,
                       exit_status=exit_status, parts=parts, _directory=scratch)


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


def find_dumps(path: str | os.PathLike[str]) -> list[str]:
    """The dump.json at `path`, or those of the steps and ranks below it."""
    given = os.path.abspath(os.path.expanduser(os.fspath(path)))
    if os.path.isfile(given):
        return [given]
    if not os.path.isdir(given):
        raise FileNotFoundError(f"{given}: no such file or directory")
    for pattern in ("dump.json", "*/dump.json", "step*/*/dump.json"):
        found = sorted(glob.glob(os.path.join(glob.escape(given), pattern)))
        if found:
            return found
    raise FileNotFoundError(f"{given}: no dump.json here, nor in step*/rank* below")


def _read_failures(details_csv: str, calls: list[dict[str, Any]], place: str) -> list[Failure]:
    """The rows beyond their strict bound, and those that the device could not compute, with what the summary says of their calls."""
    about = {call["name"]: call for call in calls}
    maps = _read_maps(details_csv)
    failures = []
    with open(details_csv, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            raised = row["Status"] == "SKIP" and row["Message"].startswith(_DEVICE_FAILED)
            if row.get("Strict Status") not in _FAILING and not raised:
                continue
            call, result = _split(row["API name"])
            known = about.get(call, {})
            reason = _first_line(row["Message"][len(_DEVICE_FAILED):]) if raised else row["Strict Reason"]
            failures.append(Failure(call=call, result=result, status=RAISED if raised else row["Strict Status"], reason=reason,
                                    cause="does not run on the device" if raised else row["Likely Cause"], dtype=row["DEVICE Dtype"], shape=row["Shape"], documented=row["Status"],
                                    line=known.get("source_line", ""), module=known.get("module", ""),
                                    error_over_bound=_over_bound(row, known), place=place, map=maps.get(row["API name"])))
    return failures


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def _over_bound(row: dict[str, str], call: dict[str, Any]) -> float | None:
    """Of the row, else of its call."""
    text = (row.get("Error Over Bound") or "").strip()
    try:
        return float(text)
    except ValueError:
        return as_number(call.get("error_over_bound"))


def _read_maps(details_csv: str) -> dict[str, ErrorMap]:
    path = details_csv.replace("accuracy_checking_details_", "accuracy_checking_maps_")
    path = os.path.splitext(path)[0] + ".jsonl"
    maps: dict[str, ErrorMap] = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            maps[line["row"]] = ErrorMap.of(line)
    return maps


def _split(row_name: str) -> tuple[str, str]:
    """Torch.matmul.0.forward.output.0 -> (Torch.matmul.0, forward.output.0)."""
    for direction in (".forward.", ".backward."):
        if direction in row_name:
            call, _, rest = row_name.partition(direction)
            return call, direction[1:] + rest
    return row_name, ""
