#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the install lines of README.md and docs/ as they are written, and use what they install.

usage: PYTHON tools/test_install_lines.py [NAME...]     NAME: some of the lines; without names all of them
PYTHON has PyTorch. Lines that compile run in a copy of what is committed and in a virtual environment of their own: minutes each. Those
about a build directory use build/release, which must be built. MSPROBE_WHEELS names a directory with the wheels of tools/make_wheels.sh, which
are else made: an hour. The script fails if a page no longer has one of its lines, or has another.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tools"))
from test_installs import make_environment

RECORD = """
import torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path="dump", task="tensor")
debugger.start()
torch.nn.functional.linear(torch.ones(2, 3, requires_grad=True), torch.ones(4, 3)).sum().backward()
debugger.stop()
debugger.step()
"""
PAIR = "import numpy, msprobe; assert msprobe.metrics(numpy.ones(3), numpy.ones(3))['max_abs_err'] == 0"
CHECK = "msprobe acc_check dump -d cpu -o out"


@dataclass
class Line:
    name: str
    text: str  # as the pages have it
    pages: tuple[str, ...]
    uses: tuple[str, ...]  # what must work then, as shell commands in an empty directory
    has_torch: bool = True
    in_build_tree: bool = False  # runs in the repository itself, beside its build directory
    after: str = ""  # a further line of the same page
    needs_wheels: bool = False  # those of tools/make_wheels.sh, in wheels/


RECORDS = f"python - <<'PYTHON'\n{RECORD}\nPYTHON"
LINES = [
    Line("collector", "pip install . -C build.targets=msprobe_collect_module -C install.components=collector", ("docs/collector.md",),
         (RECORDS, f"python -c \"{PAIR}\"")),
    Line("mindspore", "pip install . -C build.targets=msprobe_collect_module -C install.components=collector -C cmake.define.MSPROBE_ENGINE=OFF",
         ("docs/collector.md",), (f"python -c \"{PAIR}\"", "python -c 'import msprobe.mindspore' 2>&1 | grep -q 'needs MindSpore'"), has_torch=False),
    Line("pip", "pip install .", ("README.md", "docs/collector.md", "docs/hosts.md", "docs/install.md"), (RECORDS, CHECK, "msprobe --version")),
    Line("wheel", "pip wheel . --no-deps -w wheels", ("docs/install.md",), (RECORDS, CHECK), after="pip install wheels/msprobe-*.whl"),
    Line("wheels", "pip install wheels/msprobe*.whl", ("docs/install.md",), (RECORDS, CHECK, "msprobe --version"), needs_wheels=True),
    Line("prefix", "cmake --install build/release --prefix $VIRTUAL_ENV", ("docs/collector.md",), (RECORDS, CHECK), in_build_tree=True),
    Line("pythonpath", "PYTHONPATH=build/release/python", ("docs/collector.md",), (RECORDS, f"python -c \"{PAIR}\""), in_build_tree=True),
]
KNOWN = {line.text for line in LINES} | {line.after for line in LINES} | {"pip install wheels/msprobe-*.whl"}
# Variants that tools/test_wheel.sh and tools/test_packages.sh run; installs of other programs.
ELSEWHERE = ("MSPROBE_FURTHER_TORCH", "pip install torch", "pip install build", "pip install mindspore", "pip install pandas", "pip wheel .`",
             "pip uninstall")


def pages_are_known() -> list[str]:
    """What the pages and this script do not agree on."""
    wrong = []
    for line in LINES:
        for page in line.pages:
            if line.text not in (SOURCE / page).read_text(encoding="utf-8"):
                wrong.append(f"{page} has no line '{line.text}'")
    for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]:
        for found in re.findall(r"^ {4}(pip (?:install|wheel) [^#\n]*?)\s*(?:#.*)?$", page.read_text(encoding="utf-8"), re.MULTILINE):
            if found not in KNOWN and not any(word in found for word in ELSEWHERE):
                wrong.append(f"{page.name}: '{found}' is not tried here")
    return wrong


def try_line(line: Line, scratch: pathlib.Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MSPROBE", "PYTHONPATH", "VIRTUAL_ENV"))}
    venv = scratch / "env"
    if line.has_torch:
        make_environment(sys.executable, venv)
    else:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin" / "pip", "install", "--quiet", "numpy"], check=True)
    environment |= {"VIRTUAL_ENV": str(venv), "PATH": f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"}
    # A compiler cache, where there is one, serves all lines that compile.
    environment |= {"CCACHE_BASEDIR": str(scratch), "CCACHE_NOHASHDIR": "1"}
    place = SOURCE
    if not line.in_build_tree:
        place = scratch / "clone"
        subprocess.run(["git", "clone", "--quiet", SOURCE, place], check=True)
    if line.needs_wheels and "MSPROBE_WHEELS" in os.environ:
        (place / "wheels").symlink_to(os.path.abspath(os.environ["MSPROBE_WHEELS"]))
    elif line.needs_wheels:
        subprocess.run(["tools/make_wheels.sh", "wheels"], cwd=place, env=environment, check=True)
    if line.text.startswith("PYTHONPATH="):
        environment["PYTHONPATH"] = str(SOURCE / line.text.removeprefix("PYTHONPATH="))
    else:
        for text in filter(None, (line.text, line.after)):
            print("+", text, flush=True)
            subprocess.run(["bash", "-euc", text], cwd=place, env=environment, check=True)
    empty = scratch / "elsewhere"
    empty.mkdir()
    for use in line.uses:
        print("+", use.splitlines()[0], flush=True)
        subprocess.run(["bash", "-euc", use], cwd=empty, env=environment, check=True)


def main() -> int:
    wrong = pages_are_known()
    if wrong:
        print("\n".join(wrong))
        return 1
    if "--pages" in sys.argv[1:]:
        return 0
    names = sys.argv[1:] or [line.name for line in LINES]
    unknown = set(names) - {line.name for line in LINES}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(line.name for line in LINES)}")
        return 2
    failed = []
    for line in LINES:
        if line.name not in names:
            continue
        print(f"== {line.name}: {line.text}", flush=True)
        with tempfile.TemporaryDirectory(prefix="msprobe_install_") as scratch:
            try:
                try_line(line, pathlib.Path(scratch))
            except (subprocess.CalledProcessError, OSError) as error:
                print(f"{line.name}: {error}", flush=True)
                failed.append(line.name)
    print(f"failed: {', '.join(failed)}" if failed else f"{len(names)} install lines work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
