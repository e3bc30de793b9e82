# SPDX-License-Identifier: Apache-2.0
"""msCheckerConfig: the settings of the older entry, and update_config to change them.

The replay is another program, run later. What update_config sets of it is written beside the recording, as a config.yaml for it."""
import os
from typing import Any, Dict, List

from msprobe.common.config import check_path
from msprobe.common.new_file import write_text
from msprobe.common.settings_file import read_settings

# Setting -> type and value at first.
_SETTINGS = {
    "dump_path": (str, "./"),
    "real_data": (bool, False),
    "enable_dataloader": (bool, True),
    "target_iter": (int, 1),
    "white_list": (list, []),
    "black_list": (list, []),
    "jit_compile": (bool, True),
    "dump_step": (int, 1000),
    "error_data_path": (str, "./"),
    "precision": (int, 14),
}

_OF_THE_REPLAY = ("error_data_path", "precision")
_MAX_PRECISION = 20


class CheckerConfig:
    dump_path: str
    real_data: bool
    enable_dataloader: bool
    target_iter: int
    white_list: List[str]
    black_list: List[str]

    def __init__(self) -> None:
        self._for_replay: Dict[str, Any] = {}
        for name, (_type, value) in _SETTINGS.items():
            setattr(self, name, value)
        for name, value in read_settings().items():
            if name in _SETTINGS:
                self._set(name, value)

    def update_config(self, **settings: Any) -> None:
        """Before the iteration that is recorded. `dump_path` and `error_data_path` must be directories that exist."""
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise ValueError(f"update_config: unknown setting {name}; known: {', '.join(_SETTINGS)}")
            self._set(name, value)
            if name in _OF_THE_REPLAY:
                self._for_replay[name] = os.path.realpath(value) if name == "error_data_path" else value

    def write_for_replay(self, path: str) -> bool:
        """The settings of the replay that update_config was given, as its config.yaml; False where it was given none."""
        if not self._for_replay:
            return False
        write_text(path, "".join(f"{name}: {value!r}\n" for name, value in self._for_replay.items()))
        return True

    def _set(self, name: str, value: Any) -> None:
        wanted = _SETTINGS[name][0]
        if type(value) is not wanted:
            raise ValueError(f"update_config: {name}: found {value!r}, expected a {wanted.__name__}")
        if wanted is int and value < 0:
            raise ValueError(f"update_config: {name}: found {value}, expected a non-negative number")
        if name == "precision" and value > _MAX_PRECISION:
            raise ValueError(f"update_config: precision: found {value}, expected at most {_MAX_PRECISION} decimals")
        if name in ("dump_path", "error_data_path"):
            check_path(value)
            if not os.path.isdir(value):
                raise ValueError(f"update_config: {name}: {value} is not a directory")
        setattr(self, name, value)


msCheckerConfig = CheckerConfig()
