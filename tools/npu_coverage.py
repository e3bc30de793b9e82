#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the calls of NPU operators in Python sources, and which of them msprobe judges.

    python3 tools/npu_coverage.py SOURCE_TREE [SOURCE_TREE ...] [--all]

A call site is `torch_npu.npu_x(...)`, `torch.ops.npu.npu_x(...)`, or an `npu_` function imported from torch_npu. What only moves data
between devices, asks for properties or communicates computes nothing and is left out, as are operators that a project brings itself
(`torch.ops._C_ascend`). Operators are sorted by their number of call
sites, those without a benchmark first: the first of them is the one to add next.
"""
import argparse
import ast
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "src" / "run" / "execute" / "npu"

# Casts between memory formats, properties, profiling, memory, communication.
NOT_COMPUTING = re.compile(
    r"npu_(format_cast_?|get_.*|set_.*|synchronize|prefetch|empty.*|is_.*|change_data_ptr|alloc_float_status|clear_float_status|"
    r"create_tensor_from.*|all_gather_base_mm|mm_all_reduce_base|mm_reduce_scatter_base|.*allto?all.*|.*all_reduce.*|.*workspace|"
    r"moe_distribute_.*|convert_weight_to_int4pack|trans_quant_param|hook.*|config.*|check.*|dtype_cast|print.*|storage_.*)$"
)


def judged_operators():
    """Operators that have a row: a benchmark, or a formula."""
    names = set()
    for source in ROWS.glob("*.cc"):
        if not source.name.endswith("_test.cc"):
            names.update(re.findall(r'"NPU\.([\w.]+)"', source.read_text(encoding="utf-8")))
    return names


def dotted(node):
    """"torch.ops.npu.npu_x" of the expression that says so, else an empty text."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


class CallSites(ast.NodeVisitor):
    def __init__(self):
        self.count = collections.Counter()
        self.imported = {}

    def visit_ImportFrom(self, node):
        if (node.module or "").split(".")[0] == "torch_npu":
            self.imported.update({alias.asname or alias.name: alias.name for alias in node.names})

    def visit_Call(self, node):
        name = dotted(node.func)
        match = re.fullmatch(r"(?:torch_npu|torch\.ops\.npu)\.((?:atb\.)?_?npu_\w+)(?:\.\w+)?", name)
        if match:
            self.count[match.group(1)] += 1
        elif name in self.imported and re.match("_?npu_", self.imported[name]):
            self.count[self.imported[name]] += 1
        self.generic_visit(node)


def call_sites(tree):
    count = collections.Counter()
    for path in sorted(pathlib.Path(tree).rglob("*.py")):
        try:
            source = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        sites = CallSites()
        sites.visit(source)
        count += sites.count
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", metavar="SOURCE_TREE")
    parser.add_argument("--all", action="store_true", help="list the judged operators too")
    arguments = parser.parse_args()
    count = collections.Counter()
    for tree in arguments.trees:
        count += call_sites(tree)
    computing = {name: sites for name, sites in count.items() if not NOT_COMPUTING.match(name.lstrip("_"))}
    judged = judged_operators()
    total = sum(computing.values())
    covered = sum(sites for name, sites in computing.items() if name in judged)
    print(f"{total} call sites of {len(computing)} computing NPU operators; {covered} judged ({100 * covered / max(total, 1):.0f} %)")
    missing = sorted((item for item in computing.items() if item[0] not in judged), key=lambda item: (-item[1], item[0]))
    if missing:
        print(f"next: {missing[0][0]}")
    shown = sorted(computing.items(), key=lambda item: (item[0] in judged, -item[1], item[0])) if arguments.all else missing
    for name, sites in shown:
        print(f"{sites:5d}  {name}{'' if name in judged else '  (no benchmark)'}")


if __name__ == "__main__":
    main()
