#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tests/data/npu_schemas.txt with the torch_npu of this Python.

usage: schemas.py     prints what differs; needs CANN, or the stand-in
"""
import pathlib
import sys

import torch
import torch_npu

FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "npu_schemas.txt"
VERSION = ".".join(torch_npu.__version__.split(".")[:2])


def listed():
    """Name with overload -> schema, as the file has it for this version."""
    found = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        versions, _, text = line.partition(": ")
        if line.startswith("#") or VERSION not in versions.split():
            continue
        schema = torch._C.parse_schema(text)
        found[schema.name, schema.overload_name] = str(schema)
    return found


def main():
    known = {(schema.name, schema.overload_name): str(schema) for schema in torch._C._jit_get_all_schemas()}
    wanted = listed()
    different = {name: schema for name, schema in wanted.items() if known.get(name) != schema}
    for name, schema in different.items():
        print(f"listed:    {schema}\ninstalled: {known.get(name)}")
    print(f"{len(wanted)} schemas of torch_npu {VERSION}, {len(different)} differ")
    return 1 if different or not wanted else 0


sys.exit(main())
