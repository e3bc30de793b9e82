#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and directories are made in one way: by src/base/core/new_file.h, and in Python by python/msprobe/common/new_file.py. No other source
opens a file for writing. And no source reads files with a stream, or lists a directory with an iterator: both take an error of the disk for
the end. src/base/core/file.h and look_up.h do not.

usage: check_writers.py

What is looked for: streams, fopen, open() with a flag or mode for writing, temporary names, renaming, copying and making directories; in
Python also what numpy and torch save under a name.
Tests may do what they like.
"""
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITES = re.compile(
    r"\b(?:recursive_)?directory_iterator\b|\b[io]?fstream\b(?!>)|\bfopen\(|\bfreopen\(|\bO_(?:WRONLY|RDWR|CREAT|TRUNC)\b|\bcreat\(|\bmkstemps?\(|\bmkostemps?\(|\bmkdtemp\("
    r"|\brename(?:at2?)?\(|SYS_renameat2?\b|\bcopy_file\(|\bcreate_director(?:y|ies)\(|\bmkdir(?:at)?\(|\bsqlite3_open|\bworkbook_new")
# Who may, and why.
ALLOWED = {
    "src/base/core/look_up.cc": {"directory_iterator"},
    "src/check/check/config_places.cc": {"directory_iterator"},     # of the program itself, for lib/python3.x
    "apps/msprobe/python_package.cc": {"directory_iterator"},        # the same
    "src/base/core/new_file.cc": {"O_WRONLY", "O_RDWR", "O_CREAT", "mkdir(", "rename("},
    "src/record/collect/growing_json.cc": {"rename(", "SYS_renameat2"},  # exchanges two files that new_file made
    "src/show/report/database.cc": {"sqlite3_open"},                  # of a file that new_file made, following no link
    "src/check/tables/xlsx_table.cc": {"workbook_new"},                # into the descriptor of one
    "src/arithmetic/sim/session.cc": {"O_WRONLY", "O_CREAT"},               # a log that an environment variable names, a memfd of ours as a rule
    "apps/engine/foreign_devices.cc": {"ofstream"},              # the same
    "apps/engine/python_host.cc": {"O_RDWR"},                    # /dev/null
    "apps/msprobe/pair_cause.cc": {"mkdtemp("},                  # private, and removed at the end
    "apps/msprobe/self_check_command.cc": {"mkdtemp("},          # private, and removed at the end
    "src/base/ops/make_op_lists.cc": {"ofstream"},                    # runs during the build
    "src/engine/engines/fake_engine.cc": {"ofstream"},                  # a test's engine
    "src/engine/engines/engine_process.cc": {"ifstream"},               # of /proc
    "src/base/core/machine_memory.cc": {"ifstream"},                    # the same
    "apps/engine/memory_limit.cc": {"ifstream"},                        # the same
}

# Python that users run.
PYTHON = ["python/**/*.py", "src/**/*.py", "apps/**/*.py", "apps/**/*.py.in", "tools/make_torchair_dump.py"]
PYTHON_WRITES = {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "rename", "renames", "symlink", "symlink_to", "link", "mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "tofile", "savetxt"}
PYTHON_SAVES = {"save", "savez", "savez_compressed"}  # of torch and numpy: into a file that new_file() made
PYTHON_ALLOWED = {
    "python/msprobe/common/new_file.py": {"mkdir", "rename", "os.open"},
    "python/msprobe/common/step_directory.py": {"rename"},  # of directories of a recording
    "python/msprobe/functions/verify.py": {"os.open", "open"},  # of /dev/null
}


def is_test(path: pathlib.Path) -> bool:
    return path.stem.endswith(("_test", "_for_test"))


def cpp_problems(used: set) -> list[str]:
    problems = []
    for path in sorted([*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h"), *ROOT.glob("apps/**/*.cc"), *ROOT.glob("apps/**/*.h")]):
        if is_test(path):
            continue
        name = str(path.relative_to(ROOT))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//", 1)[0]
            if code.startswith("#include"):
                continue
            for found in WRITES.findall(code):
                if found in ALLOWED.get(name, ()):
                    used.add((name, found))
                elif found == "ifstream":
                    problems.append(f"{name}:{number}: {found}: files are read by core/file.h")
                elif found.endswith("directory_iterator"):
                    problems.append(f"{name}:{number}: {found}: directories are listed by core/look_up.h")
                else:
                    problems.append(f"{name}:{number}: {found.rstrip('(')}: files are made by core/new_file.h")
    return problems


def files_of_ours(tree: ast.AST) -> set[str]:
    """The names that `with new_file(...) as NAME` binds."""
    names = set()
    for node in ast.walk(tree):
        for item in node.items if isinstance(node, ast.With) else ():
            made = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
            called = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
            if called == "new_file" and isinstance(item.optional_vars, ast.Name):
                names.add(item.optional_vars.id)
    return names


def written_by(call: ast.Call, ours: set[str]) -> str:
    """What this call may write under a name; empty: nothing."""
    function = call.func
    owner = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    if owner == "new_file":
        return ""
    if name == "open" and owner == "os":
        flags = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
        # What is not spelled out may be anything.
        return "" if flags and set(re.findall(r"\w+", flags)) <= {"os", "O_RDONLY", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW"} else "os.open"
    if name == "open" and (isinstance(function, ast.Name) or owner in ("io", "gzip", "zipfile")):
        modes = call.args[1:2] + [word.value for word in call.keywords if word.arg == "mode"]
        plain = all(isinstance(mode, ast.Constant) and not set(str(mode.value)) & set("wax+") for mode in modes)
        return "" if plain else "open"
    if (owner == "os" and name == "replace") or (owner == "shutil" and name.startswith(("copy", "move"))):
        return name
    if name in PYTHON_SAVES and owner in ("torch", "numpy", "np"):
        given = {argument.id for argument in call.args if isinstance(argument, ast.Name)}
        in_memory = {"archive", "buffer"}
        return "" if given & (ours | in_memory) else f"{owner}.{name}"
    return name if name in PYTHON_WRITES and isinstance(function, ast.Attribute) else ""


def python_problems(used: set) -> list[str]:
    problems = []
    for path in sorted(path for pattern in PYTHON for path in ROOT.glob(pattern)):
        name = str(path.relative_to(ROOT))
        tree = ast.parse(re.sub(r"@\w+@", "0", path.read_text()), name)
        ours = files_of_ours(tree)
        for node in ast.walk(tree):
            found = written_by(node, ours) if isinstance(node, ast.Call) else ""
            if found and found in PYTHON_ALLOWED.get(name, ()):
                used.add((name, found))
            elif found:
                problems.append(f"{name}:{node.lineno}: {found}: files are made by python/msprobe/common/new_file.py")
    return problems


def main() -> int:
    used = set()
    problems = cpp_problems(used) + python_problems(used)
    for name, words in {**ALLOWED, **PYTHON_ALLOWED}.items():
        problems += [f"tools/check_writers.py: {name} does not use {word} any more" for word in sorted(words)
                     if (name, word) not in used]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
