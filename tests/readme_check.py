#!/usr/bin/env python3
"""The README's quick start prints what the README shows: the block below its command, up to numbers that depend on the machine.

usage: readme_check.py BUILD_DIR
"""
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


def main():
    (_, command), (_, shown) = blocks((ROOT / "README.md").read_text())[:2]
    words = command.split()
    done = subprocess.run([*words, "--built", sys.argv[1]], cwd=ROOT, capture_output=True, text=True)
    wanted, printed = comparable(shown), comparable(done.stdout)
    wrong = [*difflib.unified_diff(wanted, printed[:len(wanted)], "README", "printed", lineterm="")]
    page = pathlib.Path(printed[-1].removeprefix("the report: ")) if printed else None
    if page is None or not page.is_file():
        wrong.append(f"no report: {done.stderr[-500:]}")
    print("\n".join(wrong) or "as the README shows")
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
