#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if two headers of src have the same file name, or if headers of two folders declare types of the same name.

A reader who searches for a name finds one thing. Types inside .cc files may share names: nobody else sees them.
"""
import collections
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"
TYPE = re.compile(r"^(?:template ?<[^>]*>\s*)?(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", re.MULTILINE)


def main():
    files, types = collections.defaultdict(set), collections.defaultdict(set)
    for path in sorted(SRC.rglob("*.h")):
        folder = path.relative_to(SRC).parts[0]
        files[path.name].add(str(path.relative_to(SRC)))
        for name in TYPE.findall(path.read_text()):
            types[name].add(folder)
    twice = [f"file {name}: {', '.join(sorted(places))}" for name, places in sorted(files.items()) if len(places) > 1]
    twice += [f"type {name}: in {', '.join(sorted(folders))}" for name, folders in sorted(types.items()) if len(folders) > 1]
    for line in twice:
        print(f"the same name twice: {line}")
    if not types:
        print("no type was found: the pattern does not match the sources")
    return 1 if twice or not types else 0


if __name__ == "__main__":
    sys.exit(main())
