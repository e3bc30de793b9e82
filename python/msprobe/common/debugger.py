# SPDX-License-Identifier: Apache-2.0
"""What PrecisionDebugger does for every framework: steps, ranks, directories and the life cycle of a collection."""
import atexit
import json
import os
from typing import Optional, Tuple, Type, TypeVar, cast

from msprobe.common import log
from msprobe.common.config import Config, ConfigError, LevelError, check_path, load
from msprobe.common.reload import Switch
from msprobe.common.step_directory import TENSORS, StepDirectory, leave_rank0


Made = TypeVar("Made", bound="Debugger")


class Debugger:
    """One for the process: a second construction without arguments, or with the same ones, gives the first one.

    start, stop and step may be called on the class. ``with PrecisionDebugger(...):`` records the block as one step.

    A framework's PrecisionDebugger says its name and makes the session that records."""

    FRAMEWORK = ""
    LEVELS: Tuple[str, ...] = ("L1", "mix")
    _instance: Optional["Debugger"] = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            return super().__new__(cls)
        return cls._instance

    def _begin(self, config_path, given: dict) -> None:
        """Reads the configuration and makes the session. Called once, by the constructor."""
        self.config: Config = _load(config_path, given)
        self._given = {"config_path": config_path, **given}
        self._switch = Switch(config_path, self.config.dump_enable)
        if self.config.level not in self.LEVELS:
            raise ConfigError(f"level: found {self.config.level!r}, expected one of {', '.join(self.LEVELS)}")
        self.dump_path = check_path(self.config.dump_path)
        self._loop = 0
        self._init_step = 0
        self._rank: Optional[int] = None
        self._step = StepDirectory(self.dump_path)
        self._ended = False
        self._declined = False
        self._told_calls = 0  # what stop() said last of this step
        settings = {"summary_mode": self.config.summary_mode, "saves_tensors": self.config.task in ("tensor", "overflow_check"),
                    "only_overflow": self.config.task == "overflow_check", "high_precision": self.config.precision == "high",
                    "list": self.config.names, "scope": self.config.scope, "tensor_list": self.config.tensor_list,
                    "slice": self.config.slice,
                    "forward": self.config.wants("forward", "backward"), "backward": self.config.wants("backward", "forward"),
                    "input": self.config.wants("input", "output"), "output": self.config.wants("output", "input")}
        self._session = self._make_session(settings)
        atexit.register(self._at_exit)
        type(self)._instance = self

    def _check_again(self, given: dict) -> None:
        """A second construction may not ask for something else, which would be ignored."""
        for key, value in given.items():
            if value is not None and value != self._given.get(key):
                raise ConfigError(f"{key}: found {value!r}, but this process already has a PrecisionDebugger with {self._given.get(key)!r}; "
                                  "call PrecisionDebugger.close() first, or leave the argument out")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace) -> None:
        self.stop()
        self.step()

    def _make_session(self, settings: dict):
        raise NotImplementedError

    def _current_rank(self) -> Optional[int]:
        """The rank of this process, where the framework knows one."""
        raise NotImplementedError

    def _device_settings(self) -> dict:
        """Settings of the device that a replay should have, too: further keys of dump.json."""
        return {}

    def _written(self, directory: str) -> None:
        """The files of a step hold everything that was recorded so far."""

    def _count_step(self) -> None:
        self._loop += 1

    @classmethod
    def _existing(cls: Type[Made]) -> Made:
        if cls._instance is None:
            raise RuntimeError("PrecisionDebugger instance is not created.")
        return cast(Made, cls._instance)

    def _start(self, rank_id: Optional[int]) -> None:
        if self._session.is_in_child:
            return self._decline()
        number = self._loop + self._init_step
        if self._ended or (self.config.step and number > self.config.step[-1]):
            return self._end()
        if self.config.step and number not in self.config.step:
            return None
        rank = self._current_rank() if rank_id is None else _checked_rank(rank_id)
        if self.config.rank and rank is not None and rank not in self.config.rank:
            return None
        if not self._switch.is_on():
            return None
        self._open(number, rank)
        self._session.start()
        return None

    @classmethod
    def stop(cls) -> None:
        """Ends recording and says where the dump is. Gradients of what was recorded are still added until step()."""
        self = cls._existing()
        if not self._session.is_in_child:
            self._write()
            self._tell_place()

    @classmethod
    def step(cls) -> None:
        """The end of a training step: everything is written, and the counters of all calls start again."""
        self = cls._existing()
        if self._session.is_in_child:
            return
        self._write(last=True)
        if self._step.path is not None:
            self._session.end_step()
            self._step.close()
            self._told_calls = 0
        self._count_step()

    @classmethod
    def close(cls) -> None:
        """Writes what was recorded and takes every hook out. Afterwards another PrecisionDebugger may be made."""
        self = cls._existing()
        if not self._session.is_in_child:
            self._write(last=True)
            self._session.end_step()
        atexit.unregister(self._at_exit)
        self._session.close()
        self._ended = True
        leave_rank0(self.dump_path)
        type(self)._instance = None

    @property
    def step_path(self) -> Optional[str]:
        """The directory of the step that is being recorded; None between steps."""
        return self._step.path

    @classmethod
    def set_init_step(cls, number: int) -> None:
        """The step that is next has this number, as after loading a checkpoint."""
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise ConfigError(f"step: found {number!r}, expected a non-negative integer")
        self = cls._existing()
        self._init_step, self._loop = number, 0

    def _write(self, last: bool = False) -> None:
        self._session.stop()
        self._session.flush()
        if self._step.path is None:
            return
        self._tell_unseen(last)
        self._follow_rank(self._rank if self._rank is not None else self._current_rank(), waits=last)
        self._written(self._step.path)

    def _tell_unseen(self, last: bool) -> None:
        """If something was computed and not recorded: in dump.json behind the entries, and on the terminal."""
        unseen = self._session.unseen()
        if not unseen["operators"]:
            return
        self._session.native.set_tail(f"\n }},\n \"unseen\": {json.dumps(unseen)}\n}}")
        if not last:
            names = ", ".join(list(unseen["operators"])[:5])
            log.warning(f"{100 * unseen['share']:.2g} % of the computed elements were not recorded: {names}")

    def _tell_place(self) -> None:
        """Once for each stop() that ends something."""
        calls = self._session.native.recorded_calls()
        if self._step.path is not None and calls != self._told_calls:
            self._told_calls = calls
            log.info(f"{calls} calls recorded in {os.path.join(self._step.path, 'dump.json')}")

    def _at_exit(self) -> None:
        """The training may end by an exception, before stop()."""
        if not self._session.is_in_child:
            self._write(last=True)
            self._session.end_step()

    def _decline(self) -> None:
        if not self._declined:
            self._declined = True
            log.warning("this process was forked after PrecisionDebugger was created and records nothing; "
                        "create it in the process that trains")

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            atexit.unregister(self._at_exit)
            self._session.close()
            log.info("msprobe ends successfully.")

    def _open(self, number: int, rank: Optional[int]) -> None:
        """Makes the directory of a step, or goes on in it."""
        if self._step.path is not None:
            return self._follow_rank(rank)
        self._rank = rank
        self._session.native.open_step(*self._files(self._step.open(number, rank, self._saves_tensors())))
        return None

    def _saves_tensors(self) -> bool:
        return self.config.task != "statistics" or bool(self.config.tensor_list)

    def _files(self, directory: str) -> tuple:
        """The files of a step, as passed to the native collector; errors go there from now on, too."""
        tensors = os.path.join(directory, TENSORS)
        head = json.dumps({"task": self.config.task, "level": self.config.level, "framework": self.FRAMEWORK,
                           "dump_data_dir": tensors if self._saves_tensors() else None, **self._device_settings(), "data": {}}, indent=1)
        stacks, construct, sites = (os.path.join(directory, name) if self.config.extra_info else ""
                                    for name in ("stack.json", "construct.json", "call_sites.json"))
        self._session.error_log = os.path.join(directory, "dump_error_info.log")
        return os.path.join(directory, "dump.json"), head[:head.rindex("}\n}")], "\n }\n}", stacks, tensors, construct, sites

    def _follow_rank(self, rank: Optional[int], waits: bool = False) -> None:
        """The process group may come up in the middle of a step: its files move to the directory of the rank."""
        if rank is None:
            return
        self._rank = rank
        place = self._step.place_of(rank, waits)
        if place is not None:
            self._session.flush()
            self._step.move(place)
            self._session.native.move_step(*self._files(place))


def _load(config_path, given: dict) -> Config:
    try:
        return load(config_path, given)
    except LevelError as error:
        log.error(str(error))
        raise


def _checked_rank(rank_id: object) -> int:
    if not isinstance(rank_id, int) or isinstance(rank_id, bool) or rank_id < 0:
        raise ConfigError(f"rank_id: found {rank_id!r}, expected a non-negative integer")
    return rank_id
