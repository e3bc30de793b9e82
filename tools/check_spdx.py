#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file names its license in its first lines.

usage: check_spdx.py [--fix]     --fix: adds the line where it is missing
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = "SPDX-License-Identifier: Apache-2.0"
COMMENTS = {
    **dict.fromkeys((".cc", ".h", ".ts", ".mjs"), "// {}"),
    **dict.fromkeys((".py", ".sh", ".cmake"), "# {}"),
    ".css": "/* {} */",
}
DATA = ("tests/data/", "tests/cases/", "tests/hostile/", "fuzz/corpus/", "web/dist/")


def comment_of(path: pathlib.Path) -> str:
    return "# {}" if path.name == "CMakeLists.txt" else COMMENTS.get(path.suffix, "")


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    sources = [ROOT / name for name in listed if name and not name.startswith(DATA) and comment_of(pathlib.Path(name))]
    missing = [path for path in sources if path.exists() and LINE not in "".join(path.read_text().splitlines(keepends=True)[:3])]
    for path in missing:
        if "--fix" in sys.argv[1:]:
            first, rest = path.read_text(), ""
            if first.startswith("#!"):
                first, _, rest = first.partition("\n")
                path.write_text(f"{first}\n{comment_of(path).format(LINE)}\n{rest}")
            else:
                path.write_text(f"{comment_of(path).format(LINE)}\n{first}")
        else:
            print(f"{path.relative_to(ROOT)}: no line {LINE}; tools/check_spdx.py --fix adds it")
    return 1 if missing and "--fix" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
