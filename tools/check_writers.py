#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and directories are made by src/base/core/new_file.h alone: no other source opens a file for writing.

usage: check_writers.py

What is looked for: streams that write, fopen, open() with a flag for writing, temporary names, renaming, copying and making directories.
Tests may do what they like.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITES = re.compile(
    r"\bo?fstream\b(?!>)|\bfopen\(|\bfreopen\(|\bO_(?:WRONLY|RDWR|CREAT|TRUNC)\b|\bcreat\(|\bmkstemps?\(|\bmkostemps?\(|\bmkdtemp\("
    r"|\brename(?:at2?)?\(|SYS_renameat2?\b|\bcopy_file\(|\bcreate_director(?:y|ies)\(|\bmkdir(?:at)?\(|\bsqlite3_open|\bworkbook_new")
# Who may, and why.
ALLOWED = {
    "src/base/core/new_file.cc": {"O_WRONLY", "O_RDWR", "O_CREAT", "mkdir(", "rename("},
    "src/record/collect/growing_json.cc": {"rename(", "SYS_renameat2"},  # exchanges two files that new_file made
    "src/show/report/database.cc": {"sqlite3_open"},                  # of a file that new_file made, following no link
    "src/check/tables/xlsx_table.cc": {"workbook_new"},                # into the descriptor of one
    "src/arithmetic/sim/session.cc": {"O_WRONLY", "O_CREAT"},               # a log that an environment variable names, a memfd of ours as a rule
    "apps/engine/foreign_devices.cc": {"ofstream"},              # the same
    "apps/engine/python_host.cc": {"O_RDWR"},                    # /dev/null
    "apps/msprobe/pair_cause.cc": {"mkdtemp("},                  # private, and removed at the end
    "apps/msprobe/self_check_command.cc": {"mkdtemp("},          # private, and removed at the end
    "src/base/ops/make_op_lists.cc": {"ofstream"},                    # runs during the build
    "src/engine/engines/fake_engine.cc": {"ofstream"},                  # a test's engine
}


def is_test(path: pathlib.Path) -> bool:
    return path.stem.endswith(("_test", "_for_test", "_fixture")) or path.name == "scratch_directory.h"


def main() -> int:
    problems, used = [], set()
    for path in sorted([*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h"), *ROOT.glob("apps/**/*.cc"), *ROOT.glob("apps/**/*.h")]):
        if is_test(path):
            continue
        name = str(path.relative_to(ROOT))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//", 1)[0]
            if code.startswith("#include"):
                continue
            for found in WRITES.findall(code):
                if found in ALLOWED.get(name, ()):
                    used.add((name, found))
                else:
                    problems.append(f"{name}:{number}: {found.rstrip('(')}: files are made by core/new_file.h")
    for name, words in ALLOWED.items():
        problems += [f"tools/check_writers.py: {name} does not use {word} any more" for word in sorted(words)
                     if (name, word) not in used]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
