#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation is true: its links lead somewhere, the reference is what --help prints, every column is explained, every FAQ answer
has its test, and lines of text have at most 120 columns.

usage: docs_check.py MSPROBE
"""
import csv
import glob
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "two_devices"


def broken_links():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: no {target}"


def long_lines():
    """Text of more than 120 columns. Rows of tables cannot be broken; commands and outputs are shown as they are."""
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]:
        in_code = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            in_code ^= line.lstrip().startswith("```")
            if len(line) > 120 and not in_code and not line.startswith(("|", "    ")):
                yield f"{page.relative_to(ROOT)}:{number}: {len(line)} columns, at most 120 are allowed"


def header(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file))


def unexplained_columns(program):
    page = (ROOT / "docs" / "columns.md").read_text()
    cells = {cell.strip() for line in page.splitlines() if line.startswith("|") for cell in line.split("|")[1].split(",")}
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "api_precision_compare", "-npu", EXAMPLE / "npu_details.csv", "-gpu", EXAMPLE / "gpu_details.csv",
                        "-o", out], capture_output=True)
        written = glob.glob(f"{out}/*.csv")
        columns = {title for path in [*written, EXAMPLE / "npu_details.csv"] for title in header(path)}
    columns |= {"Strict Status", "Strict Reason", "Likely Cause", "Rerun Command"}
    return [f"docs/columns.md: nothing about '{title}'" for title in sorted(columns - cells)] if len(written) == 2 else ["no result"]


def faq_and_its_tests():
    """docs/faq.md names every test of tests/collector/test_faq.py and no other."""
    tests = set(re.findall(r"^    (?:def )?(test_\w+)(?:\(| =)", (ROOT / "tests" / "collector" / "test_faq.py").read_text(), re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "faq.md").read_text()))
    return [*(f"docs/faq.md: there is no {name}" for name in sorted(named - tests)),
            *(f"docs/faq.md: {name} is not named" for name in sorted(tests - named))]


def main():
    program = sys.argv[1]
    reference = subprocess.run([sys.executable, ROOT / "tools" / "make_reference.py", program, "--check"], capture_output=True, text=True)
    wrong = [*broken_links(), *long_lines(), *unexplained_columns(program), *faq_and_its_tests(), *reference.stdout.splitlines()]
    print("\n".join(wrong) or "links, lengths of lines, columns, FAQ and reference are as they should be")
    return 1 if wrong or reference.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
