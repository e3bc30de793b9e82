#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference.md, the options of every command as `--help` prints them.

usage: make_reference.py MSPROBE [--check]     --check: only say whether the file is up to date
"""
import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference.md"
HEAD = """# Commands and options

| To do this | Use |
|---|---|
| check a recorded training step on a device | [acc_check](#acc_check); with many engines or devices [multi_acc_check](#multi_acc_check) |
| look at a result | [report](#report) |
| see what changed since the last check | [diff](#diff) |
| compare two devices | [api_precision_compare](#api_precision_compare) |
| make a failing call small | [shrink](#shrink) |
| find where two runs of a model diverge, or where NaN comes from | [compare](#compare) |
| join the parts of a check that several machines shared | [merge_checks](#merge_checks) |
| compare one pair of tensors | [metrics](#metrics) |
| know how a device computes | [probe_device](#probe_device) |
| check the checker | [self_check](#self_check) |
| use recordings of the older tool | [run_ut](#run_ut), [run_overflow_check](#run_overflow_check) |
| shrink graph-mode dumps to minimum and maximum | [convert_info](#convert_info) |

The columns of the CSV files are explained in [columns.md](columns.md), the exit status in
[exit_status.md](exit_status.md). The rest of this page is what `msprobe COMMAND --help` prints; it is made by
`python3 tools/make_reference.py build/release/bin/msprobe`.
"""


def printed(program: str, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True, env=environment)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def page(program: str) -> str:
    overview = printed(program, "--help")
    commands = sorted(re.findall(r"^  (\w+)  ", overview, re.MULTILINE))
    parts = [HEAD, f"```\n{overview}\n```\n", f"## The simulated device\n\n```\n{printed(program, 'help', 'sim')}\n```\n"]
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
