#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's quick start prints what the README shows, up to numbers that depend on the machine, and how to go on.

usage: readme_check.py BUILD_DIR
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blocks(text):
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def comparable(text):
    masked = re.sub(r"\d+\.\d+|\d+(?= x bound)|\d{14}", "N", text.replace(os.path.relpath(sys.argv[1], ROOT), "build/quickstart"))
    return [line.rstrip() for line in masked.strip().splitlines()]


def main():
    (_, command), (_, shown) = blocks((ROOT / "README.md").read_text())[:2]
    words = command.split()
    done = subprocess.run([*words, "--built", sys.argv[1]], cwd=ROOT, capture_output=True, text=True)
    wanted, printed = comparable(shown), comparable(done.stdout)
    wrong = [*difflib.unified_diff(wanted, printed[:len(wanted)], "README", "printed", lineterm="")]
    page = re.search(r"^the report: (.*)$", done.stdout, re.MULTILINE)
    if not page or not pathlib.Path(page[1]).is_file():
        wrong.append(f"no report: {done.stderr[-500:]}")
    setting = re.search(r"^export .*$", done.stdout, re.MULTILINE)
    after = f"{setting[0] if setting else ''}; msprobe --version && {sys.executable} -c 'import msprobe.pytorch'"
    used = subprocess.run(["bash", "-c", after], cwd="/", capture_output=True, text=True)
    if used.returncode or not setting:
        wrong.append(f"after the quick start, msprobe cannot be called: {used.stderr}")
    print("\n".join(wrong) or "as the README shows")
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
