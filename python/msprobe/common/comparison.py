# SPDX-License-Identifier: Apache-2.0
"""Comparing two recordings from a script: ``msprobe compare`` with the parameters of the documents."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from msprobe.common import new_file, program

__all__ = ["CompareError", "compare", "compare_distributed"]

# Both families of names that the documents use.
_KEYS = {
    "target": ("npu_json_path", "npu_path"),
    "golden": ("bench_json_path", "bench_path"),
    "stack": ("stack_json_path", "stack_path"),
}
_KNOWN = {name for names in _KEYS.values() for name in names} | {"is_print_compare_log"}


class CompareError(RuntimeError):
    """Nothing could be compared; the message says why."""


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def _path(name: str, value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, not {value!r}")
    return os.fspath(value)


def _given(parameters: Mapping[str, object], what: str) -> str | None:
    for name in _KEYS[what]:
        if parameters.get(name) is not None:
            return _path(name, parameters[name])
    return None


def _mapping(option: str, value: object, directory: str) -> list[str]:
    """A mapping is a path, or a dict or list, which the program reads as a file."""
    if value is None:
        return []
    if isinstance(value, (Mapping, list)):
        path = os.path.join(directory, option.strip("-") + ".json")
        new_file.write_json(path, value if isinstance(value, list) else dict(value))
        return [f"{option}={path}"]
    return [f"{option}={_path(option, value)}"]


def _run(words: list[str], output_path: object, *, stack_mode: bool | None, fuzzy_match: bool, highlight: bool, xlsx: bool,
         auto_analyze: bool, first_diff_analyze: bool, is_print_compare_log: bool, data_mapping: object, cell_mapping: object,
         layer_mapping: object, api_mapping: object, config: object) -> int:
    command = [program.find(), "compare", *words, "--mode", "auto", "--output_path", _path("output_path", output_path)]
    if stack_mode is not None:
        command += ["--stack-mode", "on" if _flag("stack_mode", stack_mode) else "off"]
    if _flag("fuzzy_match", fuzzy_match):
        command.append("--fuzzy_match")
    if _flag("auto_analyze", auto_analyze) or _flag("first_diff_analyze", first_diff_analyze):
        command.append("--diff_analyze")
    if _flag("is_print_compare_log", is_print_compare_log):
        command.append("--is_print_compare_log")
    if _flag("highlight", highlight) or _flag("xlsx", xlsx):
        command.append("--xlsx")
    with tempfile.TemporaryDirectory() as scratch:
        command += _mapping("--data_mapping", data_mapping, scratch)
        command += _mapping("--cell_mapping", cell_mapping, scratch)
        command += _mapping("--layer_mapping", layer_mapping, scratch)
        command += _mapping("--api_mapping", api_mapping, scratch)
        if config is not None:
            command += ["--config", _path("config", config)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            last = fault = ""
            for line in running.stderr or ():
                print(line, end="", file=sys.stderr)
                last = line.strip() or last
                fault = last if "[ERROR]" in last else fault
    if running.returncode not in (0, 1):
        raise CompareError(fault or last or f"msprobe compare ended with status {running.returncode}")
    return running.returncode


def compare(
    input_param: Mapping[str, object],
    output_path: str | os.PathLike[str] = "./output",
    stack_mode: bool | None = None,
    auto_analyze: bool = True,
    suffix: str = "",
    fuzzy_match: bool = False,
    highlight: bool = False,
    data_mapping: object = None,
    cell_mapping: object = None,
    is_print_compare_log: bool | None = None,
    xlsx: bool = False,
    first_diff_analyze: bool = False,
    config: object = None,
    layer_mapping: object = None,
    api_mapping: object = None,
) -> int:
    """Compare two dump.json: ``npu_json_path`` with ``bench_json_path`` (or ``npu_path``, ``bench_path``).

    stack_mode: None shows stacks if stack.json is there, True requires it, False leaves them out; ``stack_json_path`` names the file.
    auto_analyze (first_diff_analyze): also write where the two runs diverge. highlight, xlsx: a workbook with coloured rows beside the CSV.
    data_mapping, cell_mapping: a YAML file or a dict, target name to golden name. layer_mapping, api_mapping: a YAML file or its content
    (docs/compare.md). config: a YAML file of matrices (docs/compare.md).
    Returns 0, or 1 if a row is an error. Raises CompareError if nothing could be compared.
    """
    if not isinstance(input_param, Mapping):
        raise TypeError(f"the first argument must be a dict with npu_json_path and bench_json_path, not {input_param!r}")
    unknown = sorted(set(input_param) - _KNOWN)
    if unknown:
        raise ValueError(f"unknown parameters {unknown}; known: {sorted(_KNOWN)}")
    target, golden, stack = (_given(input_param, what) for what in ("target", "golden", "stack"))
    if target is None or golden is None:
        raise ValueError("npu_json_path and bench_json_path are required")
    words = ["--target_path", target, "--golden_path", golden]
    if stack is not None and stack_mode is not False:
        words += ["--stack-json", stack]
    if suffix:
        words += ["--suffix", suffix]
    log = is_print_compare_log if is_print_compare_log is not None else input_param.get("is_print_compare_log", False)
    return _run(words, output_path, stack_mode=stack_mode, fuzzy_match=fuzzy_match, highlight=highlight, xlsx=xlsx,
                auto_analyze=auto_analyze, first_diff_analyze=first_diff_analyze, is_print_compare_log=bool(log),
                data_mapping=data_mapping, cell_mapping=cell_mapping, layer_mapping=layer_mapping, api_mapping=api_mapping, config=config)


def compare_distributed(
    npu_dump_dir: str | os.PathLike[str],
    bench_dump_dir: str | os.PathLike[str],
    output_path: str | os.PathLike[str] = "./output",
    stack_mode: bool | None = None,
    auto_analyze: bool = True,
    fuzzy_match: bool = False,
    highlight: bool = False,
    data_mapping: object = None,
    cell_mapping: object = None,
    is_print_compare_log: bool = False,
    xlsx: bool = False,
    first_diff_analyze: bool = False,
    config: object = None,
    layer_mapping: object = None,
    api_mapping: object = None,
) -> int:
    """Compare two directories of ranks or steps, paired by number. The keywords are those of compare(); tables are named by rank."""
    words = ["--target_path", _path("npu_dump_dir", npu_dump_dir), "--golden_path", _path("bench_dump_dir", bench_dump_dir)]
    return _run(words, output_path, stack_mode=stack_mode, fuzzy_match=fuzzy_match, highlight=highlight, xlsx=xlsx,
                auto_analyze=auto_analyze, first_diff_analyze=first_diff_analyze, is_print_compare_log=is_print_compare_log,
                data_mapping=data_mapping, cell_mapping=cell_mapping, layer_mapping=layer_mapping, api_mapping=api_mapping, config=config)
