# SPDX-License-Identifier: Apache-2.0
"""A small network, described as data: computed once as PyTorch would (FX) and once as the compiled graph does (GE)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# FX target: how it is computed from its arguments; a tuple is several outputs.
COMPUTE = {
    "aten.mm.default": lambda a, b: a @ b,
    "aten.add.Tensor": lambda a, b: a + b,
    "aten.sub.Tensor": lambda a, b: a - b,
    "aten.mul.Tensor": lambda a, b: a * np.asarray(b, a.dtype),
    "aten.relu.default": lambda a: np.maximum(a, 0),
    "aten.abs.default": np.abs,
    "aten.clone.default": lambda a: a.copy(),
    "aten.cat.default": lambda parts, dim: np.concatenate(parts, dim),
    "aten.max.dim": lambda a, dim: (a.max(dim), a.argmax(dim)),
}
# GE outputs in another order or type than FX's: (output of FX, type).
GE_OUTPUTS = {"ArgMaxWithValue": [(1, "int32"), (0, None)]}

TINY = {
    "inputs": {"arg0_1": [6, 8], "arg1_1": [8, 5], "arg2_1": [5], "arg3_1": [6, 5]},
    # node, FX target, GE operator, GE type, arguments ("%name" or "%name:output" is a tensor)
    "nodes": [
        ["mm", "aten.mm.default", "MatMul", "MatMul", ["%arg0_1", "%arg1_1"]],
        ["add", "aten.add.Tensor", "Add", "Add", ["%mm", "%arg2_1"]],
        ["relu", "aten.relu.default", "Relu", "Relu", ["%add"]],
        ["mul", "aten.mul.Tensor", "Mul", "Mul", ["%relu", 1.5]],
        ["sub", "aten.sub.Tensor", "Sub", "Sub", ["%mul", "%arg3_1"]],
        ["cat", "aten.cat.default", "ConcatV2", "ConcatV2", [["%sub", "%relu", "%mul"], 1]],
        ["max_1", "aten.max.dim", "ArgMaxWithValue", "ArgMaxWithValue", ["%sub", 1]],
        ["abs_1", "aten.abs.default", "layers.0/Abs", "Abs", ["%cat"]],
    ],
    "fuse": [["Add", "Relu"]],
}


@dataclass
class Node:
    name: str
    target: str
    op: str
    op_type: str
    args: list

    @property
    def key(self) -> str:
        return f"{self.name}-{self.target}"


@dataclass
class Network:
    inputs: dict
    nodes: list[Node]
    fuse: list[list[str]] = field(default_factory=list)

    @staticmethod
    def of(description: dict) -> Network:
        return Network(description["inputs"], [Node(*n) for n in description["nodes"]], description.get("fuse", []))

    def sources(self, rng: np.random.Generator, whole: bool) -> dict[str, np.ndarray]:
        """`whole`: small whole numbers, whose sums and products are exact on every machine."""
        def draw(shape: list) -> np.ndarray:
            return rng.integers(-8, 9, shape) if whole else rng.standard_normal(shape)
        return {name: draw(shape).astype(np.float32) for name, shape in self.inputs.items()}

    def owner(self, reference: str) -> tuple[str, int]:
        """The GE operator and its output that a reference "%name[:i]" stands for."""
        name, _, place = reference[1:].partition(":")
        for node in self.nodes:
            if node.name == name:
                order = [source for source, _ in GE_OUTPUTS.get(node.op_type, [])]
                wanted = int(place or 0)
                return node.op, order.index(wanted) if order else wanted
        return name, 0

    def run(self, sources: dict[str, np.ndarray], faults: dict | None = None) -> dict:
        """Node name: (arguments, outputs). A fault changes the output of a GE operator and all that follows."""
        values = {name: (value,) for name, value in sources.items()}

        def resolve(arg):
            if isinstance(arg, list):
                return [resolve(item) for item in arg]
            if isinstance(arg, str):
                name, _, place = arg[1:].partition(":")
                return values[name][int(place or 0)]
            return arg

        results = {}
        for node in self.nodes:
            args = [resolve(arg) for arg in node.args]
            outputs = COMPUTE[node.target](*args)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            if faults and node.op in faults:
                outputs = (faults[node.op](outputs[0]), *outputs[1:])
            values[node.name] = outputs
            results[node.name] = (args, outputs)
        return results


def parse_fault(text: str):
    """OP:scale=F, OP:shift=F, OP:nan=INDEX, OP:bump=INDEX, OP:zero"""
    op, _, what = text.rpartition(":")
    kind, _, value = what.partition("=")

    def at(element):
        def change(array):
            changed = array.copy()
            changed.ravel()[int(value)] = element(changed.ravel()[int(value)])
            return changed
        return change

    change = {"scale": lambda a: a * np.asarray(float(value), a.dtype), "nan": at(lambda _: np.nan), "zero": np.zeros_like,
              "bump": at(lambda x: 2 * x + 1),
              "shift": lambda a: a + np.asarray(float(value), a.dtype)}[kind]
    return op, change
