#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Break one documented behaviour after the other in the source, and see that the tests that are named for it fail.

usage: mutations.py [--build DIR] [--only TEXT...] [--together] [--list]

The mutations are in tools/mutations.txt. Each is applied to this clone, built and tested, and taken back, also after an interrupt. It is no part
of the suite: a mutation costs a build. Run it in a clone of its own, with a finished build tree (default: build/release).
--together applies mutations that have no file and no test in common at once: a few builds for all of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = pathlib.Path(__file__).with_suffix(".txt")
# Scripts whose CTest test has another name than the script.
SCRIPTS = {"torchair_check.py": "torchair", "document_commands.py": "document_commands", "mindspore_check.py": "mindspore",
           "overflow_check.py": "overflow", "dump_compare_check.py": "dump_compare", "torchair_script_check.py": "torchair_script"}


@dataclasses.dataclass
class Mutation:
    promise: str
    file: pathlib.Path
    old: str
    new: str
    tests: list[str]


def mutations() -> list[Mutation]:
    """Blocks of: the promise; file: FILE; - old line; + new line; tests: a, b. Lines of - and + are joined."""
    found = []
    for block in re.split(r"\n\s*\n", LIST.read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        old, new = ("\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in ("- ", "+ "))
        fields = dict(line.split(": ", 1) for line in lines[1:] if line.startswith(("file: ", "tests: ")))
        found.append(Mutation(lines[0], ROOT / fields["file"], old, new, fields["tests"].split(", ")))
    return found


def run(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=ROOT)


class Tests:
    """The tests of the build tree by the names that docs/documents.md uses."""

    def __init__(self, build: pathlib.Path):
        self.build = build
        # Behind the names of parametrized tests are the bytes of their values, which may be addresses.
        self.names = re.findall(r"Test +#\d+: (\S.*?)(?:  # .*)?$", run("ctest", "--test-dir", build, "-N").stdout, re.MULTILINE)

    def known_as(self, test: str) -> list[str]:
        script, _, function = test.partition(":")
        if function:
            plain = SCRIPTS.get(script) or "collector." + script.removeprefix("test_").removesuffix(".py")
            return [name for name in self.names if name == plain]
        return [name for name in self.names if name == test or re.search(rf"(^|[./]){re.escape(test)}(/|$)", name)]

    def targets(self, names: list[str]) -> list[str]:
        """What must be built for them."""
        found = set()
        for name in names:
            unit = f"{name.partition('.')[0]}_test"
            if (self.build / "bin" / unit).exists() and not name.startswith(("case.", "hostile.", "collector.")):
                found.add(unit)
            else:
                found |= {"msprobe", "msprobe-engine"}
        return sorted(found)

    def failing(self, names: list[str]) -> list[str]:
        """Of the tests, those that fail. One that did not run is taken to pass: nothing shows that it sees anything."""
        pattern = "^(" + "|".join(map(re.escape, names)) + ")(  # .*)?$"
        done = run("ctest", "--test-dir", self.build, "-R", pattern)
        found = re.findall(r"^\s+\d+ - (\S.*?)(?:  # .*)? \((?!Not Run).*\)$", done.stdout, re.MULTILINE)
        return [name for name in names if name in found]


def cannot_be_tried(mutation: Mutation, tests: Tests) -> list[str]:
    wrong = [f"unknown test {test}" for test in mutation.tests if not tests.known_as(test)]
    times = mutation.file.read_text().count(mutation.old)
    if times != 1:
        wrong.append(f"{mutation.file.relative_to(ROOT)}: the old text is there {times} times, expected once")
    return wrong


def without_broken(group: list[Mutation], tests: Tests, told: str) -> list[list[str]]:
    """The group did not build: those whose files the compiler complains about are left out."""
    broken = [f"{mutation.file.relative_to(ROOT)}:" in told for mutation in group]
    text = ["does not build: " + "; ".join(re.findall(r"error: .*", told)[:3])]
    if not any(broken):
        return [text] * len(group)
    rest = [mutation for mutation, is_broken in zip(group, broken) if not is_broken]
    found = iter(try_together(rest, tests) if rest else [])
    return [text if is_broken else next(found) for is_broken in broken]


def try_together(group: list[Mutation], tests: Tests) -> list[list[str]]:
    """For each mutation what is wrong: the tests that pass although the behaviour is broken, or why it could not be tried."""
    named = [{test: tests.known_as(test) for test in mutation.tests} for mutation in group]
    every = sorted({name for one in named for names in one.values() for name in names})
    before = {mutation.file: mutation.file.read_text() for mutation in group}
    targets = tests.targets(every) if any(file.suffix in (".cc", ".h") for file in before) else []
    try:
        for mutation in group:
            mutation.file.write_text(before[mutation.file].replace(mutation.old, mutation.new))
        built = run("cmake", "--build", tests.build, "-j2", "--target", *targets, "--", "-k", "0") if targets else None
        does_not_build = built is not None and built.returncode != 0
        failed = set() if does_not_build else set(tests.failing(every))
    finally:
        for file, text in before.items():
            file.write_text(text)
    if does_not_build:
        return without_broken(group, tests, built.stdout)
    # Of a parametrized test one value is enough.
    return [[f"{test} passes" for test, names in one.items() if not set(names) & failed] for one in named]


def grouped(chosen: list[Mutation], tests: Tests) -> list[list[Mutation]]:
    """Mutations that can be tried at once: no file and no test is in two of a group."""
    groups: list[list[Mutation]] = []
    taken: list[set] = []
    for mutation in chosen:
        own = {mutation.file, *(name for test in mutation.tests for name in tests.known_as(test))}
        place = next((index for index, things in enumerate(taken) if not things & own), len(groups))
        if place == len(groups):
            groups.append([])
            taken.append(set())
        groups[place].append(mutation)
        taken[place] |= own
    return groups


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="only mutations whose promise or file has one of these texts")
    parser.add_argument("--together", action="store_true", help="try those with no file and no test in common at once")
    parser.add_argument("--list", action="store_true", help="print the promises and tests, and run nothing")
    arguments = parser.parse_args()
    chosen = [mutation for mutation in mutations() if any(text in f"{mutation.promise} {mutation.file}" for text in arguments.only)]
    if arguments.list:
        for mutation in chosen:
            print(f"{mutation.promise}: {', '.join(mutation.tests)}")
        return 0
    changed = run("git", "diff", "--name-only", "--", *{mutation.file for mutation in chosen}).stdout.split()
    if changed:
        print(f"commit these first, they would be changed: {', '.join(changed)}")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the source is put back
    tests = Tests(arguments.build)
    wrong = 0

    def tell(mutation: Mutation, found: list[str]) -> None:
        nonlocal wrong
        wrong += bool(found)
        print(f"{'SURVIVES' if found else 'seen'}  {mutation.promise}" + "".join(f"\n    {line}" for line in found), flush=True)

    possible = []
    for mutation in chosen:
        reasons = cannot_be_tried(mutation, tests)
        tell(mutation, reasons) if reasons else possible.append(mutation)
    for group in grouped(possible, tests) if arguments.together else [[mutation] for mutation in possible]:
        for mutation, found in zip(group, try_together(group, tests)):
            tell(mutation, found)
    print(f"{len(chosen)} mutations, {len(chosen) - wrong} seen by every test named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
