# SPDX-License-Identifier: Apache-2.0
"""The msprobe program, called from Python: where it is, how it is run, and what its errors are here."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

from msprobe.common.installation import builds


class CheckError(RuntimeError):
    """The check could not be done; the message says why."""


class DeviceMissing(CheckError):
    """There is no such device here."""


def find() -> str:
    """The msprobe program: $MSPROBE_PROGRAM, else one in the package, beside the running Python, on the PATH, or in a clone's build."""
    named = os.environ.get("MSPROBE_PROGRAM")
    if named:
        return named
    package = pathlib.Path(__file__).resolve().parent.parent
    on_path = shutil.which("msprobe")
    places = [package / "bin" / "msprobe", pathlib.Path(sys.executable).parent / "msprobe"]
    places += [pathlib.Path(on_path)] if on_path else []
    places += [pathlib.Path(build) / "bin" / "msprobe" for build in builds()]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    raise FileNotFoundError("the msprobe program is not on the PATH; build it (tools/quickstart.sh), or set MSPROBE_PROGRAM to its path")


def run(words: list[str], allowed: tuple[int, ...]) -> str:
    """What the program prints. CheckError: it ended with another status than those allowed."""
    command = [find(), *words]
    # What needs a Python (a plug-in, a user's functions) runs in this one.
    environment = {**({"MSPROBE_PYTHON": sys.executable} if sys.executable else {}), **os.environ}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        try:
            output, errors = running.communicate()
        except BaseException:  # Ctrl-C, which in a notebook reaches this process alone: the program ends in good order
            with contextlib.suppress(BaseException):
                running.send_signal(signal.SIGINT)
                running.wait(timeout=10)
            running.kill()
            raise
    if running.returncode not in allowed:
        message = _last_error(errors) or f"'{shlex.join(command)}' ended with status {running.returncode}"
        raise (DeviceMissing if message.startswith("no device ") else CheckError)(message) from None
    return output


def _last_error(log: str) -> str:
    """The message of the last error line, without its time stamp."""
    for line in reversed(log.splitlines()):
        if "[ERROR]" in line:
            return line.split("[ERROR]", 1)[1].strip()
    return log.strip().splitlines()[-1] if log.strip() else ""


def become(*command: str) -> None:
    """Goes on as `msprobe COMMAND` with the arguments of this process."""
    try:
        program = find()
        os.execv(program, [program, *command, *sys.argv[1:]])
    except OSError as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        sys.exit(2)
