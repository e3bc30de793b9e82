#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msprobe compare on two dumps: the recorded tables of another tool, what must hold of any pair, options, and bad input.

usage: dump_compare_check.py PROGRAM
"""
import copy
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

csv.field_size_limit(1 << 30)
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "dump_compare", "recordings.tar.xz")
STATISTICS = {"Max": "max", "Min": "min", "Mean": "mean", "L2norm": "l2norm", "Norm": "l2norm"}
PROGRAM = sys.argv[1]
FAILED = []


def check(what, holds, detail=""):
    if not holds:
        FAILED.append(what)
        print(f"FAILED {what}: {detail}")


def tables(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "compare_result*.csv"), recursive=True)):
        name = re.fullmatch(r"compare_result(.*?)_\d+\.csv", os.path.basename(path))[1]
        with open(path, encoding="utf-8-sig", newline="") as f:
            found[name] = list(csv.reader(f))
    return found


class Run:
    """One run of the program: its status, what it printed, its tables."""

    def __init__(self, target, golden, *more):
        with tempfile.TemporaryDirectory() as out:
            words = [
                PROGRAM,
                "compare",
                "-tp",
                target,
                *(["-gp", golden] if golden else []),
                "-o",
                out,
                "--json",
                os.path.join(out, "rows.json"),
                *more,
            ]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
            self.tables = tables(out)
            analyses = [f for f in os.listdir(out) if f.startswith("diff_analyze_")]
            self.analysis = json.load(open(os.path.join(out, analyses[0]), encoding="utf-8")) if analyses else None
            self.files = sorted(os.listdir(out))
            self.json = None
            if os.path.exists(os.path.join(out, "rows.json")):
                with open(os.path.join(out, "rows.json"), encoding="utf-8") as f:
                    self.json = json.load(f)
            self.sheet = None
            for book in glob.glob(os.path.join(out, "*.xlsx")):
                self.sheet = zipfile.ZipFile(book).read("xl/worksheets/sheet1.xml").decode()

    def rows(self, suffix=""):
        table = self.tables.get(suffix) or [[]]
        return [dict(zip(table[0], row)) for row in table[1:]]

    def row(self, name, suffix=""):
        return next(row for row in self.rows(suffix) if name in (row["NPU Name"], row["Bench Name"]))

    def complaint(self):
        lines = [line for line in self.err.splitlines() if "[ERROR]" in line]
        return lines[-1] if lines else ""


def number(text):
    try:
        return float(text.rstrip("%"))
    except ValueError:
        return None


def same(want, got, slack):
    if want.strip() == got.strip() or {want.strip(), got.strip()} <= {"None", "N/A", ""}:
        return True
    x, y = number(want), number(got)
    if x is None or y is None or want.endswith("%") != got.endswith("%"):
        return False
    return x == y or (x != x and y != y) or abs(x - y) <= 1e-6 * max(abs(x), abs(y)) + slack


def slack_of(name, row):
    """Older tables carry a rounding error in their differences."""
    m = re.fullmatch(r"(Max|Min|Mean|L2norm|Norm)( diff|RelativeErr)", name)
    if not m or "NPU max" not in row or "Max diff" not in row:
        return 4e-12
    t, g = (number(row[f"{side} {STATISTICS[m[1]]}"]) for side in ("NPU", "Bench"))
    if t is None or g is None or not abs(t) + abs(g) < float("inf"):
        return 0.0
    slack = 4e-12 * max(abs(t), abs(g))
    return slack if m[2] == " diff" else 100 * slack / abs(g) if g else 0.0


def dump_of(folder, side):
    path = os.path.join(folder, side, "dump.json")
    return path if os.path.exists(path) else os.path.dirname(path)


def recorded_tables(folder):
    name = os.path.basename(folder)
    marks = {"rows": {}}
    if os.path.exists(os.path.join(folder, "rows.json")):
        with open(os.path.join(folder, "rows.json"), encoding="utf-8") as f:
            marks = json.load(f)
    target, golden = dump_of(folder, "target"), dump_of(folder, "golden")
    run = Run(target, golden)
    wanted = {k: t for k, t in tables(folder).items()}
    check(f"{name}: tables", run.tables.keys() == wanted.keys(), run.tables.keys())
    for suffix, table in wanted.items():
        titles, got = table[0], run.tables.get(suffix, [[]])
        check(f"{name}: titles", got[0][:len(titles)] == titles, got[0])
        check(f"{name}: rows", len(got) >= len(table), len(got))
        for want, found in zip(table[1:], got[1:]):
            how = marks["rows"].get(want[0], {}).get("compare", "all")
            row = dict(zip(titles, want))
            for title, a, b in zip(titles, want, found):
                if title == "Err_message" or how != "all" and title == "Result" or how == "target columns" and not title.startswith("NPU"):
                    continue
                check(f"{name}: {want[0]} {title}", same(a, b, slack_of(title, row)), f"want {a!r}, got {b!r}")
        for mark in marks["rows"]:
            if marks["rows"][mark]["fault"] in ("F6", "F7", "F22"):
                check(f"{name}: {mark}", run.row(mark)["Result"] in ("unmatched", "error"), run.row(mark)["Result"])
    itself = Run(golden, golden)
    results = [row["Result"] for suffix in itself.tables for row in itself.rows(suffix)]
    check(f"{name}: against itself", results and set(results) == {"pass"} and itself.status == 0, (set(results), itself.status))
    check(f"{name}: against itself, no divergence", itself.json["first_divergence"] is None, itself.json["first_divergence"])
    if marks.get("swapped", True):
        back = Run(golden, target)
        one, two = (sum(row["Result"] != "pass" for suffix in r.tables for row in r.rows(suffix)) for r in (run, back))
        check(f"{name}: swapped", abs(one - two) <= 0.05 * max(one, two, 20), (one, two))
    return run


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def save(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f)
    return path


def unmatched(root):
    run = Run(dump_of(f"{root}/gpt_unmatched", "target"), dump_of(f"{root}/gpt_unmatched", "golden"), "--xlsx", "-da", "--report")
    check("unmatched: status", run.status == 1, run.status)
    row = run.row("Functional.gelu.1.forward.input.0")
    check("golden only", row["NPU Name"] == "N/A" and row["Result"] == "unmatched" and "target dump has no" in row["Err_message"], row)
    row = run.row("Tensor.transpose.0.forward.input.2")
    check("golden only argument", row["NPU Name"] == "N/A" and "has no input.2" in row["Err_message"], row)
    check(
        "backward by number",
        run.row("Functional.layer_norm.3.backward.input.0")["Bench Name"] == "Functional.layer_norm.3.backward.input.0",
    )
    check("one side NaN", "NaN or infinity on one side" in run.row("Functional.linear.6.forward.output.0")["Err_message"])
    summary = run.json["summary"]
    check("counted", summary["unmatched"] == sum(r["Result"] == "unmatched" for r in run.rows()) and summary["golden_only"] > 0, summary)
    check("summary printed", f"{summary['rows']} rows:" in run.out and "unmatched" in run.out, run.out)
    check("xlsx", run.sheet is not None and run.sheet.count("<row ") == len(run.rows()) + 1)
    check("files", any(f.startswith("diff_analyze_") for f in run.files) and any(f.endswith(".html") for f in run.files), run.files)
    check("module column", run.row("Functional.linear.0.forward.input.0")["Module"].startswith("Module."))
    origins = [origin["target"] for origin in run.json["divergence"]["origins"]]
    check("-da: calls", [call["op_name"] for call in run.analysis["rank_0"]] == origins, list(run.analysis))
    first = run.analysis["rank_0"][0]
    check("-da: rows", first["data_info"]["output"][0]["NPU Name"].startswith(first["op_name"]) and isinstance(first["stack_info"], list), first)
    same = dump_of(f"{root}/gpt_unmatched", "golden")
    check("-da: none", Run(same, same, "-da").analysis == {})


def stacks(root, work):
    pair = [dump_of(f"{root}/gpt_md5", side) for side in ("target", "golden")]
    check("stack off", "NPU_Stack_Info" not in Run(*pair, "--stack-mode", "off").tables[""][0])
    moved = shutil.copytree(os.path.dirname(pair[0]), f"{work}/no_stack")
    shutil.move(f"{moved}/stack.json", f"{work}/other.json")
    check("no stack file", "NPU_Stack_Info" not in Run(f"{moved}/dump.json", pair[1]).tables[""][0])
    check("stack required", Run(f"{moved}/dump.json", pair[1], "--stack-mode", "on").status == 2)
    given = Run(f"{moved}/dump.json", pair[1], "--stack-mode", "on", "--stack-json", f"{work}/other.json")
    check("stack given", given.rows()[0]["NPU_Stack_Info"].startswith("['File "))


def trees(root, work):
    for side in ("target", "golden"):
        for step in (0, 2):
            shutil.copytree(f"{root}/ranks/{side}", f"{work}/tree/{side}/step{step}")
    shutil.rmtree(f"{work}/tree/golden/step0/rank1")
    run = Run(f"{work}/tree/target", f"{work}/tree/golden")
    check("trees", sorted(run.tables) == ["_step0_rank0", "_step2_rank0", "_step2_rank1"], sorted(run.tables))
    check("left out", any("step 0, rank 1 has no counterpart" in text for text in run.json["left_out"]), run.json["left_out"])
    one = Run(f"{work}/tree/target/step2/rank1", f"{work}/tree/golden/step2/rank1")
    check("one rank", list(one.tables) == [""], one.tables.keys())
    save(f"{work}/tree/golden/step2/rank1/dump.json", {})
    broken = Run(f"{work}/tree/target/step2", f"{work}/tree/golden/step2")
    check("a broken rank", broken.status == 2 and list(broken.tables) == ["_rank0"], (broken.status, broken.tables.keys()))
    check("nothing in common", Run(f"{work}/tree/target/step0/rank1", f"{work}/tree/golden/step0").status in (0, 1, 2))


def tensor_files(root, work):
    for side in ("target", "golden"):
        shutil.copytree(f"{root}/gpt2_tensor/{side}", f"{work}/files/{side}")
    target = f"{work}/files/target"
    files = sorted(os.listdir(f"{target}/dump_tensor_data"))
    os.remove(f"{target}/dump_tensor_data/{files[0]}")
    with open(f"{target}/dump_tensor_data/{files[1]}", "r+b") as f:
        f.truncate(100)
    run = Run(f"{target}/dump.json", f"{work}/files/golden/dump.json", "-tensor_log")
    skipped = [row for row in run.rows() if row["Result"] == "skipped"]
    check(
        "damaged files",
        run.status == 1 and len(skipped) == 2 and all("target: " in row["Err_message"] for row in skipped),
        (run.status, skipped),
    )
    check("log of rows", "cosine " in run.err)
    data = load(f"{target}/dump.json")
    entry = next(e for e in data["data"].values() if e.get("output") and e["output"][0].get("data_name"))
    entry["output"][0]["data_name"] = "../../golden/dump.json"
    save(f"{target}/dump.json", data)
    check(
        "files outside",
        any(
            "Err_message" in row and "outside" in row["Err_message"] or ".." in row["Err_message"]
            for row in Run(f"{target}/dump.json", f"{work}/files/golden/dump.json").rows()
        ),
    )
    shutil.rmtree(f"{target}/dump_tensor_data")
    check("no tensor files", Run(f"{target}/dump.json", f"{work}/files/golden/dump.json").status == 2)


def bad_input(root, work):
    good = dump_of(f"{root}/gpt2_statistics", "golden")
    whole = load(good)
    with open(good, encoding="utf-8") as f:
        text = f.read()
    cases = {
        "empty": {**whole, "data": {}},
        "task": {**whole, "task": "structure"},
        "other_task": {**whole, "task": "tensor"},
        "framework": {**whole, "framework": "tensorflow"},
    }
    for name, value in cases.items():
        for pair in ((save(f"{work}/bad/{name}/dump.json", value), good), (good, f"{work}/bad/{name}/dump.json")):
            run = Run(*pair)
            check(f"bad input: {name}", run.status == 2 and run.complaint() and "Traceback" not in run.err, (run.status, run.err))
    with open(f"{work}/bad/cut.json", "w", encoding="utf-8") as f:
        f.write(text[:len(text) // 2])
    for pair in (
        (f"{work}/bad/cut.json", good),
        (f"{root}/gpt2_statistics/golden", good),
        (good, f"{work}/none.json"),
        (dump_of(f"{root}/gpt_md5", "golden"), good),
    ):
        run = Run(*pair)
        check(f"bad input: {pair[0]}", run.status == 2 and run.complaint(), (run.status, run.err))
    unpaired = {**whole, "data": {"Torch.other.0.forward": next(iter(whole["data"].values()))}}
    run = Run(save(f"{work}/bad/unpaired/dump.json", unpaired), good)
    check("nothing compared", run.status == 2 and "nothing was compared" in run.err, (run.status, run.err))
    broken = copy.deepcopy(whole)
    broken["data"][next(iter(broken["data"]))] = {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": 3}]}
    run = Run(save(f"{work}/bad/entry/dump.json", broken), good)
    check("a broken entry", run.status == 1 and run.rows()[0]["Result"] == "skipped", (run.status, run.rows()[:1]))
    only = {**whole, "data": dict(list(whole["data"].items())[5:])}
    run = Run(save(f"{work}/bad/less/dump.json", only), good)
    check("only unmatched rows", run.status == 0 and run.json["summary"]["golden_only"] > 0, run.json["summary"])
    nan = Run(good, None, "--nan")
    check("--nan", nan.status == 0 and nan.json is not None, (nan.status, nan.err))
    check("no golden", Run(good, None).status == 2)


def main():
    with tempfile.TemporaryDirectory(prefix="dump_compare_") as work:
        with tarfile.open(DATA) as archive:
            archive.extractall(f"{work}/data")
        root = f"{work}/data"
        for folder in sorted(glob.glob(f"{root}/*/")):
            recorded_tables(folder.rstrip("/"))
        unmatched(root)
        for part in (stacks, trees, tensor_files, bad_input):
            part(root, work)
    print(f"{len(FAILED)} failed")
    sys.exit(1 if FAILED else 0)


main()
