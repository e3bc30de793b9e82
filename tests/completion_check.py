#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion works in the real shells: in bash, and in fish and zsh if they are installed.

usage: completion_check.py MSPROBE
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# The words of an unfinished command line, and what its last word may become.
CASES = [
    (["acc_ch"], {"acc_check"}),
    (["help", "shr"], {"shrink"}),
    (["completion", ""], {"bash", "fish", "zsh"}),
    (["acc_check", "-api"], {"-api_info"}),
    (["acc_check", "--fail-on", ""], {"error", "inconclusive", "strict", "warning"}),
    (["acc_check", "-d", "si"], {"sim"}),
    (["acc_check", "-o", "sub"], {"subfolder"}),
    (["acc_check", "sub"], {"subfolder"}),
]
BASH = """source <(msprobe completion bash)
compopt() { :; }
COMP_WORDS=(msprobe "$@"); COMP_CWORD=$#
_msprobe
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """msprobe completion fish | source
complete -C (string join ' ' -- msprobe $argv) | string split -f1 \\t | string trim -r -c /
"""


def completed(shell, words, directory, environment):
    if shell == "bash":
        command = ["bash", "--norc", "-c", BASH, "bash", *words]
    else:
        command = ["fish", "--no-config", "-c", FISH, *words]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60)
    return set(done.stdout.split()), done.stderr


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(f"{directory}/subfolder")
        for shell in ["bash", *(["fish"] if shutil.which("fish") else [])]:
            for words, wanted in CASES:
                got, complaint = completed(shell, words, directory, environment)
                if got != wanted or complaint:
                    wrong.append(f"{shell}: msprobe {' '.join(words)}: {sorted(got)} {complaint}")
    if shutil.which("zsh"):  # its completion needs a terminal; this only reads the script
        script = subprocess.run([program, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
        done = subprocess.run(["zsh", "-f", "-n"], input=script, capture_output=True, text=True)
        if done.returncode or done.stderr:
            wrong.append(f"zsh: {done.stderr}")
    print("\n".join(wrong) or "commands, options, values and files are completed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
