# SPDX-License-Identifier: Apache-2.0
"""The calls of a dump that overflowed, in the form of the older overflow tool: forward_info_{pid}.json and backward_info_{pid}.json."""
import json
import os
from typing import Any, Dict

from msprobe.common import new_file


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
    """Gathers the steps of a run; of a name that overflows in several steps the first is kept."""

    def __init__(self, directory: str) -> None:
        self._paths = {direction: os.path.join(directory, f"{direction}_info_{os.getpid()}.json")
                       for direction in ("forward", "backward")}
        self._steps: Dict[str, Dict[str, Dict[str, Any]]] = {}

    def add(self, step_directory: str) -> None:
        """What the dump of a step holds by now."""
        found: Dict[str, Dict[str, Any]] = {"forward": {}, "backward": {}}
        with open(os.path.join(step_directory, "dump.json"), encoding="utf-8") as file:
            dump = json.load(file)
        for name, entry in dump["data"].items():
            api, call, direction = name.rsplit(".", 2)
            prefix, api = api.split(".", 1)
            if direction == "forward":
                described = {"args": _element(entry.get("input_args", []), dump["dump_data_dir"]),
                        "kwargs": _element(entry.get("input_kwargs", {}), dump["dump_data_dir"])}
            else:
                described = _element(entry.get("input", []), dump["dump_data_dir"])
            found[direction][f"{prefix}_{api}_{call}_{direction}"] = described
        self._steps[os.path.basename(os.path.dirname(step_directory))] = found
        for direction, path in self._paths.items():
            entries: Dict[str, Any] = {}
            for step in self._steps.values():
                entries.update((name, described) for name, described in step[direction].items() if name not in entries)
            if entries:
                new_file.write_json(path, entries)
