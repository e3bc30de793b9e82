# SPDX-License-Identifier: Apache-2.0
"""Operators that run in slices (FFTS+): one file per thread, or per manual slice."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from .ge_writer import OpFile, Stored


@dataclass
class Cut:
    """OP=AXIS:COUNT[:manual][:unknown_inputs]; axis - means that nothing is cut."""

    op: str
    axis: int | None
    count: int
    manual: bool = False
    unknown_inputs: bool = False  # nothing is recorded of what each slice read

    @staticmethod
    def parse(text: str) -> Cut:
        op, _, what = text.rpartition("=")
        axis, count, *words = what.split(":")
        return Cut(op, None if axis == "-" else int(axis), int(count), "manual" in words, "unknown_inputs" in words)


def ranges(shape: tuple[int, ...], cut: Cut, length: int) -> list[list[dict]]:
    """For each slice the part of every axis; an axis that is not as long as the cut one is read whole."""
    parts = []
    for k in range(cut.count):
        axes = [{"lower": 0, "higher": extent} for extent in shape]
        if cut.axis is not None and cut.axis < len(shape) and shape[cut.axis] == length:
            axes[cut.axis] = {"lower": length * k // cut.count, "higher": length * (k + 1) // cut.count}
        parts.append(axes)
    return parts


def sliced(file: OpFile, cut: Cut) -> list[OpFile]:
    """The files of an operator that ran in slices."""
    length = file.outputs[0].values.shape[cut.axis] if cut.axis is not None else 0

    def take(tensor: Stored, axes: list[dict]) -> Stored:
        if cut.axis is None or cut.axis >= tensor.values.ndim:
            return tensor
        return tensor.part(cut.axis, axes[cut.axis]["lower"], axes[cut.axis]["higher"])

    inputs = [ranges(tensor.values.shape, cut, length) for tensor in file.inputs]
    outputs = [ranges(tensor.values.shape, cut, length) for tensor in file.outputs]
    is_cut = lambda tensor, i: i == cut.axis and i < tensor.values.ndim and tensor.values.shape[i] == length
    info = {
        "threadMode": int(not cut.manual), "slice_instance_num": cut.count,
        "outputCutList": [[cut.count if is_cut(t, i) else 1 for i in range(t.values.ndim)] for t in file.outputs],
        "output_tensor_slice": [[tensor[k] for tensor in outputs] for k in range(cut.count)],
    }
    if not cut.unknown_inputs:
        info["input_tensor_slice"] = [[tensor[k] for tensor in inputs] for k in range(cut.count)]
    files = []
    for k in range(cut.count):
        files.append(replace(file, name=f"{file.name}_lxslice{k}" if cut.manual else file.name, thread=None if cut.manual else k,
                             inputs=[take(t, inputs[i][k]) for i, t in enumerate(file.inputs)],
                             outputs=[take(t, outputs[i][k]) for i, t in enumerate(file.outputs)], attribute=json.dumps(info)))
    return files
