#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/release_notes.py prints the section of a version, and refuses one that is not ready."""

import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent.parent / "tools/release_notes.py"
READY = "# Changelog\n\n## Unreleased\n\n### Added\n\n## 1.1.0 (2026-01-02)\n\n### Added\n- New.\n\n## 1.0.0 (2025-01-02)\n- Old.\n"


def run(version: str, changelog: str) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        (place / "CHANGELOG.md").write_text(changelog)
        (place / "CMakeLists.txt").write_text("project(msprobe VERSION 1.1.0 LANGUAGES CXX)\n")
        return subprocess.run([sys.executable, TOOL, version, directory], capture_output=True, text=True)


ready = run("1.1.0", READY)
assert (ready.returncode, ready.stdout) == (0, "### Added\n- New.\n"), ready
older = run("1.0.0", READY)
assert older.returncode == 1 and "the version is 1.1.0, not 1.0.0" in older.stderr, older
left = run("1.1.0", READY.replace("### Added\n\n## 1.1.0", "### Added\n- Forgotten.\n\n## 1.1.0"))
assert left.returncode == 1 and "left under" in left.stderr, left
undated = run("1.1.0", READY.replace(" (2026-01-02)", ""))
assert undated.returncode == 1 and "no section" in undated.stderr, undated
print("release notes: one section is printed, three unready ones are refused")
