# SPDX-License-Identifier: Apache-2.0
"""SingleSave: values that a trainer saves by name, in files of numpy, whatever framework they come from."""
import os
import sys
from typing import Any, Dict, Optional

from msprobe.common import log, new_file
from msprobe.common.config import check_path
from msprobe.common.usage import unknown_keywords


class SingleSave:
    """
        SingleSave("dump/data")
        SingleSave.save({"loss": loss, "advantages": advantages})     # dump/data/loss/step0/rank0/micro_step0.npy, ...
        SingleSave.step()

    One for the process. A further save of the same name in a step is the next micro step; a list or tuple is a directory of files. A value
    that cannot be saved is named, and the training goes on.
    """

    _instance: Optional["SingleSave"] = None
    _dump_path = ""
    _step = 0
    _counts: Dict[str, int] = {}

    def __new__(cls, dump_path: str = "./dump", **unknown: Any) -> "SingleSave":
        unknown_keywords("SingleSave", unknown)
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._step, cls._counts = 0, {}
        cls._dump_path = check_path(os.fspath(dump_path))
        return cls._instance

    @classmethod
    def save(cls, data: Any, *values: Any, **unknown: Any) -> None:
        """data: {name: value}, or a name with its value behind it."""
        unknown_keywords("SingleSave.save", unknown)
        if cls._instance is None:
            cls("./dump")
        if isinstance(data, str) and values:
            data = {data: values[0]}
        if not isinstance(data, dict):
            return log.warning(f"SingleSave.save: found {type(data).__name__}, expected {{name: value}}; nothing is saved")
        for name, value in data.items():
            number = cls._counts.get(name, 0)
            cls._counts[name] = number + 1
            place = os.path.join(cls._dump_path, str(name).replace("/", "_"), f"step{cls._step}", f"rank{_rank()}", f"micro_step{number}")
            try:
                _write(place, value)
            except Exception as error:  # a training is worth more than a file of it
                log.warning(f"SingleSave.save: {name} is not saved: {error}")
        return None

    @classmethod
    def step(cls, **unknown: Any) -> None:
        """The next values belong to the next step."""
        unknown_keywords("SingleSave.step", unknown)
        cls._step += 1
        cls._counts = {}


def _write(place: str, value: Any) -> None:
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _write(os.path.join(place, str(index)), item)
        return
    import numpy

    array = _as_array(value)
    new_file.make_directories(os.path.dirname(place))
    with new_file.new_file(place + ".npy") as file:
        numpy.save(file, array, allow_pickle=False)


def _as_array(value: Any) -> Any:
    """bfloat16, which numpy lacks, as float32."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype is torch.bfloat16 else value).numpy()
    return value.asnumpy() if hasattr(value, "asnumpy") else value


def _rank() -> int:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    return int(os.environ.get("RANK") or 0) if (os.environ.get("RANK") or "0").isdigit() else 0
