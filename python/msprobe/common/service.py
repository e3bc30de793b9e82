# SPDX-License-Identifier: Apache-2.0
"""debugger.service: what the programs that train and serve read and set there. The public tool has such an object; hosts reach into it to
give each of their stages a directory of its own."""
from typing import Optional


class Service:
    """A view of the debugger. `config` is the debugger's; what is set there holds from the next start() on."""

    def __init__(self, debugger) -> None:
        self._debugger = debugger
        self.first_start = True  # hosts set it when another model follows; every start() takes its model anyway
        self.model = None

    @property
    def config(self):
        return self._debugger.config

    @property
    def loop(self) -> int:
        return self._debugger._loop

    @property
    def init_step(self) -> int:
        return self._debugger._init_step

    @property
    def current_iter(self) -> int:
        """The number of the step that is recorded, or would be."""
        return self._debugger._loop + self._debugger._init_step

    @property
    def current_rank(self) -> Optional[int]:
        return self._debugger._rank

    @property
    def should_stop_service(self) -> bool:
        """Whether the last configured step is over."""
        return self._debugger._ended

    @property
    def dump_iter_dir(self) -> Optional[str]:
        return self._debugger.step_path

    def start(self, *args, **kwargs) -> None:
        self._debugger.start(*args, **kwargs)

    def stop(self) -> None:
        self._debugger.stop()

    def step(self) -> None:
        self._debugger.step()

    def save(self, *args, **kwargs) -> None:
        self._debugger.save(*args, **kwargs)

    def reset_status(self) -> None:
        """What was recorded is complete on disk, and the next start() is a first one."""
        self._debugger._write_all()
        self.first_start = True

    _reset_status = reset_status
