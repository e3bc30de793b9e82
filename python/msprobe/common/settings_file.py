# SPDX-License-Identifier: Apache-2.0
"""config.yaml of the pre-check, as far as the collector needs it: plain values, and lists of names."""
import ast
import os
import re
from typing import Any, Callable, Dict, Optional

from msprobe.common import log

PACKAGED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "pytorch", "api_accuracy_checker", "config.yaml")


def _value(text: str) -> Any:
    if text.startswith("["):
        return [item.strip().strip("'\"") for item in text.strip("[]").split(",") if item.strip()]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def read_settings(path: Optional[str] = None) -> Dict[str, Any]:
    """The file that $MSPROBE_CONFIG names, else the packaged one; nothing if there is none."""
    path = path or os.environ.get("MSPROBE_CONFIG") or PACKAGED
    if not os.path.exists(path):
        return {}
    settings: Dict[str, Any] = {}
    name = ""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.split("#", 1)[0].rstrip()
            pair = re.fullmatch(r"(\w+):\s*(.*)", line)
            item = re.fullmatch(r"\s*-\s+(.+)", line)
            if pair:
                name = pair.group(1)
                settings[name] = _value(pair.group(2)) if pair.group(2) else []
            elif item and isinstance(settings.get(name), list):
                settings[name].append(item.group(1).strip("'\""))
            elif line:
                raise ValueError(f"{path}: line {number}: found {line!r}, expected 'name: value' or '- item'")
    return settings


def listed_names(path: Optional[str] = None) -> Callable[[str], bool]:
    """Tells for the name of an API whether white_list and black_list leave it out. One line says which lists are in force."""
    path = path or os.environ.get("MSPROBE_CONFIG") or PACKAGED
    settings = read_settings(path)
    lists = {}
    for key in ("white_list", "black_list"):
        names = settings.get(key, [])
        if not isinstance(names, list):
            raise ValueError(f"{path}: {key}: found {names!r}, expected a list of API names, for example [\"conv1d\", \"conv2d\"]")
        lists[key] = frozenset(names)
        if names:
            log.info(f"{'only' if key == 'white_list' else 'without'} {', '.join(names)} ({key} of {path})")
    white, black = lists["white_list"], lists["black_list"]

    def is_hidden(name: str) -> bool:
        names = {name, name.rpartition(".")[2]}
        return bool(names & black) or bool(white and not names & white)

    return is_hidden
