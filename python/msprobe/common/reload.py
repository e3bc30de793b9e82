# SPDX-License-Identifier: Apache-2.0
"""dump_enable of config.json: recording is switched on and off while the training runs, by editing the file."""
import json
import os
from typing import Optional, Tuple

from msprobe.common import log


class Switch:
    """Without the key in the file it is always on. The file is read again when its time stamp or size has changed."""

    def __init__(self, config_path: object, initial: Optional[bool]) -> None:
        self._path = os.fspath(config_path) if isinstance(config_path, (str, os.PathLike)) and initial is not None else None
        self._on = initial is not False
        self._seen = self._state()

    def _state(self) -> Optional[Tuple[int, int]]:
        try:
            found = os.stat(self._path) if self._path is not None else None
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if found is not None else None

    def is_on(self) -> bool:
        """Asked at every start()."""
        if self._path is None:
            return self._on
        state = self._state()
        if state == self._seen:
            return self._on
        self._seen = state
        before = self._on
        self._on = self._read()
        if self._on != before:
            log.info(f"dump_enable: recording is {'on' if self._on else 'off'}")
        return self._on

    def _read(self) -> bool:
        """A file that cannot be read, or is just being written, switches recording off; a key that was taken out changes nothing."""
        assert self._path is not None
        try:
            with open(self._path, encoding="utf-8-sig") as file:
                value = json.load(file).get("dump_enable", self._on)
        except (OSError, ValueError, AttributeError) as error:
            log.warning(f"{self._path}: {error}; recording is off until the file can be read")
            return False
        if not isinstance(value, bool):
            log.warning(f"dump_enable: found {value!r}, expected true or false; recording is off")
            return False
        return value
