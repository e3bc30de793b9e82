#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Link programs of a build directory anew, so that they run on older systems: against the C library of ROOT, with every other library inside.

usage: relink.py BUILD ROOT OUT TARGET...     ROOT: made by tools/wheels/root.sh

Which version of a function of the C library a program needs is decided when it is linked, so the objects of an ordinary build serve. libstdc++
is linked as an archive, except into what shares it with PyTorch: there, what the old one has comes from the user's system, and the rest from
the archive (ROOT/link/libstdc++.so). PyTorch's own libraries are found when the program starts.
"""
import pathlib
import re
import shlex
import subprocess
import sys

# Of functions that glibc 2.29 and 2.30 have in a new version (old_glibc.c).
OLD_NAMES = ("exp", "exp2", "log", "log2", "pow", "pthread_cond_clockwait")


def link_command(build, target):
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True)
    for line in reversed(done.stdout.splitlines()):  # its own command is the last
        for command in line.split(" && "):
            words = shlex.split(command)
            if "-o" in words and any(word.endswith(".o") for word in words) and "-c" not in words:
                return words
    sys.exit(f"relink.py: {target} of {build} is not linked by a command of the kind known here")


def archive_of(root, word):
    """libfmt.so.9.1.0 -> ROOT's libfmt.a; None if it has none."""
    stem = re.match(r"lib[^/]+?(?=\.so)", pathlib.Path(word).name).group()
    for directory in (root / "usr/lib", *(root / "usr/lib").glob("*-linux-gnu")):
        if (directory / f"{stem}.a").exists():
            return str(directory / f"{stem}.a")
    return None


def relinked(words, root, out):
    """The command with the root's libraries, and the file that it makes."""
    at = words.index("-o")
    made = out / pathlib.Path(words[at + 1]).name
    sees_torch = any("libtorch" in word or "libc10" in word for word in words)
    command, archives = [], []
    for index, word in enumerate(words):
        if index == at + 1:
            command.append(str(made))
        elif word.startswith(("-Wl,-rpath,", "--sysroot=")):  # what was cross-compiled has a root of its own
            continue
        elif re.search(r"\.so(\.[0-9.]+)?$", word) and not re.search(r"lib(torch|c10)", word) and not word.startswith("-"):
            archive = archive_of(root, word)
            if archive is None:
                sys.exit(f"relink.py: {root} has no archive of {word}")
            archives.append(archive)
        else:
            command.append(word)
    libraries, = (root / "usr/lib").glob("*-linux-gnu")
    flags = [f"--sysroot={root}", f"-L{root}/link", f"-B{libraries}", f"-L{libraries}", f"-L{root}/lib/{libraries.name}", "-Wl,--exclude-libs,ALL",
             "-Wl,--strip-all", *(f"-Wl,--wrap={name}" for name in OLD_NAMES)]
    if not sees_torch:
        flags.append("-static-libstdc++")
    ends = ["-Wl,--start-group", *dict.fromkeys(archives), "-Wl,--end-group", f"{root}/link/old_glibc.o", "-lm", "-ldl", "-lpthread"]
    return [command[0], *flags, *command[1:], *ends], made


def main():
    build, root, out = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    for target in sys.argv[4:]:
        command, made = relinked(link_command(build, target), root, out)
        done = subprocess.run(command, cwd=build, check=False)
        if done.returncode != 0:
            sys.exit(f"relink.py: {target} of {build} does not link")
        print(made)


if __name__ == "__main__":
    main()
