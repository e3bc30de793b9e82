"""Where the msprobe program is, for what Python hands on to it."""

from __future__ import annotations

import os
import pathlib
import shutil


def find() -> str:
    """The msprobe program: $MSPROBE_PROGRAM, one shipped in the package, or the one on the PATH."""
    shipped = pathlib.Path(__file__).parent.parent / "bin" / "msprobe"
    found = os.environ.get("MSPROBE_PROGRAM") or (str(shipped) if shipped.exists() else shutil.which("msprobe"))
    if not found:
        raise FileNotFoundError("the msprobe program is not on the PATH; set MSPROBE_PROGRAM to its place")
    return found
