#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes GE and FX dumps of a described network, in every layout and container, and what a comparison must find.

  tools/make_torchair_dump.py OUT --fault Relu:scale=1.05
  msprobe compare --target_path OUT/msprobe_ge_dump --golden_path OUT/msprobe_fx_dump --mode torchair

A network of your own is a JSON file like torchair_dump.network.TINY (--network FILE). OUT/expected.json lists every tensor
of the compared dump: its counterpart, and whether it differs.
"""

from __future__ import annotations

import argparse
import io
import json
import pathlib
import sys

import numpy as np

from torchair_dump.ge_writer import CONTAINERS, OpFile, Stored, graph_text, statistics_csv
from torchair_dump.network import GE_OUTPUTS, TINY, Network, parse_fault
from torchair_dump.slices import Cut, sliced

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from msprobe.common import new_file  # noqa: E402

GE_TIME = 1755558790000000


def make_directory(path: pathlib.Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path}: is there already")
    new_file.make_directories(path)


def save(path: pathlib.Path, array: np.ndarray) -> None:
    with new_file.new_file(path) as file:
        np.save(file, array)


def fx_arrays(args: list, outputs: tuple):
    """(side, place in the name, array) of one FX node, in the order it is dumped."""
    for i, arg in enumerate(args):
        if isinstance(arg, list):
            yield from (("INPUT", f"{i}.{j}", item) for j, item in enumerate(arg))
        else:
            yield "INPUT", str(i), np.asarray(arg)
    yield from (("OUTPUT", str(i), output) for i, output in enumerate(outputs))


def flat(args: list) -> list:
    return [item for arg in args for item in (arg if isinstance(arg, list) else [arg])]


class Maker:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        described = TINY if options.network == "tiny" else json.loads(pathlib.Path(options.network).read_text())
        self.network = Network.of(described)
        self.faults = dict(parse_fault(fault) for fault in options.fault)
        self.formats = dict(entry.split("=") for entry in options.format)
        self.rows: list[dict] = []

    # The GE side -----------------------------------------------------------------------------------------------------
    def stored(self, op: str, values, dtype: str | None = None, original=None) -> Stored:
        values = np.asarray(values)
        if values.dtype == np.float64:
            values = values.astype(np.float32)  # a scalar of Python is a float32 constant
        name = dtype or {"float32": self.options.dtype}.get(values.dtype.name, values.dtype.name)
        if name == "float16":
            values = values.astype(np.float16)
        fmt = self.formats.get(op, "ND") if values.ndim >= 2 else "ND"
        return Stored(values, name, fmt, original)

    def op_file(self, node, result, time: int, original: bool) -> OpFile:
        args, outputs = result
        file = OpFile(node.op_type, node.op, time, time % 97 + 4)
        file.inputs = [self.stored(node.op, arg) for arg in flat(args)]
        order = GE_OUTPUTS.get(node.op_type) or [(i, None) for i in range(len(outputs))]
        file.outputs = [self.stored(node.op, outputs[source], dtype, (node.op, place) if original else None)
                        for place, (source, dtype) in enumerate(order)]
        return file

    def ge_files(self, results: dict, fused: bool) -> list[tuple[OpFile, list]]:
        """Each file with the nodes it stands for."""
        files = []
        for place, node in enumerate(self.network.nodes):
            group = next((g for g in self.network.fuse if node.op in g), None) if fused else None
            if group and node.op != group[-1]:
                continue
            if not group:
                files.append((self.op_file(node, results[node.name], GE_TIME + 100 * place, not fused), [node]))
                continue
            members = [n for n in self.network.nodes if n.op in group]
            file = OpFile("AutomaticBufferFusionOp", "".join(group), GE_TIME + 100 * place, 11)
            for member in members:
                references = flat(member.args)
                for reference, value in zip(references, flat(results[member.name][0])):
                    inside = isinstance(reference, str) and self.network.owner(reference)[0] in group
                    if not inside:
                        file.inputs.append(self.stored(file.name, value))
            original = (group[-1], 0) if self.options.container != "min_max" else None
            file.outputs = [self.stored(file.name, results[members[-1].name][1][0], None, original)]
            files.append((file, members))
        return files

    def write_ge(self, directory: pathlib.Path, files: list, cuts: list[Cut]) -> None:
        make_directory(directory)
        for file, _ in files:
            if self.options.dump_mode == "output":
                file.inputs = []
            if self.options.dump_mode == "input":
                file.outputs = []
        written = []
        for file, _ in files:
            cut = next((cut for cut in cuts if cut.op == file.name), None)
            written += sliced(file, cut) if cut else [file]
        for place, file in enumerate(written):
            kind = self.options.container
            if kind == "csv":
                new_file.write_text(directory / (file.file_name() + ".csv"), statistics_csv(file))
            elif kind == "min_max":
                ranges = [[[t.values.min(), t.values.max()] for t in side] for side in (file.inputs, file.outputs)]
                archive = io.BytesIO()
                np.savez(archive, inputs=ranges[0], outputs=ranges[1])
                new_file.write_bytes(directory / (file.file_name() + "_min_max.npz"), archive.getvalue())
            else:
                kind = "ABC"[place % 3] if kind == "mixed" else kind
                new_file.write_bytes(directory / file.file_name(), CONTAINERS[kind](file))

    def write_graph(self, root: pathlib.Path, graph: int, rank: int) -> None:
        network, ops, constants = self.network, [], 0
        for name in network.inputs:
            ops.append({"name": name, "type": "Data", "inputs": [], "fx": [None]})
        for node in network.nodes:
            inputs = []
            for arg in flat(node.args):
                if isinstance(arg, str):
                    inputs.append(network.owner(arg))
                else:
                    constants += 1
                    ops.append({"name": f"Const_{constants}", "type": "Const", "inputs": [], "fx": [None]})
                    inputs.append((f"Const_{constants}", 0))
            outputs = GE_OUTPUTS.get(node.op_type) or [(0, None)]
            fx = [f"{node.key}.OUTPUT.{source}" for source, _ in outputs]
            ops.append({"name": node.op, "type": node.op_type, "inputs": [(ops[0]["name"], -1)] + inputs, "fx": fx})
        ops.append({"name": "NetOutput", "type": "NetOutput", "fx": [],
                    "inputs": [network.owner(f"%{node.name}") for node in network.nodes[-3:]]})
        time = f"2025081823{graph:02}{rank:02}968607"
        name = f"dynamo_original_graph_{graph}_rank_{rank}_pid_{4711 + rank}_ts_{time}.txt"
        new_file.write_text(root / name, graph_text(graph, ops))

    def ge_directory(self, root: pathlib.Path, rank: int, graph: int, token: int) -> pathlib.Path:
        if self.options.layout in ("new", "7.1.0"):
            root = root / f"worldsize{len(self.options.ranks)}_global_rank{rank}"
        device = 0 if self.options.layout in ("new", "7.1.0") else 4 + rank
        return root / "20250818231306" / str(device) / f"graph_{graph}_0" / str(graph) / str(token)

    # The FX side -----------------------------------------------------------------------------------------------------
    def fx_directory(self, rank: int, graph: int, token: int) -> pathlib.Path:
        out, group = self.options.out, f"gm_2025081900{graph:02}{rank:02}214304_dump"
        return {"new": out / f"msprobe_fx_dump/worldsize{len(self.options.ranks)}_global_rank{rank}/graph_{graph}/{token}",
                "7.1.0": out / f"msprobe_fx_dump/data_dump/{token + 1}/{group}",
                "older": out / f"data_dump/{token + 1}/{group}", "very_old": out / group}[self.options.layout]

    def write_fx(self, directory: pathlib.Path, results: dict) -> None:
        make_directory(directory)
        for place, node in enumerate(self.network.nodes):
            for side, index, array in fx_arrays(*results[node.name]):
                array = np.asarray(array)
                if array.dtype == np.float32 and self.options.dtype == "float16":
                    array = array.astype(np.float16)
                name = f"{node.key}.{side}.{index}.20250818231440{place:06}"
                if self.options.container == "min_max":
                    save(directory / f"{name}_min_max.npy", np.array([array.min(), array.max()]))
                else:
                    save(directory / f"{name}.npy", array)

    # What must be found ------------------------------------------------------------------------------------------------
    def expect(self, where: dict, files: list, bench: dict[tuple, tuple[str, np.ndarray]]) -> None:
        for file, members in files:
            outside = []
            for member in members:
                for place, reference in enumerate(flat(member.args)):
                    if len(members) == 1 or not (isinstance(reference, str) and
                                                 self.network.owner(reference)[0] in [m.op for m in members]):
                        outside.append((member.op, "input", place))
            keys = outside if file.inputs else []
            for side, tensors, sources in (("input", file.inputs, keys),
                                           ("output", file.outputs, [(members[-1].op, "output", i) for i in range(9)])):
                for index, tensor in enumerate(tensors):
                    golden, value = bench[sources[index]]
                    self.rows.append({**where, "op": file.name, "side": side, "index": index, "golden": golden,
                                      "differs": differs(tensor.values, value)})

    def bench_names(self, results: dict, off_files: list | None) -> dict:
        names = {}
        suffix = {"min_max": "_min_max.npz", "csv": ".csv"}.get(self.options.container, "")
        for place, node in enumerate(self.network.nodes):
            args, outputs = results[node.name]
            if off_files:
                file = off_files[place][0]
                cut = next((cut for cut in self.options.golden_slices if cut.op == file.name), None)
                first = sliced(file, cut)[0] if cut else file  # stands for all slices
                for side, tensors in (("input", file.inputs), ("output", file.outputs)):
                    for i, tensor in enumerate(tensors):
                        names[(node.op, side, i)] = (f"{first.file_name()}{suffix},{side},{i}", tensor.values)
                continue
            arrays = list(fx_arrays(args, outputs))
            inputs = [a for a in arrays if a[0] == "INPUT"]
            for i, (_, index, array) in enumerate(inputs):
                names[(node.op, "input", i)] = (f"{node.key}.INPUT.{index}.", array)
            for i, (source, _) in enumerate(GE_OUTPUTS.get(node.op_type) or [(0, None)]):
                names[(node.op, "output", i)] = (f"{node.key}.OUTPUT.{source}.", outputs[source])
        return names

    def make(self) -> None:
        options = self.options
        ge_root = options.out / "msprobe_ge_dump"
        make_directory(ge_root)
        off_root = options.out / "fusion_off" / "msprobe_ge_dump"
        for rank in options.ranks:
            for graph in options.graphs:
                self.write_graph(ge_root, graph, rank)
                for token in options.tokens:
                    rng = np.random.default_rng([options.seed, rank, graph, token])
                    sources = self.network.sources(rng, options.whole)
                    place = f"{rank}/{graph}/{token}"
                    faults = self.faults if options.fault_at in ("", place) else {}
                    sound = self.network.run(sources)
                    faulty = self.network.run(sources, faults)
                    files = self.ge_files(faulty, fused=True)
                    off_files = None
                    if options.reference == "fusion_off":
                        off_files = self.ge_files(sound, fused=False)
                        self.write_ge(self.ge_directory(off_root, rank, graph, token), off_files, options.golden_slices)
                    else:
                        self.write_fx(self.fx_directory(rank, graph, token), sound)
                    self.write_ge(self.ge_directory(ge_root, rank, graph, token), files, options.slices)
                    where = {"rank": rank, "graph": graph, "token": token}
                    self.expect(where, files, self.bench_names(sound, off_files))
        if options.reference == "fusion_off":
            for rank in options.ranks:
                for graph in options.graphs:
                    self.write_graph(off_root, graph, rank)
        new_file.write_text(options.out / "expected.json", json.dumps({"rows": self.rows}, indent=1))


def differs(target: np.ndarray, golden: np.ndarray) -> bool:
    t, g = np.asarray(target, np.float64).ravel(), np.asarray(golden, np.float64).ravel()
    if not np.array_equal(np.isfinite(t), np.isfinite(g)):
        return True
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(t == g, 0, np.abs(t - g) / np.abs(g))
    norms = np.linalg.norm(t) * np.linalg.norm(g)
    cosine = 1.0 if not t.any() and not g.any() else t @ g / norms if norms else 0.0
    return bool(relative.max() >= 0.01 or cosine < 0.99)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--network", default="tiny", help="tiny, or a JSON file")
    parser.add_argument("--layout", default="new", choices=["new", "7.1.0", "older", "very_old"])
    parser.add_argument("--container", default="A", choices=["A", "B", "C", "mixed", "csv", "min_max"])
    parser.add_argument("--reference", default="fx", choices=["fx", "fusion_off"])
    parser.add_argument("--ranks", type=numbers, default=[0])
    parser.add_argument("--graphs", type=numbers, default=[1])
    parser.add_argument("--tokens", type=numbers, default=[0])
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--dump-mode", default="all", choices=["all", "input", "output"])
    parser.add_argument("--format", action="append", default=[], help="OP=FRACTAL_NZ")
    parser.add_argument("--fault", action="append", default=[], help="OP:scale=F, OP:shift=F, OP:nan=INDEX, OP:bump=INDEX, OP:zero")
    parser.add_argument("--fault-at", default="", help="RANK/GRAPH/TOKEN; default: everywhere")
    parser.add_argument("--slices", action="append", type=Cut.parse, default=[], help=Cut.__doc__)
    parser.add_argument("--golden-slices", action="append", type=Cut.parse, default=[], help="the same for the fusion-off dump")
    parser.add_argument("--whole", action="store_true", help="inputs are small whole numbers: the same results on every machine")
    parser.add_argument("--seed", type=int, default=1)
    Maker(parser.parse_args(arguments)).make()


if __name__ == "__main__":
    main()
