# SPDX-License-Identifier: Apache-2.0
"""The public package mindstudio-probe has the import name and the command of this one, and pip lets each overwrite the files of the other."""
import os
import sys
from typing import List, Optional, Tuple

from msprobe.common import log

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_BUILDS = ("release", "dev")
_PREFIX, _SUFFIX = "mindstudio_probe-", ".dist-info"


def builds() -> List[str]:
    """Of a package that is imported from its clone's python/ directory: the build directories of the clone."""
    clone, folder = os.path.split(os.path.dirname(os.path.realpath(_PACKAGE)))
    found = [os.path.join(clone, "build", name) for name in _BUILDS] if folder == "python" else []
    return [directory for directory in found if os.path.isdir(directory)]


def public_package() -> Optional[Tuple[str, str]]:
    """(version, directory) of an installed mindstudio-probe."""
    for directory in sys.path:
        if os.path.basename(directory.rstrip("/")) not in ("site-packages", "dist-packages"):
            continue
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
                return name[len(_PREFIX):-len(_SUFFIX)], directory
    return None


def warn_of_public_package() -> None:
    found = public_package()
    if found is None:
        return
    version, directory = found
    if os.path.realpath(directory) == os.path.realpath(os.path.dirname(_PACKAGE)):
        log.warning(f"mindstudio-probe {version} is installed in {directory} too: it has the same import name and command, and pip mixes the "
                    "files of both. Keep one: pip uninstall -y mindstudio-probe msprobe, then install the one you want")
    else:
        log.warning(f"import msprobe takes {_PACKAGE}, not the mindstudio-probe {version} in {directory}, which has the same name; take this "
                    "one's directory off PYTHONPATH to use that")
