# SPDX-License-Identifier: Apache-2.0
"""``msprobe verify kernel.py reference.py``: what the program becomes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import Any, Callable, List, NoReturn, Optional, Sequence, Tuple

import torch

from msprobe.common.program import CheckError
from msprobe.functions import files
from msprobe.functions.verify import INCONCLUSIVE, RIGHT, WRONG, Verification, verify

_INPUTS = ("get_inputs", "args", "example")
_SEED = 0  # of example inputs, so that they are the same again


def _path_of(given: str) -> str:
    path, colon, name = given.rpartition(":")
    return os.path.abspath(path if colon and name.isidentifier() else given)


def _module(given: str) -> Any:
    path = _path_of(given)
    if not os.path.isfile(path):
        raise files.FileError(f"{path}: no such file")
    os.environ["MSPROBE_INSIDE_ENGINE"] = "1"  # a file that verifies itself where it is imported stops there
    try:
        return files.imported(path)
    except BaseException as error:
        raise files.FileError(f"{os.path.basename(path)} cannot be imported: {files.described(error, path)}") from error
    finally:
        del os.environ["MSPROBE_INSIDE_ENGINE"]


def _model(module: Any, name: str, initial: Sequence[Any]) -> Any:
    torch.manual_seed(_SEED)
    return getattr(module, name)(*initial)


def _pair(kernel: str, reference: str) -> Tuple[Callable[..., Any], Callable[..., Any]]:
    """Functions, or KernelBench's classes Model and ModelNew with the same weights."""
    new, plain = _module(kernel), _module(reference)
    if not (hasattr(new, "ModelNew") and hasattr(plain, "Model")):
        return files.named_function(kernel, "kernel"), files.named_function(reference, "reference")
    initial: List[Any] = getattr(plain, "get_init_inputs", list)()
    model, model_new = _model(plain, "Model", initial), _model(new, "ModelNew", initial)
    if set(model.state_dict()) == set(model_new.state_dict()):
        model_new.load_state_dict(model.state_dict())
    return model_new, model


def _inputs(kernel: str, reference: str) -> List[Any]:
    for given in (reference, kernel):
        module = _module(given)
        for name in _INPUTS:
            make = getattr(module, name, None)
            if callable(make):
                torch.manual_seed(_SEED)
                return list(make())
    raise files.FileError(f"{reference} has no get_inputs(): a function that returns one example of the arguments, [torch.randn(64, 512)]")


def _dtypes(text: str) -> Optional[List[torch.dtype]]:
    found = [getattr(torch, name.strip(), None) for name in text.split(",") if name.strip()]
    if not all(isinstance(dtype, torch.dtype) for dtype in found):
        raise files.FileError(f"--dtypes takes names such as float32,bfloat16, not {text}")
    return found or None


def _refuse(text: str) -> NoReturn:
    print(f"[ERROR] {text}", file=sys.stderr)
    sys.exit(2)


def _verified(words: argparse.Namespace) -> Verification:
    kernel, reference = _pair(words.kernel, words.reference)
    return verify(kernel, reference, _inputs(words.kernel, words.reference), seed=words.seed, dtypes=_dtypes(words.dtypes),
                  timeout=words.timeout, cases=words.cases)


def main(arguments: List[str]) -> NoReturn:
    parser = argparse.ArgumentParser("msprobe verify")
    for name in ("kernel", "reference"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--dtypes", default="")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--fail-on", default="wrong")
    parser.add_argument("--json", action="store_true")
    words = parser.parse_args(arguments)
    standard_output = os.dup(1)  # what the files print is not the result
    os.dup2(2, 1)
    try:
        result = _verified(words)
    except (files.FileError, CheckError, FileNotFoundError) as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.stdout.flush()
    os.dup2(standard_output, 1)
    print(json.dumps(asdict(result)) if words.json else result)
    failing = {RIGHT: 0, WRONG: 1, INCONCLUSIVE: int(words.fail_on == INCONCLUSIVE)}
    sys.exit(failing[result.verdict])
