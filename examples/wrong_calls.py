#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls whose results no rounding explains: those that the strict status fails, device by device.

usage: wrong_calls.py DEVICE=DETAILS.csv ...
"""
import csv
import sys


def directions_by_call(path):
    found = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            if row["Strict Status"] == "error":
                call, direction = row["API name"].split(".output.")[0].rsplit(".", 1)
                directions = found.setdefault(call, [])
                if direction not in directions:
                    directions.append(direction)
    return found


def main():
    devices = dict(argument.split("=", 1) for argument in sys.argv[1:])
    wrong = {device: directions_by_call(path) for device, path in devices.items()}
    calls = list(dict.fromkeys(call for found in wrong.values() for call in found))
    table = [["API", *devices], *([call, *(", ".join(found.get(call, "-")) for found in wrong.values())] for call in calls)]
    widths = [max(map(len, column)) for column in zip(*table)]
    table.insert(1, ["-" * width for width in widths])
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
