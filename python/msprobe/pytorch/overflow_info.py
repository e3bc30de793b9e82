"""The calls of a dump that overflowed, in the form of the older overflow tool: forward_info_{pid}.json and backward_info_{pid}.json."""
import json
import os
from typing import Any, Dict


def _element(value: Any, directory: str) -> Any:
    if value is None:
        return {"type": "NoneType", "value": None}
    if isinstance(value, list):
        return [_element(item, directory) for item in value]
    if isinstance(value, dict) and value.get("type", "").endswith("Tensor"):
        if "data_name" in value:
            return {"type": "torch.Tensor", "datapath": os.path.join(directory, value["data_name"]),
                    "requires_grad": value["requires_grad"]}
        return {key: value[key] for key in ("type", "dtype", "shape", "Max", "Min", "requires_grad")}
    if isinstance(value, dict) and "type" not in value:
        return {key: _element(item, directory) for key, item in value.items()}
    return value


class OverflowInfo:
    """Gathers the steps of a run; the first overflow of a name is kept."""

    def __init__(self, directory: str) -> None:
        self._paths = {direction: os.path.join(directory, f"{direction}_info_{os.getpid()}.json")
                       for direction in ("forward", "backward")}
        self._entries: Dict[str, Dict[str, Any]] = {"forward": {}, "backward": {}}

    def add(self, step_directory: str) -> None:
        with open(os.path.join(step_directory, "dump.json"), encoding="utf-8") as file:
            dump = json.load(file)
        for name, entry in dump["data"].items():
            api, call, direction = name.rsplit(".", 2)
            prefix, api = api.split(".", 1)
            if direction == "forward":
                told = {"args": _element(entry.get("input_args", []), dump["dump_data_dir"]),
                        "kwargs": _element(entry.get("input_kwargs", {}), dump["dump_data_dir"])}
            else:
                told = _element(entry.get("input", []), dump["dump_data_dir"])
            self._entries[direction].setdefault(f"{prefix}_{api}_{call}_{direction}", told)
        for direction, entries in self._entries.items():
            if entries:
                with open(self._paths[direction], "w", encoding="utf-8") as file:
                    json.dump(entries, file)
