# SPDX-License-Identifier: Apache-2.0
"""support_wrap_ops.yaml: the names of what is recorded, in groups."""
import re
from typing import Dict, Iterable, List


def read_ops(path: str) -> Dict[str, List[str]]:
    """The names of every group. The file is a mapping of plain lists; anything else in it is an error."""
    with open(path, encoding="utf-8") as file:
        return parse_ops(file, path)


def parse_ops(lines: Iterable[str], path: str) -> Dict[str, List[str]]:
    """The same for the lines of `path`."""
    groups: Dict[str, List[str]] = {}
    names = None
    for number, text in enumerate(lines, 1):
        text = text.split("#", 1)[0].rstrip()
        group = re.fullmatch(r"([A-Za-z_]\w*):(?:\s*\[\])?", text)
        name = re.fullmatch(r"\s*-\s+['\"]?([\w.]+)['\"]?", text)
        if group:
            names = groups.setdefault(group.group(1), [])
        elif name and names is not None:
            names.append(name.group(1))
        elif text:
            raise ValueError(f"{path}: line {number}: found {text!r}, expected 'group:' or '- name'")
    return groups
