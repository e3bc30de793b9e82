# SPDX-License-Identifier: Apache-2.0
"""The strict statuses of a dump, as msprobe gives them."""

import csv
import pathlib
import subprocess
import sys

RANKS = {"error": 3, "warning": 3, "pass": 2, "inconclusive": 2}


def strict_statuses(program, folder, *options):
    """{call: the worst strict status of its outputs}"""
    out = pathlib.Path(folder) / "out"
    command = [
        program,
        "acc_check",
        "-api_info",
        str(pathlib.Path(folder) / "dump.json"),
        "-d",
        "recorded",
        "-o",
        str(out),
        *map(str, options),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    (details,) = out.glob("accuracy_checking_details_*.csv")
    worst = {}
    with open(details, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            call = ".".join(row["API name"].split(".")[:3])
            status = row["Strict Status"].strip()
            if RANKS.get(status, 1) >= RANKS.get(worst.get(call, ("",))[0], 0):
                worst[call] = (status, row["Strict Reason"])
    return worst
