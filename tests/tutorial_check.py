#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md can be followed word for word, and prints what it shows, up to numbers that depend on the machine.

usage: tutorial_check.py BUILD_DIR
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
STATUS = {"-d sim": 1, "api_precision_compare": 1}  # of commands that find something wrong; shrink ends with 0


def masked(text):
    return [" ".join(line.split()) for line in re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?(?= x bound)|\d+\.\d+ s$", "N", text, flags=re.MULTILINE).splitlines()
            if line.strip("-. ")]


def commands_with_output(page):
    """Each bash block, and the plain block behind it, if there is one."""
    found = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        if language == "bash":
            found.append([block.strip(), ""])
        elif not language and found:
            found[-1][1] += block
    return found


def wanted_status(command):
    return 0 if " shrink " in command else next((status for part, status in STATUS.items() if part in command), 0)


def wrong_cells(details):
    row = re.search(r"^\| Column \| `(.*)` \|$", PAGE, re.MULTILINE)[1]
    with open(details, encoding="utf-8-sig", newline="") as file:
        cells = next(cells for cells in csv.DictReader(file) if cells["API name"] == row)
    for title, value in re.findall(r"^\| (Strict Status|Strict Reason|Likely Cause) \| (.*) \|$", PAGE, re.MULTILINE):
        shown, given = (re.sub(r"\d+(\.\d+)?(e[+-]\d+)?", "N", cell) for cell in (value, cells[title]))
        if not given.startswith(shown):
            yield f"{title} of {row} is: {cells[title]}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        # The clone, with nothing in it that an earlier run left.
        os.symlink(ROOT / "examples", pathlib.Path(scratch) / "examples")
        tools = pathlib.Path(scratch) / "tools"
        tools.mkdir()
        (tools / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (tools / "python3").chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{build / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1",
                       "PYTHONPATH": ":".join(filter(None, (str(build / "python"), os.environ.get("PYTHONPATH"))))}
        for command, shown in commands_with_output(PAGE):
            done = subprocess.run(["bash", "-c", command], cwd=scratch, env=environment, capture_output=True, text=True)
            if done.returncode != wanted_status(command):
                wrong.append(f"{command}\nends with {done.returncode}:\n{done.stdout}{done.stderr}")
            printed = masked(done.stdout)
            wrong += [f"{command}\ndoes not print: {line}\nbut:\n{done.stdout}" for line in masked(shown) if line not in printed]
        if not wrong:
            wrong += wrong_cells(next(pathlib.Path(scratch, "out").glob("accuracy_checking_details_*.csv")))
            if not list(pathlib.Path(scratch, "out").glob("*.html")):
                wrong.append("--report wrote no page")
    print("\n".join(wrong) or "as the tutorial shows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
