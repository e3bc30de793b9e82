#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run one end-to-end case: a directory that says what to run and what must come out.

usage: run_case.py PROGRAM CASE_DIR [--files DIR] [--update]

A case holds
  make              optional: what makes files before the commands run, a line each: a script of the folder tools with its arguments,
                    or copy FROM TO, a file or directory
  args              the arguments, as a shell would split them, a line for each command; {case}, {data} (tests/data), {files}, {out} (a fresh
                    directory) and {input} (a copy of the case's folder input in it, for commands that write there) are replaced
  status.expected   the exit status, a line for each command
  stderr.expected   optional: the WARNING and ERROR lines, without time stamp and process id, paths as placeholders
  stdout.expected   optional: standard output
  needs_engine      optional, empty: the case runs only where msprobe-engine is built; needs_sim: the simulated device
  NAME.expected.csv optional: the file in or below {out} whose name holds _NAME_ (or is NAME.csv), byte for byte,
                    paths as placeholders
  FILE.expected     optional: the text file FILE in or below {out}, paths as placeholders
--files names a directory with hostile files (tests/hostile_files.py makes it). With it the program runs under strace where
that is installed, and opening anything called outside_*, or starting another program, fails the case.
--update writes the expected files from what came out; look at the difference before you commit it.
"""
import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

LOG_PREFIX = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) ")


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)


def shown(text, places):
    for placeholder, path in places.items():
        text = text.replace(os.path.realpath(path), placeholder).replace(path, placeholder)
    text = re.sub(r"_\d{14}\b", "_{timestamp}", text)
    return re.sub(r"; \d+\.\d s$", "; {time}", text, flags=re.MULTILINE)


def complaints(stderr, places):
    lines = [LOG_PREFIX.sub("", line) for line in stderr.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("[INFO]", "[DEBUG]"))]
    return "".join(shown(line, places) + "\n" for line in kept)


def produced(out, *patterns):
    """The one file of a pattern, the first that finds one; those below {out} if there is none in it."""
    for place in ("", "**"):
        for pattern in patterns:
            if found := glob.glob(os.path.join(out, place, pattern), recursive=True):
                return found[0] if len(found) == 1 else None
    return None


def make_files(case, fill):
    """Runs the scripts that make the input."""
    path = os.path.join(case, "make")
    for line in fill(read(path)).splitlines() if os.path.exists(path) else []:
        script, *words = shlex.split(line)
        if script == "copy":
            os.makedirs(os.path.dirname(words[1]), exist_ok=True)
            (shutil.copytree if os.path.isdir(words[0]) else shutil.copyfile)(*words)
            continue
        tools = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools")
        subprocess.run([sys.executable, os.path.join(tools, script), *words], check=True, stdout=subprocess.DEVNULL)


def run(program, words, trace, directory):
    command = [program, *words]
    if trace:
        command = ["strace", "-f", "-y", "-o", trace, "-e", "trace=open,openat,openat2,execve", *command]
    environment = {**os.environ, "NO_COLOR": "1", "MSPROBE_LOG_LEVEL": "1"}
    if trace:  # the leak checker of a sanitizer build cannot work under a tracer
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, timeout=1200,
                          stdin=subprocess.DEVNULL, cwd=directory)


def trespasses(trace):
    """Files the program must not open, and programs it must not start."""
    lines = read(trace).splitlines()
    opened = [line for line in lines if re.search(r"= \d+<[^>]*/outside_", line)]
    own = ["/msprobe\"", "/msprobe-engine\"", f'"{os.environ.get("MSPROBE_ENGINE", "/msprobe-engine")}"']
    started = [line for line in lines if "execve(" in line and "= 0" in line and not any(program in line for program in own)]
    return opened + started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program"), parser.add_argument("case"), parser.add_argument("--files")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    failures = []

    def compare(name, got):
        path = os.path.join(options.case, name)
        if options.update and (os.path.exists(path) or name == "status.expected"):
            write(path, got)
        elif os.path.exists(path) and read(path) != got:
            failures.append(f"{name}: wanted\n{read(path)}\ngot\n{got}")

    with tempfile.TemporaryDirectory(prefix="msprobe_case_") as out:
        places = {"{input}": os.path.join(out, "input"), "{case}": options.case, "{out}": out, "{files}": options.files or "/nowhere",
                  "{data}": os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")}

        def fill(text):
            for placeholder, path in places.items():
                text = text.replace(placeholder, path)
            return text

        text = fill(read(os.path.join(options.case, "args")))
        make_files(options.case, fill)
        if os.path.exists(os.path.join(options.case, "input")):
            shutil.copytree(os.path.join(options.case, "input"), places["{input}"], dirs_exist_ok=True)
        trace = os.path.join(out, "trace.txt") if options.files and shutil.which("strace") else None
        results = [run(options.program, shlex.split(line), trace, out) for line in text.splitlines()]
        compare("status.expected", "".join(f"{result.returncode}\n" for result in results))
        compare("stderr.expected", complaints("".join(result.stderr for result in results), places))
        compare("stdout.expected", shown("".join(result.stdout for result in results), places))
        for path in glob.glob(os.path.join(options.case, "*.expected")):
            name = os.path.basename(path)[: -len(".expected")]
            if name not in ("status", "stderr", "stdout"):
                file = produced(out, glob.escape(name))
                compare(f"{name}.expected", shown(read(file), places) if file else "there is no such file\n")
        for path in glob.glob(os.path.join(options.case, "*.expected.csv")):
            name = os.path.basename(path)
            stem = name[: -len(".expected.csv")]
            found = produced(out, f"*_{stem}_*.csv", f"{stem}.csv")
            if found is None:
                failures.append(f"{name}: no such file came out: {os.listdir(out)}")
            else:
                compare(name, shown(read(found), places))
        if trace and (bad := trespasses(trace)):
            failures.append("opened or started what it must not:\n" + "\n".join(bad))
        if glob.glob(os.path.join(out, "canary*")):
            failures.append("code from a file was executed: a canary file was written")
    for failure in failures:
        print(failure)
    print(f"{os.path.basename(os.path.normpath(options.case))}: {'failed' if failures else 'passed'}")
    sys.exit(1 if failures else 0)


main()
