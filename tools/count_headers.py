#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts headers of one user below 40 lines that are neither a border nor a tested unit, and lists them.

usage: count_headers.py [--most N] [--all]

A header has one user if one file besides its own .cc and tests includes it. It is a border if that file is in another folder, and a
tested unit if a test of its folder includes it. Fails if there are more than N; --all lists borders and tested units too.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = ("src", "apps", "benchmarks", "tests", "fuzz")
SHORT = 40  # lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    files = [p for place in PLACES for p in (ROOT / place).rglob("*") if p.suffix in (".h", ".cc", ".in")]
    users = collections.defaultdict(set)
    for path in files:
        for header in re.findall(r'^#include "([^"]+)"', path.read_text(errors="replace"), re.MULTILINE):
            users[header].add(path)
            if "/" not in header:
                users[f"{path.parent.name}/{header}"].add(path)
    counts, listed = collections.Counter(), []
    for header in sorted(p for p in files if p.suffix == ".h" and not p.stem.endswith("_for_test")):
        own = header.with_suffix(".cc")
        parts = header.relative_to(ROOT).parts
        named = "/".join(parts[2:]) if parts[0] == "src" and len(parts) > 4 else f"{header.parent.name}/{header.name}"
        using = (users[named] | users["/".join(parts[2:] if parts[0] == "src" else parts[1:])]) - {own}
        tests = {p for p in using if p.stem.endswith(("_test", "_for_test")) or "fuzz" in p.parts}
        counts["headers"] += 1
        if len(using - tests) > 1:
            continue
        counts["of one user"] += 1
        lines = len(header.read_text().splitlines())
        if lines >= SHORT:
            continue
        counts[f"of one user, below {SHORT} lines"] += 1
        user = next(iter(using - tests), None)
        border = user is not None and user.parent != header.parent
        if not border and not tests:
            counts["of these neither border nor tested unit"] += 1
        if options.all or (not border and not tests):
            kind = "border" if border else "tested" if tests else ""
            listed.append(f"{lines:3} {header.relative_to(ROOT)}  used by {user.relative_to(ROOT) if user else 'nobody'}  {kind}".rstrip())
    print("\n".join(listed))
    for what, count in counts.items():
        print(f"{count} {what}")
    crumbs = counts["of these neither border nor tested unit"]
    return 1 if options.most is not None and crumbs > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
