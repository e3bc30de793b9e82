# SPDX-License-Identifier: Apache-2.0
"""What PrecisionDebugger does for every framework: steps, ranks, directories and the life cycle of a collection."""
import atexit
import functools
import json
import os
import platform
import threading
from typing import Any, Callable, Optional, Set, Tuple, Type, TypeVar, cast

from msprobe.common import log
from msprobe.common.config import Config, ConfigError, LevelError, check_path, load
from msprobe.common.first_lines import first_lines
from msprobe.common.reload import Switch
from msprobe.common.saved_values import SavedValues
from msprobe.common.service import Service
from msprobe.common.stages import Stages
from msprobe.common.step_directory import TENSORS, StepDirectory
from msprobe.common.usage import Usage, unknown_keywords

Made = TypeVar("Made", bound="Debugger")


def one_at_a_time(method: Callable) -> Callable:
    """Threads of a server take turns. A forked child, which may have inherited a lock that nobody frees, only says that it records nothing."""
    @functools.wraps(method)
    def locked(cls, *args, **kwargs):
        self = cls._existing()
        if self._session.is_in_child:
            return method(cls, *args, **kwargs)
        with self._lock:
            return method(cls, *args, **kwargs)
    return locked


class Debugger:
    """One for the process: a second construction gives the first one; a dump_path that it names holds from the next start() on.

    start, stop and step may be called on the class. ``with PrecisionDebugger(...):`` records the block as one step.

    A framework's PrecisionDebugger says its name and makes the session that records."""

    FRAMEWORK = ""
    LEVELS: Tuple[str, ...] = ("L1", "mix")
    _instance: Optional["Debugger"] = None
    _latest: Optional["Debugger"] = None  # also where a host has set _instance to None, to make another one

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            return super().__new__(cls)
        return cls._instance

    def _begin(self, config_path, given: dict) -> None:
        """Reads the configuration and makes the session. Called once, by the constructor."""
        self.config: Config = _load(config_path, given)
        if Debugger._latest is not None:
            Debugger._latest._end_quietly()
        self._given = {"config_path": config_path, **given}
        self._lock = threading.RLock()
        self._switch = Switch(config_path, self.config.dump_enable)
        if self.config.level not in self.LEVELS:
            raise ConfigError(f"level: found {self.config.level!r}, expected one of {', '.join(self.LEVELS)}")
        self._stages = Stages(check_path(self.config.dump_path))
        self._asked_path = self.config.dump_path
        self._loop = 0
        self._init_step = 0
        self._rank: Optional[int] = None
        self._ended = False
        self._declined = False
        self._told_what = False
        self._told: Set[str] = set()
        self._told_calls = 0  # what stop() said last of this step
        self._calls_at_start = 0
        self._usage = Usage(self.config.step, self.config.level == "debug")
        self.service = Service(self)
        self._session = self._make_session(self._settings())
        self._saved = SavedValues(self._session.native)
        atexit.register(self._at_exit)
        type(self)._instance = Debugger._latest = self

    def _settings(self) -> dict:
        config = self.config
        with_values = config.task != "structure"
        return {"summary_mode": config.summary_mode, "saves_tensors": config.task in ("tensor", "overflow_check", "exception_dump"),
                "only_overflow": config.task == "overflow_check", "only_raised": config.task == "exception_dump",
                "high_precision": config.precision == "high", "list": config.names, "scope": config.scope,
                "tensor_list": config.tensor_list, "slice": config.slice, "forward": config.wants("forward", "backward"),
                "backward": with_values and config.task != "exception_dump" and config.wants("backward", "forward"),
                "input": with_values and config.wants("input", "output"), "output": with_values and config.wants("output", "input"),
                "parameters": with_values}

    def _check_again(self, given: dict) -> None:
        """A second construction gives this one. It may name another directory; anything else would need a recording of its own."""
        if given.get("dump_path") is not None:
            self.config.dump_path = os.fspath(given["dump_path"])
        for key, value in given.items():
            if key == "dump_path" or value is None or value == self._given.get(key):
                continue
            self._tell_once(f"PrecisionDebugger({key}={value!r}): ignored, this process already has a PrecisionDebugger with "
                            f"{self._given.get(key)!r}; call PrecisionDebugger.close() first to change it")

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            log.warning(text)

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

    def _framework_version(self) -> str:
        raise NotImplementedError

    def _device_settings(self) -> dict:
        """Settings of the device that a replay should have, too: further keys of dump.json."""
        return {}

    def _written(self, directory: str) -> None:
        """The files of a step hold everything that was recorded so far."""

    def _count_step(self) -> None:
        self._loop += 1

    def _may_record_nothing(self) -> bool:
        """Whether a block without calls is what the user asked for."""
        config = self.config
        return bool(config.scope or config.names or config.request_id or config.level == "debug"
                    or config.task in ("overflow_check", "exception_dump") or config.data_mode == ["backward"])

    def _watch_gradient(self, tensor: Any, take: Callable[[Any], None]) -> None:
        """Has take(gradient) called when the gradient of `tensor` comes, where the framework can."""

    def _tensors_with_gradients(self, value: Any) -> list:
        """[(index, tensor), ...] for save(): the tensors in a value whose gradients may come."""
        return []

    @classmethod
    def _existing(cls: Type[Made]) -> Made:
        if cls._instance is None:
            raise RuntimeError("PrecisionDebugger instance is not created.")
        return cast(Made, cls._instance)

    def _start(self, rank_id: Optional[int]) -> None:
        if self._open_block(rank_id):
            self._begin_block()

    def _begin_block(self) -> None:
        self._session.start()

    def _open_block(self, rank_id: Optional[int]) -> bool:
        """Opens the directory of this step, if it is to be recorded here."""
        if self._session.is_in_child:
            self._decline()
            return False
        number = self._loop + self._init_step
        if self._ended or (self.config.step and number > self.config.step[-1]):
            self._end()
            return False
        self._usage.started(number, self._session.is_recording)
        if self.config.step and number not in self.config.step:
            return False
        rank = self._current_rank() if rank_id is None else _checked_rank(rank_id)
        if (self.config.rank and rank is not None and rank not in self.config.rank) or not self._switch.is_on():
            self._usage.excuse()
            return False
        try:
            self._go_to_stage()
            self._open(number, rank)
        except (ConfigError, OSError, TypeError) as error:  # not worth a training or a server
            log.error(f"nothing is recorded: {error}")
            return False
        self._usage.recorded(number)
        self._calls_at_start = self._session.native.recorded_calls()
        self.service.first_start = False
        self._tell_what()
        return True

    def _go_to_stage(self) -> None:
        """A host may set another directory between stop() and start(). What was recorded so far stays, and can be gone on with in the
        same step."""
        if self.config.dump_path == self._asked_path:
            return
        path = check_path(os.fspath(self.config.dump_path))
        self._asked_path = self.config.dump_path
        if path == self.dump_path:
            return
        self._write_all()
        if self._step.path is not None:
            self._session.park_step(self.dump_path)
        self._stages.enter(path)
        self._told_calls = 0

    def _tell_what(self) -> None:
        """The first line of a recording: what is recorded, and where."""
        if self._told_what:
            return
        self._told_what = True
        is_public_default = self.FRAMEWORK == "pytorch" and self._given.get("config_path") is not None
        for line in first_lines(self.config, str(self._step.path), is_public_default):
            log.info(line)

    @classmethod
    @one_at_a_time
    def stop(cls, **unknown: object) -> None:
        """Ends recording and says where the dump is. Gradients of what was recorded are still added until step()."""
        unknown_keywords("stop", unknown)
        self = cls._existing()
        if not self._session.is_in_child:
            was_recording = self._session.is_recording
            self._usage.stopped(was_recording)
            self._write_all()
            self._tell_place()
            calls = self._session.native.recorded_calls()
            if was_recording and not self._may_record_nothing():
                self._tell_missing(calls - self._calls_at_start)

    def _tell_missing(self, calls: int) -> None:
        """Reports what a block with this many recorded calls lacks."""
        if calls and self._session.modules_of_step() == 0:
            self._usage.ended_without_modules(calls)
        elif not calls and not self._session.unseen()["operators"]:
            self._usage.ended_empty_block(self.config.level)

    def _write_all(self) -> None:
        self._write()

    @classmethod
    @one_at_a_time
    def step(cls, dump: bool = True, **unknown: object) -> None:
        """The end of a training step: everything is written, and the counters of all calls start again.

        dump: False forgets what was recorded of the step, as a server does after a warm-up; the next start() records the same step.
        """
        unknown_keywords("step", unknown)
        self = cls._existing()
        if self._session.is_in_child:
            return
        if not dump:
            return self._discard()
        self._end_step()
        self._usage.stepped()
        self._count_step()

    def _discard(self) -> None:
        self._write_all()
        if self._step.path is not None:
            self._session.end_step()
            self._step.discard()
            self._told_calls = 0

    def _discard_if_empty(self) -> None:
        """Ends a step that was begun for calls that never came."""
        if not self._session.is_in_child and self._step.path is not None and self._session.native.recorded_calls() == 0:
            self._session.stop()
            self._discard()

    def _end_step(self) -> None:
        self._write(last=True)
        if self._stages.has_open_step:
            self._session.end_step()
            self._session.forget_parked_steps()
            self._stages.end_step()
            self._saved.end_step()
            self._told_calls = 0

    @classmethod
    @one_at_a_time
    def save(cls, variable: Any, name: str, save_backward: bool = True) -> None:
        """Level debug: writes one value, and with `save_backward` the gradients of its tensors, into debug.json.

        variable: a tensor, number or text, or dictionaries, lists and tuples of them.
        name: what it is called; the second call with the same name in a step is number 1.
        """
        self = cls._existing()
        if self.config.level != "debug":
            return self._tell_once(f"save(): nothing is saved at level {self.config.level}; set \"level\": \"debug\"")
        if not self._step_is_open():
            return None
        number = self._saved.add(str(name), variable)
        if save_backward:
            for index, tensor in self._tensors_with_gradients(variable):
                self._watch_gradient(tensor, self._saved.for_gradient(str(name), number, index))
        return None

    def _step_is_open(self) -> bool:
        """Saving needs no start()."""
        number = self._loop + self._init_step
        return (self._step.path is not None and self._asked_path == self.config.dump_path and number in (self.config.step or [number])
                or self._open_block(None))

    @classmethod
    def close(cls) -> None:
        """Writes what was recorded and takes every hook out. Afterwards another PrecisionDebugger may be made."""
        self = cls._existing()
        self._end_quietly()
        type(self)._instance = None

    def _end_quietly(self) -> None:
        """Everything is written and nothing is hooked any more."""
        if not self._ended:
            if not self._session.is_in_child:
                self._end_step()
            atexit.unregister(self._at_exit)
            self._session.close()
            self._ended = True
        self._stages.leave()
        if Debugger._latest is self:
            Debugger._latest = None

    @property
    def dump_path(self) -> str:
        """The directory that is recorded into; config.dump_path may name the next one."""
        return self._stages.path

    @property
    def _step(self) -> StepDirectory:
        return self._stages.current

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

    def _maybe_reload_config(self, force: bool = False) -> None:
        """Hosts that edit config.json call it; every start() looks at the file anyway."""
        self._switch.is_on()

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
            what = "value" if self.config.level == "debug" else "call"
            log.info(f"{calls} {what}{'' if calls == 1 else 's'} recorded in {os.path.join(self._step.path, self._dump_name())}")

    def _dump_name(self) -> str:
        return "debug.json" if self.config.level == "debug" else "dump.json"

    def _at_exit(self) -> None:
        """The training may end by an exception, before stop()."""
        if not self._session.is_in_child:
            self._end_step()
            self._usage.ended(self._loop + self._init_step)

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
            if self._stages.comes_back():
                self._session.resume_step(self.dump_path, os.path.join(self._step.path, TENSORS))
                self._files(self._step.path)
                self._told_calls = self._session.native.recorded_calls()
            return self._follow_rank(rank)
        self._rank = rank
        try:
            self._session.native.open_step(*self._files(self._step.open(number, rank, self._saves_tensors())))
        except OSError:
            self._step.close()
            raise
        return None

    def _saves_tensors(self) -> bool:
        return self.config.task in ("tensor", "overflow_check", "exception_dump") or bool(self.config.tensor_list)

    def _files(self, directory: str) -> tuple:
        """The files of a step, as passed to the native collector; errors go there from now on, too."""
        tensors = os.path.join(directory, TENSORS)
        head = json.dumps({"task": self.config.task, "level": self.config.level, "framework": self.FRAMEWORK,
                           "dump_data_dir": tensors if self._saves_tensors() else None, "framework_version": self._framework_version(),
                           "python_version": platform.python_version(), **self._device_settings(), "data": {}}, indent=1)
        stacks, construct, sites = (os.path.join(directory, name) if self.config.extra_info else ""
                                    for name in ("stack.json", "construct.json", "call_sites.json"))
        self._session.error_log = os.path.join(directory, "dump_error_info.log")
        return os.path.join(directory, self._dump_name()), head[:head.rindex("}\n}")], "\n }\n}", stacks, tensors, construct, sites

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


def _checked_rank(rank_id: Any) -> int:
    """Hosts have it as a number of numpy, too."""
    number = rank_id.__index__() if hasattr(type(rank_id), "__index__") and not isinstance(rank_id, bool) else -1
    if number < 0:
        raise ConfigError(f"rank_id: found {rank_id!r}, expected a non-negative integer")
    return number
