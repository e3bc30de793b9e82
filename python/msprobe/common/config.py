# SPDX-License-Identifier: Apache-2.0
"""config.json: what to record, in which steps and ranks, and where to write it."""
import json
import os
import re
from dataclasses import dataclass, field
from typing import AbstractSet, List, Optional, Set, Tuple, Union

from msprobe.common import log

TASKS = ("statistics", "tensor", "overflow_check", "structure", "exception_dump")
LEVELS = ("L0", "L1", "mix", "debug")
DATA_MODES = ("all", "forward", "backward", "input", "output")
SUMMARY_MODES = ("statistics", "md5", "xor")
RISK_LEVELS = ("ALL", "CORE", "FOCUS")
_MAX_NUMBER = 1000000
_ENTRY_NAME = re.compile(r"\w+\..+\.(\d+\.(forward|backward)|(forward|backward)\.\d+)")
_OTHER_KEYS = frozenset("task dump_path level async_dump custom_op_namespaces".split())
# Keys of the public tool that change nothing here, the values that say so, and why.
_WITHOUT_EFFECT = {"custom_op_namespaces": ((None, [], ["_C_ascend"]), "operators of every namespace are recorded"),
                   "async_dump": ((None, False), "files are always written in the background")}
_BODY_WITHOUT_EFFECT = {"diff_nums": ((None,), "it belongs to bench_path"), "device": ((None, "", "host"), "statistics are computed on the host"),
                        "file_format": ((None, "", "npy"), "tensors are saved as .pt, with MindSpore as .npy")}
_OTHER_TASKS = frozenset("statistics tensor overflow_check acc_check run_ut structure debug nan_check exception_dump diff_check "
                         "free_benchmark grad_probe".split())
_OTHER_BODY_KEYS = frozenset("bench_path diff_nums file_format device".split())


class ConfigError(ValueError):
    """The message names the key, what was found and what was wanted."""


class LevelError(ConfigError, SystemExit):
    """A level that only the device's own library can record. Not caught, it ends the process with status 2 and one line."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = 2


@dataclass
class Config:
    task: str = "statistics"
    dump_path: str = "./dump_path"
    level: str = "L1"
    rank: List[int] = field(default_factory=list)  # empty: all
    step: List[int] = field(default_factory=list)  # empty: all
    dump_enable: Optional[bool] = None  # a key that is there is read again while the training runs: common/reload.py
    extra_info: bool = True
    precision: str = "low"
    risk_level: str = "ALL"
    wide_list: bool = False  # MindSpore: also the APIs that the public tool does not record
    scope: List[str] = field(default_factory=list)
    names: List[str] = field(default_factory=list)  # the key "list"
    tensor_list: List[str] = field(default_factory=list)
    data_mode: List[str] = field(default_factory=lambda: ["all"])
    summary_mode: str = "statistics"
    slice: List[Tuple[int, int, int, int]] = field(default_factory=list)  # dim, its size (0: any), begin, end
    request_id: str = ""  # serving: the request of a batch that is recorded; empty: all of them
    is_risk_level_given: bool = False

    def wants(self, *modes: str) -> bool:
        """Whether data_mode keeps what `modes` name: with only directions given both sides are kept, and the other way round."""
        return "all" in self.data_mode or not set(self.data_mode) & set(modes) or modes[0] in self.data_mode


def numbers(key: str, given: object) -> List[int]:
    """[1, "0", "4-6"] as [0, 1, 4, 5, 6]."""
    if not isinstance(given, list):
        raise ConfigError(f"{key}: found {given!r}, expected a list of numbers and ranges")
    found: Set[int] = set()
    for item in given:
        parts = re.fullmatch(r"(\d+)(?:-(\d+))?", item) if isinstance(item, str) else None
        if isinstance(item, int) and not isinstance(item, bool):
            first = last = item
        elif parts:
            first = int(parts.group(1))
            last = int(parts.group(2) or first)
        else:
            raise ConfigError(f"{key}: found {item!r}, expected a number or a range such as \"4-6\"")
        if first > last or first < 0 or last > _MAX_NUMBER:
            raise ConfigError(f"{key}: found {item!r}, expected numbers from 0 to {_MAX_NUMBER}, the smaller one first")
        found.update(range(first, last + 1))
    return sorted(found)


def _choice(key: str, given: object, allowed: tuple) -> str:
    if not isinstance(given, str) or given not in allowed:
        raise ConfigError(f"{key}: found {given!r}, expected one of {', '.join(allowed)}")
    return given


def _texts(key: str, given: object) -> List[str]:
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise ConfigError(f"{key}: found {given!r}, expected a list of strings")
    return given


def _text(key: str, given: object) -> str:
    if not isinstance(given, str):
        raise ConfigError(f"{key}: found {given!r}, expected a string")
    return given


def _flag(key: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise ConfigError(f"{key}: found {given!r}, expected true or false")
    return given


def _data_mode(key: str, given: object) -> List[str]:
    modes = _texts(key, given)
    for mode in modes:
        _choice(key, mode, DATA_MODES)
    if len(modes) > 4 or ("all" in modes and len(modes) > 1):
        raise ConfigError(f"{key}: found {modes!r}, expected at most four of {', '.join(DATA_MODES[1:])}, or \"all\" alone")
    return modes or ["all"]


def _scope(key: str, given: object) -> List[str]:
    names = _texts(key, given)
    if names and (len(names) != 2 or not all(_ENTRY_NAME.fullmatch(name) for name in names)):
        raise ConfigError(f"{key}: found {names!r}, expected the first and the last entry, as in Tensor.add.0.forward")
    return names


def _slice(key: str, given: object) -> List[Tuple[int, int, int, int]]:
    """[{"dim": 0, "size": 4096, "begin": 0, "end": 16}] as [(0, 4096, 0, 16)]."""
    wanted = 'a list of objects such as {"dim": 0, "size": 4096, "begin": 0, "end": 16}'
    if not isinstance(given, list):
        raise ConfigError(f"{key}: found {given!r}, expected {wanted}")
    cuts = []
    for item in given:
        if not isinstance(item, dict) or not {"dim", "begin", "end"} <= item.keys() <= {"dim", "size", "begin", "end"}:
            raise ConfigError(f"{key}: found {item!r}, expected {wanted}")
        for name, value in item.items():
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
                raise ConfigError(f"{key}.{name}: found {value!r}, expected a non-negative integer")
        if item["begin"] >= item["end"]:
            raise ConfigError(f"{key}: found {item!r}, expected a begin below the end")
        cuts.append((item["dim"], item.get("size", 0), item["begin"], item["end"]))
    return cuts


def _read_body(config: Config, body: dict) -> None:
    readers = {"scope": _scope, "list": _texts, "tensor_list": _texts, "data_mode": _data_mode, "slice": _slice,
               "summary_mode": lambda key, given: _choice(key, given, SUMMARY_MODES),
               "request_id": _text}
    for key, read in readers.items():
        if body.get(key) is not None:
            setattr(config, "names" if key == "list" else key, read(f"{config.task}.{key}", body[key]))
    if body.get("bench_path"):
        raise ConfigError(f"{config.task}.bench_path: not supported by this collector")
    if body.get("file_format") not in (None, "", "npy", "bin"):
        raise ConfigError(f"{config.task}.file_format: found {body['file_format']!r}, expected npy or bin, which are for MindSpore")
    _warn_of_others(f"{config.task}.", body, readers.keys() | _OTHER_BODY_KEYS)
    _warn_without_effect(f"{config.task}.", body, _BODY_WITHOUT_EFFECT)


def _read_top(config: Config, content: dict) -> None:
    readers = {"rank": numbers, "step": numbers, "dump_enable": _flag, "extra_info": _flag, "wide_list": _flag,
               "precision": lambda key, given: _choice(key, given, ("high", "low")),
               "risk_level": lambda key, given: _choice(key, given, RISK_LEVELS)}
    for key, read in readers.items():
        if content.get(key) is not None:
            setattr(config, key, read(key, content[key]))
    config.is_risk_level_given = content.get("risk_level") is not None
    _warn_of_others("", content, readers.keys() | _OTHER_KEYS | _OTHER_TASKS)
    _warn_without_effect("", content, _WITHOUT_EFFECT)


def _warn_of_others(place: str, content: dict, known: AbstractSet[str]) -> None:
    """A misspelt key would go unnoticed."""
    for key in content:
        if key not in known:
            log.warning(f"{place}{key}: unknown key, ignored")


def _warn_without_effect(place: str, content: dict, keys: dict) -> None:
    for key, (usual, reason) in keys.items():
        if key in content and content[key] not in usual:
            log.warning(f"{place}{key}: no effect here, {reason}")


def load(config_path: Union[str, "os.PathLike[str]", dict, None], given: dict) -> Config:
    """The file, or its content, with what the constructor was given in its place. `given` may hold task, dump_path, level, step and rank."""
    content = {}
    if config_path is not None:
        content = read_content(config_path)
    content = {**content, **{key: value for key, value in given.items() if value is not None}}
    config = Config()
    if content.get("task") == "md5":
        raise ConfigError("task: found 'md5', which is a summary_mode of the tasks statistics and tensor")
    config.task = _choice("task", content.get("task", config.task), TASKS)
    level = content.get("level", config.level)
    if level == "L2":
        raise LevelError("level: L2 needs torch_npu, which records kernels; this collector records APIs (L1), modules (L0) or both (mix)")
    config.level = _choice("level", level, LEVELS)
    if config.task == "structure" and config.level not in ("L0", "mix"):
        log.warning(f"level: found {config.level!r}; the task structure records modules, so the level is mix")
        config.level = "mix"
    if config.level == "debug" and config.task not in ("statistics", "tensor"):
        raise ConfigError(f"task: found {config.task!r}, expected statistics or tensor at level debug")
    config.dump_path = content.get("dump_path", config.dump_path)
    if isinstance(config.dump_path, os.PathLike):
        config.dump_path = os.fspath(config.dump_path)
    if not isinstance(config.dump_path, str) or not config.dump_path:
        raise ConfigError("The dump_path not found.")
    _read_top(config, content)
    body = content.get(config.task, {})
    if not isinstance(body, dict):
        raise ConfigError(f"{config.task}: found {body!r}, expected an object")
    _read_body(config, body)
    _flag("async_dump", content.get("async_dump") or False)
    if content.get("async_dump") and config.task == "tensor" and not config.names:
        raise ConfigError("The parameters async_dump is true in tensor task, the parameters list cannot be empty.")
    if content.get("async_dump") and config.summary_mode == "md5":
        raise ConfigError("The parameters async_dump is true, the parameters summary_mode cannot be md5.")
    return config


def read_content(config_path: Union[str, "os.PathLike[str]", dict]) -> dict:
    return config_path if isinstance(config_path, dict) else _read_json(config_path)


def _read_json(path: Union[str, "os.PathLike[str]"]) -> dict:
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if not isinstance(path, str) or not path.endswith(".json"):
        raise ConfigError(f"config_path: found {path!r}, expected the name of a .json file")
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a JSON object")
    return content


def check_path(path: str) -> str:
    """The absolute path, refused if it has control characters, such as line breaks, or nothing can be made there."""
    odd = re.search(r"[\x00-\x1f\x7f]", path)
    absolute = path if odd else os.path.realpath(path)
    odd = odd or re.search(r"[\x00-\x1f\x7f]", absolute)
    if odd:
        raise ConfigError(f"The file path {absolute!r} contains special characters: {odd.group()!r}")
    encoded = os.fsencode(absolute)
    if len(encoded) > 4096 or any(len(part) > 255 for part in encoded.split(b"/")):
        raise ConfigError(f"The file path {absolute} is too long")
    existing = absolute
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        raise ConfigError(f"The file path {absolute} cannot be created: {existing} is not a directory")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ConfigError(f"The file path {absolute} cannot be created: no permission to write in {existing}")
    return absolute
