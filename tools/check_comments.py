#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comments of C++ files are sentences about the thing they stand at, and name only what exists.

usage: check_comments.py

Reported: clauses without a subject ("So many elements tell", "The same of the bench", "Of these two, ..."); a file that opens with
"What", "Whether", "Which", "How", "Where", "Whose" or "Of" instead of a verb or a name; files and members (A::b) that are nowhere in
the repository; documents and test vectors known by number only. Folders in OPENINGS_LATER still have openings of the second kind.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPENINGS_LATER = (
    "apps/engine", "src/arithmetic/sim", "src/arithmetic/units", "src/base", "src/engine/protocol", "src/engine/worker", "src/judge",
    "src/read", "src/record", "src/run",
)
CLAUSES_LATER = ("src/base", "src/judge", "src/run", "apps/engine")
CLAUSE = re.compile(r"^(So|As) (many|much|far|few|long)\b|\b[Tt]he same of\b|^Of (these|those|this|that|them|which|what|both|all)\b")
OPENING = re.compile(r"^(What|Whether|Which|How|Where|Whose|Who|Of)\b")
NUMBERED = re.compile(r"\bdocuments? \d{3}\b|\bcheck vector V?\d|\bvector V\d")
FILE = re.compile(r"(?<![\w/.*{}<>-])((?:[\w-]+/)*[\w-]+\.(?:h|cc|py|md|sh|cmake))\b(?!\w|\()")
MEMBER = re.compile(r"\b([A-Z]\w+)::(\w+)")
# Files of others: PyTorch, libraries, users, examples.
ELSEWHERE = {
    "ATen/autocast_mode.h", "CALL/reproduce.py", "layers.py", "linux/openat2.h", "main.py", "model.py", "modeling.py", "net.py",
    "reproduce.py", "train.py", "x.py",
}


def comments(text):
    """Line number and text of every comment, lines of one block joined."""
    block, start = [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        whole = re.match(r"\s*//(?!/) ?(.*)", line)
        if whole and "SPDX" not in line:
            start = start if block else number
            block.append(whole[1])
            continue
        if block:
            yield start, " ".join(block)
            block = []
        behind = re.search(r"[;{},)]\s+// (.*)", line)
        if behind:
            yield number, behind[1]


def opening(text):
    lines = text.splitlines()[1:]
    return lines[0][2:].strip() if lines and lines[0].startswith("//") else ""


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [f for f in listed.stdout.split("\n") if f and (ROOT / f).exists()]
    names = {pathlib.PurePath(f).name for f in files}
    sources = {f: (ROOT / f).read_text(errors="replace") for f in files if f.endswith((".h", ".cc")) and f.split("/")[0] in ("src", "apps", "benchmarks", "fuzz")}
    words = set()
    for text in sources.values():
        words.update(re.findall(r"\w+", re.sub(r"//.*", "", text)))
    wrong = []
    for file, text in sources.items():
        if not file.startswith(OPENINGS_LATER) and OPENING.search(opening(text)):
            wrong.append(f"{file}:2: begin with a verb or a name: {opening(text)}")
        for number, comment in comments(text):
            if CLAUSE.search(comment) and not file.startswith(CLAUSES_LATER):
                wrong.append(f"{file}:{number}: a clause without a subject: {comment[:90]}")
            if NUMBERED.search(comment):
                wrong.append(f"{file}:{number}: a document that nobody has: {comment[:90]}")
            for named in FILE.findall(comment):
                if named not in ELSEWHERE and pathlib.PurePath(named).name not in names:
                    wrong.append(f"{file}:{number}: there is no {named}")
            for kind, member in MEMBER.findall(comment):
                if kind in words and member not in words:
                    wrong.append(f"{file}:{number}: {kind} has no {member}")
                if kind not in words and kind not in ("Tensor", "SFINAE"):
                    wrong.append(f"{file}:{number}: there is no {kind} ({kind}::{member})")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
