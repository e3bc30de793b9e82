"""PrecisionDebugger: the few lines that a training script needs."""
import atexit
import contextlib
import json
import os
import shutil
from typing import Optional

import torch

from msprobe.pytorch import log, risk
from msprobe.pytorch.config import Config, ConfigError, LevelError, check_path, load
from msprobe.pytorch.loader import LoaderWatch
from msprobe.pytorch.overflow_info import OverflowInfo
from msprobe.pytorch.session import Session


_TENSORS = "dump_tensor_data"


class PrecisionDebugger:
    """One for the process: a second construction gives the first one. start, stop and step may be called on the class."""

    _instance: Optional["PrecisionDebugger"] = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            return super().__new__(cls)
        return cls._instance

    def __init__(self, config_path=None, task=None, dump_path=None, level=None, step=None, rank=None, dataloader=None) -> None:
        if PrecisionDebugger._instance is not None:
            return
        given = {"task": task, "dump_path": dump_path, "level": level, "step": step, "rank": rank}
        self.config: Config = _load_or_exit(config_path, given)
        self.dump_path = check_path(self.config.dump_path)
        self._loop = 0
        self._init_step = 0
        self._rank: Optional[int] = None
        self._directory: Optional[str] = None  # of the step that is being recorded
        self._ended = False
        self._declined = False
        settings = {"summary_mode": self.config.summary_mode, "saves_tensors": self.config.task in ("tensor", "overflow_check"),
                    "only_overflow": self.config.task == "overflow_check", "high_precision": self.config.precision == "high",
                    "list": self.config.names, "scope": self.config.scope, "tensor_list": self.config.tensor_list,
                    "forward": self.config.wants("forward", "backward"), "backward": self.config.wants("backward", "forward"),
                    "input": self.config.wants("input", "output"), "output": self.config.wants("output", "input")}
        filtered = bool(self.config.scope or self.config.names)
        self._session = Session(settings, risk.hidden("ALL" if filtered else self.config.risk_level))
        self._watch = LoaderWatch(self._before_batch, self._after_batch, dataloader) if dataloader is not None else None
        self._overflow = OverflowInfo(os.getcwd()) if self.config.task == "overflow_check" else None
        atexit.register(self._at_exit)
        PrecisionDebugger._instance = self

    @classmethod
    def _existing(cls) -> "PrecisionDebugger":
        if cls._instance is None:
            raise RuntimeError("PrecisionDebugger instance is not created.")
        return cls._instance

    @classmethod
    def start(cls, model=None, token_range=None, rank_id=None, scheduled_tokens=None) -> None:
        """Begins recording. `model` is needed at other levels only and ignored here."""
        if token_range is not None or scheduled_tokens is not None:
            raise ConfigError("token_range and scheduled_tokens: not supported by this collector")
        self = cls._existing()
        if self._session.is_in_child:
            return self._decline()
        number = self._loop + self._init_step
        if self._ended or (self.config.step and number > self.config.step[-1]):
            return self._end()
        if self.config.step and number not in self.config.step:
            return None
        rank = _current_rank(rank_id)
        if self.config.rank and rank is not None and rank not in self.config.rank:
            return None
        self._open(number, rank)
        self._session.start()
        return None

    @classmethod
    def stop(cls) -> None:
        """Ends recording. Gradients of what was recorded are still added until step()."""
        self = cls._existing()
        if not self._session.is_in_child:
            self._write()

    @classmethod
    def step(cls) -> None:
        """The end of a training step: everything is written, and the counters of all calls start again."""
        self = cls._existing()
        if self._session.is_in_child:
            return
        self._write()
        if self._directory is not None:
            self._session.end_step()
            self._directory = None
        self._loop += 1

    @classmethod
    def set_init_step(cls, number: int) -> None:
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise ConfigError(f"step: found {number!r}, wanted an integer that is not negative")
        self = cls._existing()
        self._init_step, self._loop = number, 0

    def _write(self) -> None:
        self._session.stop()
        self._session.flush()
        if self._overflow is not None and self._directory is not None:
            self._overflow.add(self._directory)

    def _at_exit(self) -> None:
        """The training may end by an exception, before stop()."""
        if not self._session.is_in_child:
            self._write()

    def _decline(self) -> None:
        if not self._declined:
            self._declined = True
            log.warning("this process was forked after PrecisionDebugger was made and records nothing; "
                        "make it in the process that trains")

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            atexit.unregister(self._at_exit)
            self._session.close()
            log.info("msprobe ends successfully.")

    def _open(self, number: int, rank: Optional[int]) -> None:
        """Makes the directory of a step, or goes on in it. A process without a rank is called by its id until it gets one."""
        if self._directory is not None:
            if self._rank is None and rank is not None:
                self._name_rank(rank)
            return
        self._rank = rank
        name = f"rank{rank}" if rank is not None else f"proc{os.getpid()}"
        directory = os.path.join(self.dump_path, f"step{number}", name)
        _overwrite(directory)
        os.makedirs(directory, mode=0o750, exist_ok=True)
        if self._saves_tensors():
            os.makedirs(os.path.join(directory, _TENSORS), mode=0o750, exist_ok=True)
        if self.config.extra_info:
            with open(os.path.join(directory, "construct.json"), "w", encoding="utf-8") as file:
                file.write("{}")
        self._session.native.open_step(*self._files(directory))
        self._directory = directory

    def _saves_tensors(self) -> bool:
        return self.config.task != "statistics" or bool(self.config.tensor_list)

    def _files(self, directory: str) -> tuple:
        """What the native collector is told of the files of a step; errors go there from now on, too."""
        tensors = os.path.join(directory, _TENSORS)
        head = json.dumps({"task": self.config.task, "level": self.config.level, "framework": "pytorch",
                           "dump_data_dir": tensors if self._saves_tensors() else None, "data": {}}, indent=1)
        stacks = os.path.join(directory, "stack.json") if self.config.extra_info else ""
        self._session.error_log = os.path.join(directory, "dump_error_info.log")
        return os.path.join(directory, "dump.json"), head[:head.rindex("}\n}")], "\n }\n}", stacks, tensors

    def _name_rank(self, rank: int) -> None:
        """The process group came up in the middle of a step: its files move to the directory of the rank."""
        self._session.flush()
        renamed = os.path.join(os.path.dirname(self._directory), f"rank{rank}")
        _overwrite(renamed)
        shutil.rmtree(renamed, ignore_errors=True)
        os.rename(self._directory, renamed)
        self._session.native.move_step(*self._files(renamed))
        self._directory, self._rank = renamed, rank

    def _before_batch(self) -> None:
        """With a data loader given, its batches start and end the steps, and the documented exception ends the training."""
        self.stop()

    def _after_batch(self, index: int) -> None:
        if index > 0:
            self.step()
        if self.config.step and self._loop + self._init_step > self.config.step[-1]:
            raise Exception(f"msprobe: exit after iteration {self.config.step[-1]}")
        self.start()


def _load_or_exit(config_path, given: dict) -> Config:
    try:
        return load(config_path, given)
    except LevelError as error:
        log.error(str(error))
        raise SystemExit(2) from error


def _overwrite(directory: str) -> None:
    """Takes away what an earlier run left there, tensors and errors; its other files are replaced."""
    if os.path.exists(os.path.join(directory, "dump.json")):
        log.warning(f"{directory} has a dump already, which is overwritten")
        shutil.rmtree(os.path.join(directory, _TENSORS), ignore_errors=True)
        for name in ("stack.json", "construct.json", "dump_error_info.log"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(directory, name))


def _current_rank(rank_id: Optional[int]) -> Optional[int]:
    if rank_id is not None:
        if not isinstance(rank_id, int) or isinstance(rank_id, bool) or rank_id < 0:
            raise ConfigError(f"rank_id: found {rank_id!r}, wanted an integer that is not negative")
        return rank_id
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return None
