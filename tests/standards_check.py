#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thresholds of a standards file that name an API or a device count for its rows and for nothing else, in every command that checks.

usage: standards_check.py PROGRAM
"""

from __future__ import annotations

import csv
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent
DUMP = SOURCE / "data/dumps/convnet_statistics/dump.json"
# No float32 convolution is that exact, so nearly every element counts as an error.
RULE = "rules:\n  - api: conv2d\n{}    thresholds: {{rtol: 2**-60, ulp_count: 0}}\n"
NAME = "API name"

wrong: list[str] = []


def check(name: str, condition: bool, what: object = "") -> None:
    if not condition:
        wrong.append(f"{name}: {what}")


class Runs:
    def __init__(self, program: str, scratch: pathlib.Path):
        self.program, self.scratch, self.count = program, scratch, 0

    def run(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)

    def details(self, *arguments: object) -> list[dict]:
        """The rows of a check with these arguments."""
        self.count += 1
        out = self.scratch / f"out{self.count}"
        result = self.run(*arguments, "-o", out)
        check("the check ran", result.returncode in (0, 1), result.stderr[-500:])
        found = list(out.glob("accuracy_checking_details_*.csv"))
        check("one details file", len(found) == 1, found)
        with open(found[0], newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file))


def differing(rows: list[dict], others: list[dict]) -> tuple[set[str], set[str]]:
    """The APIs and the columns in which two tables differ; the command that runs a call again names the standards file."""
    check("the same rows", [row[NAME] for row in rows] == [row[NAME] for row in others])
    apis, columns = set(), set()
    for row, other in zip(rows, others):
        for column, cell in row.items():
            if cell != other[column] and column != "Rerun Command":
                apis.add(row[NAME].split(".")[1])
                columns.add(column)
    return apis, columns


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = pathlib.Path(scratch_name)
        runs = Runs(sys.argv[1], scratch)
        files = {}
        for name, device in (("conv2d", ""), ("cpu", "    device: cpu\n"), ("npu", "    device: npu\n")):
            files[name] = scratch / f"{name}.yaml"
            files[name].write_text(RULE.format(device))
        one = ("acc_check", "-api_info", DUMP, "-d", "cpu")
        plain = runs.details(*one)
        ruled = runs.details(*one, "--standards", files["conv2d"])
        apis, columns = differing(plain, ruled)
        check("acc_check: conv2d alone", apis == {"conv2d"}, apis)
        rates = {column for column in columns if "rate" in column.lower() or "proportion" in column.lower()}
        check("acc_check: its rates", len(rates) >= 2, columns)
        check("acc_check: nothing but its rates and what follows from them", columns <= rates | {"Status", "Message"}, columns)
        check("a rule for the device", differing(ruled, runs.details(*one, "--standards", files["cpu"])) == (set(), set()))
        check("a rule for another device", differing(plain, runs.details(*one, "--standards", files["npu"])) == (set(), set()))

        many = runs.details("multi_acc_check", "-api_info", DUMP, "-n", "2", "-d", "cpu", "--standards", files["conv2d"])
        check("multi_acc_check", differing(ruled, many) == (set(), set()), differing(ruled, many))

        for number, standards in ((1, "conv2d"), (2, "conv2d"), (2, "npu")):
            result = runs.run(*one, "--shard", f"{number}/2", "--standards", files[standards], "-o", scratch / f"shard{number}_{standards}")
            check("a shard", result.returncode in (0, 1), result.stderr[-300:])
        merged = runs.details("merge_checks", scratch / "shard1_conv2d", scratch / "shard2_conv2d")
        check("merge_checks", differing(ruled, merged) == (set(), set()), differing(ruled, merged))
        result = runs.run("merge_checks", scratch / "shard1_conv2d", scratch / "shard2_npu", "-o", scratch / "refused")
        check("shards of two standards files", result.returncode == 2 and "standards" in result.stderr, (result.returncode, result.stderr))
        result = runs.run("run_ut", "--standards", files["conv2d"])
        check("run_ut has a rule of its own", result.returncode == 2 and "--standards" in result.stderr, result.stderr)
    for text in wrong:
        print(text)
    print("the rules of a standards file go with the call" if not wrong else f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
