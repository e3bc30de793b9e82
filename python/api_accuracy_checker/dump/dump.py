# SPDX-License-Identifier: Apache-2.0
"""Switches the recording of the older entry on and off."""
import os
from typing import Optional

from api_accuracy_checker.dump.config import msCheckerConfig
from msprobe.common import log
from msprobe.common.new_file import make_directories
from msprobe.pytorch.loader import LoaderWatch
from msprobe.pytorch.session import Session

_GROUPS = ("functional", "tensor", "torch")
_session: Optional[Session] = None


def _hidden(group: str, name: str) -> bool:
    config = msCheckerConfig
    listed = not config.white_list or name in config.white_list
    return group not in _GROUPS or not listed or name in config.black_list


def _open() -> Session:
    """The files are made when recording begins, so that the settings may come after the import."""
    directory = os.path.realpath(msCheckerConfig.dump_path)
    session = Session({"legacy": True, "saves_tensors": msCheckerConfig.real_data, "forward": True, "backward": True, "input": True,
                       "output": True}, _hidden)
    data = [os.path.join(directory, f"{direction}_real_data") for direction in ("forward", "backward")]
    if msCheckerConfig.real_data:
        for path in data:
            make_directories(path)
    names = [os.path.join(directory, f"{kind}_info_{os.getpid()}.json") for kind in ("forward", "backward", "stack")]
    session.native.open_legacy(*names, *data)
    settings = os.path.join(directory, f"checker_config_{os.getpid()}.yaml")
    if msCheckerConfig.write_for_replay(settings):
        log.info(f"settings of update_config for the check: {settings} (pass it with --config-yaml)")
    return session


def set_dump_switch(switch: str) -> None:
    """ "ON" or "OFF". Without a data loader, to be called with "ON" inside the loop over the iterations."""
    global _session
    if switch not in ("ON", "OFF"):
        raise ValueError(f"set_dump_switch: found {switch!r}, expected \"ON\" or \"OFF\"")
    if switch == "ON":
        if _session is None:
            _session = _open()
        _session.start()
    elif _session is not None and _session.is_recording:
        _session.stop()
        _session.settle()


def _before_batch() -> None:
    if msCheckerConfig.enable_dataloader:
        set_dump_switch("OFF")


def _after_batch(index: int) -> None:
    if not msCheckerConfig.enable_dataloader:
        return
    if index > msCheckerConfig.target_iter:
        if _session is not None:
            _session.close()
        raise Exception(f"Model pretest: exit after iteration {msCheckerConfig.target_iter}.")
    if index == msCheckerConfig.target_iter:
        set_dump_switch("ON")


_watch = LoaderWatch(_before_batch, _after_batch)
