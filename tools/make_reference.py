#!/usr/bin/env python3
"""Write docs/reference.md, the options of every command as `--help` prints them.

usage: make_reference.py MSPROBE [--check]     --check: only say whether the file is up to date
"""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference.md"
HEAD = """# Commands and options

What `msprobe COMMAND --help` prints; made by `python3 tools/make_reference.py build/release/bin/msprobe`. What the columns of the CSV files
mean is in [columns.md](columns.md), the exit status in [exit_status.md](exit_status.md).
"""


def printed(program: str, *words: str) -> str:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def page(program: str) -> str:
    overview = printed(program, "--help")
    commands = re.findall(r"^  (\w+)  ", overview.split("commands:")[1].split("\n\n")[0], re.MULTILINE)
    parts = [HEAD, f"```\n{overview}\n```\n"]
    parts += [f"## {name}\n\n```\n{printed(program, name, '--help')}\n```\n" for name in commands]
    return "\n".join(parts)


def main() -> int:
    text = page(sys.argv[1])
    if "--check" not in sys.argv[2:]:
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() == text:
        return 0
    print(f"{PAGE} is not what --help prints; run tools/make_reference.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
