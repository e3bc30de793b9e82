#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws which group of src uses which, and which folder links which, into docs/architecture.md, from the CMake files.

usage: make_folder_graph.py [--check]

Fails if a folder links one of a group below its own (the order is that of src/README.md), if folders link each other in a circle, if a file includes a header of a folder that its own does not link directly, or if a folder
links another and includes nothing of it. With --check the page is only compared.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
ORDER = SRC / "README.md"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- made by tools/make_folder_graph.py -->\n", "<!-- end -->\n"


def folder_of(path):
    return path.relative_to(SRC).parts[1]


def group_order():
    """Every group and the names of its folders, in the order of the table in src/README.md."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", ORDER.read_text(), re.MULTILINE)
    return {group: re.findall(r"`(\w+)`", folders) for group, folders in rows}


def library_folders(lists):
    """The folder of every library: most bear its name."""
    return {name: folder_of(path) for path, text in lists.items() for name in re.findall(r"msprobe_library\((\w+)", text)}


def links(lists, folders):
    """For every folder, those that its library links and, with them, those that only its tests link."""
    linked, by_tests = {}, {}
    for path, text in lists.items():
        folder = folder_of(path)
        code = re.sub(r"TEST_DEPENDS[^)]*", "", text)
        for graph, part in ((linked, code), (by_tests, text)):
            named = {folders.get(name) for name in re.findall(r"\bmsprobe(?:::|_)(\w+)", part)}
            implied = {"core"} | ({"libtorch"} if "LIBTORCH" in part else set())
            graph.setdefault(folder, set()).update((named | implied) - {None, folder})
    return linked, by_tests


def included():
    """Pairs of (file, folder of a header that it includes)."""
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".cc", ".h"):
            for header in re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE):
                if header != folder_of(path):
                    yield path, header


def group_faults(groups, linked):
    there = {group.name: {folder.name for folder in group.iterdir() if folder.is_dir()} for group in SRC.iterdir() if group.is_dir()}
    if {group: set(folders) for group, folders in groups.items()} != there:
        yield "src/README.md: its table does not name the groups and folders of src"
        return
    place = {folder: index for index, folders in enumerate(groups.values()) for folder in folders}
    for folder, others in sorted(linked.items()):
        for other in sorted(others):
            if place[other] > place[folder]:
                yield f"{folder} links {other}, of a group below its own"


def group_links(groups, linked):
    group_of = {folder: group for group, folders in groups.items() for folder in folders}
    graph = {group: set() for group in groups}
    for folder, others in linked.items():
        graph[group_of[folder]].update(group_of[other] for other in others if group_of[other] != group_of[folder])
    return graph


def circle(graph):
    """The folders of one circle, or nothing."""
    done, way = set(), []

    def visit(folder):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in done:
            return None
        way.append(folder)
        found = next(filter(None, map(visit, sorted(graph[folder]))), None)
        way.pop()
        done.add(folder)
        return found

    return next(filter(None, map(visit, sorted(graph))), None)


def reached(graph, folder):
    return set().union(*({next_folder} | reached(graph, next_folder) for next_folder in graph[folder])) if graph[folder] else set()


def drawing(graph):
    """Mermaid's text: an arrow for each link that does not follow from others, folders that need the fewest others first."""
    below = {folder: reached(graph, folder) for folder in graph}
    lines = ["```mermaid", "graph BT"]
    for folder in sorted(graph, key=lambda name: (len(below[name]), name)):
        direct = sorted(to for to in graph[folder] if not any(to in below[other] for other in graph[folder]))
        if direct:
            lines.append(f"  {folder} --> {' & '.join(direct)}")
    return "\n".join([*lines, "```"]) + "\n"


def faults(linked, by_tests):
    uses = list(included())
    for path, folder in uses:
        allowed = by_tests if path.stem.endswith("_test") else linked
        if folder not in allowed[folder_of(path)]:
            yield f"{path.relative_to(ROOT)} includes a header of {folder}, which {folder_of(path)} does not link"
    used = {(folder_of(path), folder) for path, folder in uses}
    for folder, others in sorted(by_tests.items()):
        for other in sorted(others - {"core", "libtorch"}):
            if (folder, other) not in used:
                yield f"{folder} links {other} and includes nothing of it"
    way = circle(linked)
    if way:
        yield "a circle: " + " -> ".join(way)


def main():
    lists = {path: re.sub(r"#.*", "", path.read_text()) for path in SRC.glob("**/CMakeLists.txt") if path.parent != SRC}
    linked, by_tests = links(lists, library_folders(lists))
    groups = group_order()
    wrong = [*group_faults(groups, linked), *faults(linked, by_tests)]
    if not wrong:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        drawings = drawing(group_links(groups, linked)) + "\n" + drawing(linked)
        new = before + BEGIN + drawings + END + rest.split(END)[1]
        if "--check" not in sys.argv[1:]:
            PAGE.write_text(new)
        elif new != page:
            wrong.append("docs/architecture.md: run tools/make_folder_graph.py")
    print("\n".join(wrong) or f"{len(groups)} groups, {len(linked)} folders, no circle")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
