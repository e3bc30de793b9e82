#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of NPU operators whose results were computed here, by loops that follow the vendor's documents: the strict status must pass the
right ones and see every fault.

usage: check.py MSPROBE [KEPT_FOLDER]
"""

import pathlib
import sys
import tempfile

import attention
import mx
import products
import quantise
import routing
import training
from check_dump import RANKS, strict_statuses
from recorder import Calls


def check(program, folder):
    calls = Calls(folder)
    for module in (quantise, mx, products, routing, attention, training):
        module.record(calls)
    calls.finish()
    statuses = strict_statuses(program, folder)
    failures, seen = [], {"right": 0, "fault": 0}
    for call, label in calls.labels.items():
        status, reason = statuses.get(call, ("not checked", ""))
        wanted = 2 if label == "right" else 3
        seen["right" if label == "right" else "fault"] += 1
        if RANKS.get(status) != wanted:
            failures.append(f"{call} ({label}): {status} {reason}")
    print(f"{len(calls.count)} operators, {seen['right']} right calls, {seen['fault']} faults, {len(failures)} judged wrongly")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def main():
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).mkdir(parents=True)
        return check(sys.argv[1], sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="msprobe_npu_") as folder:
        return check(sys.argv[1], folder)


sys.exit(main())
