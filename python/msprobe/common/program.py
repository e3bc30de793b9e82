# SPDX-License-Identifier: Apache-2.0
"""Where the msprobe program is, for calls from Python."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

from msprobe.common.installation import builds


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


def become(*command: str) -> None:
    """Goes on as `msprobe COMMAND` with the arguments of this process."""
    try:
        program = find()
        os.execv(program, [program, *command, *sys.argv[1:]])
    except OSError as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        sys.exit(2)
