#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's quick start prints what the README shows, and what the tutorial shows of the same run, up to numbers that depend
on the machine.

usage: readme_check.py BUILD_DIR
"""
import csv
import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blocks(text):
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def comparable(text):
    return [re.sub(r"\d+\.\d+", "N", line.rstrip()) for line in text.strip().splitlines()]


def not_in_the_tutorials_run(printed, details):
    """Lines and cells of docs/tutorial.md that the quick start did not give. Widths of columns depend on the names in them."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    shown = [*re.findall(r"^    (recorded .*)$", text, re.MULTILINE),
             *(line for language, block in blocks(text) if not language for line in block.splitlines() if line.strip("-. "))]
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    yield from (f"docs/tutorial.md shows, but nothing prints: {line}" for line in shown if " ".join(line.split()) not in lines)
    row = re.search(r"^\| Column \| `(.*)` \|$", text, re.MULTILINE)[1]
    with open(details, encoding="utf-8-sig", newline="") as file:
        cells = next(cells for cells in csv.DictReader(file) if cells["API name"] == row)
    for title, value in re.findall(r"^\| (Strict Status|Strict Reason|Likely Cause) \| (.*) \|$", text, re.MULTILINE):
        masked = [re.sub(r"\d+(\.\d+)?(e[+-]\d+)?", "N", cell) for cell in (cells[title], value)]
        if not masked[0].startswith(masked[1]):
            yield f"docs/tutorial.md: {title} of {row} is: {cells[title]}"


def main():
    (_, command), (_, shown) = blocks((ROOT / "README.md").read_text())[:2]
    words = command.split()
    done = subprocess.run([*words, "--built", sys.argv[1]], cwd=ROOT, capture_output=True, text=True)
    wanted, printed = comparable(shown), comparable(done.stdout)
    wrong = [*difflib.unified_diff(wanted, printed[:len(wanted)], "README", "printed", lineterm="")]
    page = pathlib.Path(printed[-1].removeprefix("the report: ")) if printed else None
    if page is None or not page.is_file():
        wrong.append(f"no report: {done.stderr[-500:]}")
    else:
        details, = (page.parent / "sim").glob("accuracy_checking_details_*.csv")
        wrong += not_in_the_tutorials_run(done.stdout, details)
    print("\n".join(wrong) or "as the README and the tutorial show")
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
