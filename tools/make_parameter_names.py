#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/base/ops/parameter_names_table.cc: what the positional parameters of the recorded APIs are called, as the installed PyTorch has them.

usage: make_parameter_names.py

Functions written in Python say it themselves, the others by the schemas of their ATen operators; a position that overloads name
differently has no name. The names of fused NPU operators come from tests/data/npu_schemas.txt. Run clang-format on the result
(tools/check_format.sh --fix).
"""
import inspect
import pathlib
import re

import torch
import torch.nn.functional

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = ROOT / "python" / "msprobe" / "pytorch" / "hook_module" / "support_wrap_ops.yaml"
NPU_SCHEMAS = ROOT / "tests" / "data" / "npu_schemas.txt"
TABLE = ROOT / "src" / "base" / "ops" / "parameter_names_table.cc"
GROUPS = {"functional": ("Functional", torch.nn.functional), "tensor": ("Tensor", torch.Tensor), "torch": ("Torch", torch), "_VF": ("VF", torch._VF)}
# Operators of Python whose ATen operator has another name.
ATEN_NAMES = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "neg": "neg", "lshift": "bitwise_left_shift",
              "rshift": "bitwise_right_shift", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not"}
# What no schema says: a list of indices is one of Python's subscripts.
SUBSCRIPTS = {"Tensor.__getitem__": ["self", "index"], "Tensor.__setitem__": ["self", "index", "value"]}


def recorded_apis():
    """Group and name of every API in the collector's list."""
    group = None
    for line in LISTS.read_text().splitlines():
        if title := re.match(r"(\w+):", line):
            group = title[1]
        elif item := re.match(r"\s*- (\S+)", line):
            yield group, item[1]


def of_python(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return None
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def of_schema(name):
    """The names on which all overloads agree that take a tensor first; a star marks a list, whose items may be given one by one."""
    overloads = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        given = [a for a in schema.arguments if not a.kwarg_only and not a.is_out]
        if given and "Tensor" in str(given[0].type) and "str" not in (str(a.type) for a in given if a.name == "dim"):
            overloads.append([(a.name, str(a.type).startswith("List")) for a in given])
    names = []
    for position in range(max(map(len, overloads), default=0)):
        at = [overload[position] for overload in overloads if position < len(overload)]
        if len({name for name, _ in at}) == 1:
            names.append(("*" if any(is_list for _, is_list in at) else "") + at[0][0])
        else:
            names.append("-")
    return names


def aten_name(name):
    if not name.startswith("__"):
        return name.replace(".", "_")
    base = name.strip("_")
    return ATEN_NAMES.get(base) or (ATEN_NAMES.get(base[1:], base[1:]) + "_" if base[0] == "i" and base not in ("invert",) else base)


def of_api(kind, name, module):
    function = module
    for part in name.split("."):
        function = getattr(function, part, None)
    names = of_python(function) if kind in ("Functional", "Torch") else None
    if names is None:
        reflected = re.fullmatch(r"__r(\w+)__", name)
        names = ["self", "other"] if reflected and reflected[1] not in ("shift",) else of_schema(name) or of_schema(aten_name(name))
    if kind != "Tensor" and names and names[0] in ("self", "-"):
        names[0] = "input"
    if kind == "Tensor" and names:
        names[0] = "self"
    while names and names[-1] == "-":
        names.pop()
    return names


def of_npu():
    for line in NPU_SCHEMAS.read_text().splitlines():
        found = re.match(r"([\d. ]+): npu::(\w+)\((.*)\) -> ", line)
        if not found or "2.13" not in found[1].split():
            continue
        given = found[3].split(", *")[0]
        names = [re.sub(r"=.*", "", text).split()[-1] for text in given.split(", ") if text and not text.startswith("*")]
        yield f"NPU.{found[2]}", ["input" if name == "self" and i == 0 else name for i, name in enumerate(names)]


def main():
    rows = dict(SUBSCRIPTS)
    for group, name in recorded_apis():
        if group in GROUPS:
            kind, module = GROUPS[group]
            rows.setdefault(f"{kind}.{name}", of_api(kind, name, module))
    rows.update(of_npu())
    # The first parameter has a name by itself (parameter_names.cc).
    rows = {api: names for api, names in rows.items() if len(names) > 1 or names and names[0] not in ("self", "input")}
    lines = "".join(f'    {{"{api}", "{" ".join(names)}"}},\n' for api, names in sorted(rows.items()))
    TABLE.write_text(f"""// SPDX-License-Identifier: Apache-2.0
// Made by tools/make_parameter_names.py with PyTorch {torch.__version__.split('+')[0]}; do not edit. A minus is a position that overloads
// name differently, a star a list whose items may be given one by one.
#include <algorithm>

#include "ops/parameter_names.h"

namespace msprobe::ops {{
namespace {{

constexpr ParameterNames kParameterNames[] = {{
{lines}}};
static_assert(std::ranges::is_sorted(kParameterNames, {{}}, &ParameterNames::api));

}}  // namespace

std::span<const ParameterNames> parameter_names_table() {{ return kParameterNames; }}

}}  // namespace msprobe::ops
""")


if __name__ == "__main__":
    main()
