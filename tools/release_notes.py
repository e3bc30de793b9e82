#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what CHANGELOG.md says of a version, and check that the version can be released: CMakeLists.txt names it, its section has a
date, and nothing is left under Unreleased.

usage: release_notes.py VERSION [DIRECTORY]
"""

import pathlib
import re
import sys


def section(changelog: str, title: str) -> str | None:
    """The text below a heading "## TITLE", up to the next one."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found and found.group(1).strip()


def problems(version: str, directory: pathlib.Path) -> list[str]:
    changelog = (directory / "CHANGELOG.md").read_text(encoding="utf-8")
    project = re.search(r"project\(msprobe VERSION (\S+)", (directory / "CMakeLists.txt").read_text(encoding="utf-8"))
    found = []
    if project is None or project.group(1) != version:
        found.append(f"CMakeLists.txt: the version is {project and project.group(1)}, not {version}")
    if not section(changelog, re.escape(version) + r" \(\d{4}-\d\d-\d\d\)"):
        found.append(f"CHANGELOG.md: no section '## {version} (YYYY-MM-DD)'")
    if re.search(r"^- ", section(changelog, "Unreleased") or "", re.MULTILINE):
        found.append(f"CHANGELOG.md: lines are left under '## Unreleased'; move them to {version}")
    return found


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    version = sys.argv[1]
    directory = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).parent.parent)
    if wrong := problems(version, directory):
        print("\n".join(wrong), file=sys.stderr)
        return 1
    changelog = (directory / "CHANGELOG.md").read_text(encoding="utf-8")
    print(section(changelog, re.escape(version) + r" \([^)]*\)"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
