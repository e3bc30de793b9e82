#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/documents.md: what the documents promise, and the tests that show it. Fails where a test is gone.

usage: make_documents.py [--check]     --check: write nothing, only say what is wrong

The promises are in tests/documents/NNN.txt, a line each: what the document says | test, test. A test is one of
  Suite.Name             a unit test
  file.py:function       a function of a script under tests/
  case.NAME, hostile.NAME, or any other name of a CTest test
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "documents.md"
HEAD = """# What the documents promise, and the tests that show it

Made by `python3 tools/make_documents.py` from `tests/documents`; the suite runs it with `--check` and fails when a test
disappears. `tools/mutations.py` breaks documented behaviours one by one and sees that the tests named here fail.
Where we differ from the documents, and why: [differences.md](differences.md).
"""


def known_tests() -> set[str]:
    tests = set()
    for source in [*(ROOT / "src").rglob("*_test.cc"), *(ROOT / "apps").rglob("*_test.cc")]:
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(), re.MULTILINE):
            tests.add(f"{suite}.{name}")
    for script in (ROOT / "tests").rglob("*.py"):
        for function in re.findall(r"^\s*def (\w+)\(", script.read_text(), re.MULTILINE):
            tests.add(f"{script.name}:{function}")
    for lists in (ROOT / "tests").rglob("CMakeLists.txt"):
        tests |= set(re.findall(r"add_test\(NAME ([\w.]+)", lists.read_text()))
    for kind, folder in (("case", "cases"), ("hostile", "hostile")):
        tests |= {f"{kind}.{args.parent.name}" for args in (ROOT / "tests" / folder).glob("*/args")}
    return tests


def page_of(document: pathlib.Path, tests: set[str], wrong: list[str]) -> str:
    lines = []
    for number, line in enumerate(document.read_text().splitlines(), 1):
        where = f"{document.relative_to(ROOT)}:{number}"
        if line.startswith("## "):
            lines += ["", f"### {line[3:]}", "", "| Promise | Tests |", "|---|---|"]
        elif line.startswith("# ") and not lines:
            lines.append(f"## {line[2:]}")
        elif line and not line.startswith("#"):
            promise, separator, names = line.rpartition(" | ")
            if not separator:
                wrong.append(f"{where}: a promise without a test")
                continue
            for name in names.split(", "):
                if name not in tests:
                    wrong.append(f"{where}: there is no test {name}")
            shown = ", ".join(f"`{name}`" for name in names.split(", "))
            lines.append(f"| {promise} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    wrong: list[str] = []
    tests = known_tests()
    documents = sorted((ROOT / "tests" / "documents").glob("*.txt"))
    text = "\n".join([HEAD, *(page_of(document, tests, wrong) for document in documents)])
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        wrong.append("docs/documents.md is not what tests/documents says; run tools/make_documents.py")
    print("\n".join(wrong) or f"{text.count(chr(10) + '| ') - text.count('| Promise |')} promises, each with a test")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
