#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare --mode torchair over generated dumps of every layout, container and mode: every difference at its place, nothing else.

usage: torchair_check.py PROGRAM
"""

from __future__ import annotations

import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tools"))
import make_torchair_dump

FAULT = ["--fault", "Mul:scale=1.05"]


class Checks:
    def __init__(self, program: str, scratch: pathlib.Path):
        self.program, self.scratch, self.wrong, self.count = program, scratch, [], 0

    def check(self, name: str, condition: bool, what: object) -> None:
        self.count += 1
        if not condition:
            self.wrong.append(f"{name}: {what}")

    def make(self, name: str, options: list[str]) -> pathlib.Path:
        out = self.scratch / name
        make_torchair_dump.main([str(out), *options])
        return out

    def run(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)

    def compare(self, out: pathlib.Path, golden: str, *extra: str) -> tuple[subprocess.CompletedProcess, dict]:
        rows = out / "rows.json"
        result = self.run("compare", "--target_path", out / "msprobe_ge_dump", "--golden_path", out / golden, "-o", out / "result",
                          "--mode", "torchair", "--json", rows, *extra)
        return result, json.loads(rows.read_text()) if rows.exists() else {"rows": []}


KEY = ("rank", "graph", "token", "op", "side", "index")


def key(row: dict) -> tuple:
    return tuple(row[k] for k in KEY)


def check_rows(checks: Checks, name: str, out: pathlib.Path, golden: str, *extra: str) -> None:
    """Every row paired as expected, the differing ones and only they fail, the first of them is the first difference."""
    expected = json.loads((out / "expected.json").read_text())["rows"]
    result, got = checks.compare(out, golden, *extra)
    rows = {key(row): row for row in got["rows"]}
    checks.check(name, len(got["rows"]) == len(expected), f"{len(got['rows'])} rows, want {len(expected)}; {result.stderr[-300:]}")
    for want in expected:
        row = rows.get(key(want), {})
        checks.check(name, row.get("status") == "paired" and want["golden"] in row.get("golden", ""),
                     f"{key(want)}: {row.get('status')} {row.get('golden')} {row.get('reason')}, want {want['golden']}")
        if "verdict" in row and "max" not in row and "target_crc" not in row:
            checks.check(name, (row["verdict"] == "FAIL") == want["differs"], f"{key(want)}: {row['verdict']} {row.get('max_rel')}")
    first = next((row for row in expected if row["differs"]), None)
    found = got.get("first_difference")
    checks.check(name, (found and key(found)) == (first and key(first)), f"first difference {found}, want {first}")
    counts = {"rows": len(expected), "paired": len(expected), "unmatched": 0, "unreadable": 0}
    checks.check(name, counts.items() <= got.get("summary", {}).items(), got.get("summary"))
    checks.check(name, all("max_abs_at" in row for row in got["rows"] if "cosine" in row), "the place of every largest error")
    if "max" not in (got["rows"] or [{}])[0]:
        checks.check(name, result.returncode == (1 if first else 0), f"exit {result.returncode}")


CASES = {  # name: (options of the generator, golden path, options of the comparison)
    "new": ([*FAULT], "msprobe_fx_dump", []),
    "sound": ([], "msprobe_fx_dump", []),
    "high": ([*FAULT], "", []),
    "ranks_graphs_tokens": (
        ["--ranks", "0,1", "--graphs", "1,2,10", "--tokens", "0,3", *FAULT, "--fault-at", "1/10/3"],
        "msprobe_fx_dump",
        [],
    ),
    "710": (["--layout", "7.1.0", "--tokens", "0,1", *FAULT, "--fault-at", "0/1/1"], "msprobe_fx_dump/data_dump", []),
    "older": (["--layout", "older", "--graphs", "1,2", "--tokens", "0,1", *FAULT, "--fault-at", "0/2/0"], "data_dump", []),
    "older_ranks": (["--layout", "older", "--ranks", "0,1", *FAULT, "--fault-at", "1/1/0"], "data_dump", []),
    "very_old": (["--layout", "very_old", *FAULT], ".", []),
    "container_b": (["--container", "B", *FAULT], "msprobe_fx_dump", []),
    "container_c": (["--container", "C", *FAULT], "msprobe_fx_dump", []),
    "mixed": (["--container", "mixed", *FAULT], "msprobe_fx_dump", []),
    "float16": (["--dtype", "float16", *FAULT], "msprobe_fx_dump", []),
    "bfloat16": (["--dtype", "bfloat16", *FAULT], "msprobe_fx_dump", []),
    "device_layout": (["--format", "MatMul=FRACTAL_NZ", "--format", "Mul=FRACTAL_NZ", *FAULT], "msprobe_fx_dump", []),
    "not_a_number": (["--fault", "Sub:nan=3"], "msprobe_fx_dump", []),
    "zeroed": (["--fault", "Relu:zero"], "msprobe_fx_dump", []),
    "only_outputs": (["--dump-mode", "output", *FAULT], "msprobe_fx_dump", []),
    "only_inputs": (["--dump-mode", "input", *FAULT], "msprobe_fx_dump", []),
    "statistics_files": (["--container", "csv", *FAULT], "msprobe_fx_dump", []),
    "converted": (["--container", "min_max", *FAULT], "msprobe_fx_dump", []),
    "converted_off": (["--container", "min_max", "--reference", "fusion_off", *FAULT], "fusion_off/msprobe_ge_dump", []),
    "fusion_off": (["--reference", "fusion_off", *FAULT], "fusion_off/msprobe_ge_dump", []),
    "fusion_off_nano": (["--reference", "fusion_off", "--container", "B", "--layout", "older", *FAULT], "fusion_off/msprobe_ge_dump", []),
    "md5": ([*FAULT], "msprobe_fx_dump", ["--data-mode", "md5"]),
    "threads": (
        ["--slices", "Mul=0:3", "--slices", "Sub=1:2", "--slices", "ArgMaxWithValue=0:6", "--slices", "layers.0/Abs=1:7", *FAULT],
        "msprobe_fx_dump",
        [],
    ),
    "manual_slices": (
        ["--slices", "Mul=1:5:manual", "--slices", "AddRelu=0:2:manual", "--slices", "layers.0/Abs=0:4:manual", *FAULT],
        "msprobe_fx_dump",
        [],
    ),
    "uncut_slices": (["--slices", "Mul=-:3", *FAULT], "msprobe_fx_dump", []),
    "slices_single_message": (["--slices", "Mul=1:3", "--container", "C", "--dtype", "bfloat16", *FAULT], "msprobe_fx_dump", []),
    "slices_tokens": (["--slices", "Mul=1:3", "--ranks", "0,1", "--tokens", "0,1", *FAULT, "--fault-at", "1/1/1"], "msprobe_fx_dump", []),
    "slices_off": (
        ["--slices", "Mul=1:3", "--golden-slices", "Mul=0:2", "--golden-slices", "Relu=1:2:manual", "--reference", "fusion_off", *FAULT],
        "fusion_off/msprobe_ge_dump",
        [],
    ),
    "slices_md5": (["--slices", "Mul=1:3", *FAULT], "msprobe_fx_dump", ["--data-mode", "md5"]),
    "slices_statistics_files": (["--slices", "Mul=1:3", "--container", "csv", *FAULT], "msprobe_fx_dump", []),
    "slices_converted": (["--slices", "Mul=0:3", "--slices", "Sub=1:2:manual", "--container", "min_max", *FAULT], "msprobe_fx_dump", []),
}


def check_slices(checks: Checks) -> None:
    """A wrong element of a known slice is found at its place in the whole; slices that do not belong together are said."""
    for axis, element in ((0, 0), (0, 89), (1, 33), (1, 44)):  # of 6 x 15
        out = checks.make(f"slice_{axis}_{element}", ["--slices", f"layers.0/Abs={axis}:4", "--fault", f"layers.0/Abs:bump={element}"])
        _, got = checks.compare(out, "msprobe_fx_dump")
        failed = [row for row in got["rows"] if row["verdict"] == "FAIL"]
        checks.check(f"slice {axis}", len(failed) == 1 and failed[0]["max_abs_at"] == element and failed[0]["op"] == "layers.0/Abs", failed)
    out = checks.make("unknown_inputs", ["--slices", "Mul=0:2:unknown_inputs"])
    result, got = checks.compare(out, "msprobe_fx_dump")
    rows = {key(row)[3:]: row for row in got["rows"]}
    checks.check(
        "unknown inputs",
        rows[("Mul", "input", 0)]["status"] == "unmatched"
        and "not recorded" in rows[("Mul", "input", 0)]["reason"]
        and rows[("Mul", "output", 0)]["verdict"] == "PASS"
        and result.returncode == 0,
        rows[("Mul", "input", 0)],
    )

    out = checks.make("broken_slices", ["--slices", "Mul=1:3"])
    rows_before = len(json.loads((out / "expected.json").read_text())["rows"])
    slices = sorted((out / "msprobe_ge_dump").rglob("Mul.Mul.*"))
    whole = [slice.read_bytes() for slice in slices]
    other_shape = checks.make("other_slices", ["--slices", "Mul=0:3"])
    other = sorted((other_shape / "msprobe_ge_dump").rglob("Mul.Mul.*"))[1].read_bytes()
    json_at = whole[0].index(b'{"threadMode')
    damages = {
        "missing": (None, "2 of 3 slices"), "cut": (whole[1][:-1], "ends in the middle"), "empty": (b"", "is empty"),
        "another shape": (other, "do not fit"),
        "no JSON": (whole[1], "not a JSON object"), "another form": (whole[1], "not in the known form"),
    }
    for name, (content, reason) in damages.items():
        for slice, sound in zip(slices, whole):
            slice.write_bytes(sound)
        slices[1].unlink() if content is None else slices[1].write_bytes(content)
        if name == "no JSON":
            slices[0].write_bytes(whole[0][:json_at] + b"[" + whole[0][json_at + 1:])
        if name == "another form":
            slices[0].write_bytes(whole[0].replace(b'"slice_instance_num": 3', b'"slice_instance_num":[]'))
        result, got = checks.compare(out, "msprobe_fx_dump")
        lost = [row for row in got["rows"] if row["op"] == "Mul" and row["status"] == "unreadable"]
        checks.check(f"slices, {name}", result.returncode == 1 and len(got["rows"]) == rows_before and lost
                     and all(reason in row["reason"] for row in lost), lost or [r for r in got["rows"] if r["op"] == "Mul"])
        wanted = 1 if name == "another shape" else 2  # its input is read by ranges and does not fit either
        checks.check(f"slices, {name}", len(lost) >= wanted and all(r["status"] == "paired" for r in got["rows"] if r["op"] != "Mul"), lost)


def check_damage(checks: Checks, out: pathlib.Path) -> None:
    """A file cut at every byte, and mutated: its tensors are rows that say why, every other row is as before."""
    expected = json.loads((out / "expected.json").read_text())["rows"]
    directory = next((out / "msprobe_ge_dump").glob("*/*/*/*/*/*"))
    victim = next(directory.glob("ArgMaxWithValue.*"))
    whole = victim.read_bytes()
    step = max(1, len(whole) // 40)
    for size in [*range(0, len(whole), step), len(whole) - 1]:
        victim.write_bytes(whole[:size])
        result, got = checks.compare(out, "msprobe_fx_dump")
        lost = [row for row in got["rows"] if row["op"] == "ArgMaxWithValue"]
        checks.check(f"cut at {size}", result.returncode == 1, f"exit {result.returncode}: {result.stderr[-200:]}")
        checks.check(f"cut at {size}", len(got["rows"]) == len(expected), f"{len(got['rows'])} rows, want {len(expected)}")
        checks.check(f"cut at {size}", len(lost) == 4 and all(r["status"] == "unreadable" and r["reason"] for r in lost), lost[:1])
    for place in range(0, len(whole), max(1, len(whole) // 25)):
        victim.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1:])
        result, got = checks.compare(out, "msprobe_fx_dump")
        checks.check(
            f"mutated at {place}",
            result.returncode in (0, 1) and len({key(r) for r in got["rows"]} & {key(r) for r in expected}) >= 19,
            f"exit {result.returncode}, {len(got['rows'])} rows: {result.stderr[-200:]}",
        )
    victim.write_bytes(whole)


def check_damaged_argument(checks: Checks) -> None:
    """A reference that cannot be read is said, wherever it was wanted."""
    out = checks.make("damaged_argument", [])
    expected = json.loads((out / "expected.json").read_text())["rows"]
    for victim in sorted((out / "msprobe_fx_dump").rglob("*.npy")):
        content = victim.read_bytes()
        victim.write_bytes(b"")
        _, got = checks.compare(out, "msprobe_fx_dump")
        rows = {key(row): row for row in got["rows"]}
        wanted = [rows[key(row)] for row in expected if victim.name in row["golden"]]
        checks.check(
            "damaged argument",
            all(row["status"] != "paired" and victim.name in row["reason"] + row.get("golden", "") for row in wanted),
            [row for row in wanted if row["status"] == "paired"] or wanted,
        )
        victim.write_bytes(content)


def check_stacks(checks: Checks, out: pathlib.Path) -> None:
    """Stack Info: where the FX node comes from, if the graph is there as Python too."""
    text = next((out / "msprobe_ge_dump").glob("dynamo_original_graph_*.txt"))
    python = text.with_suffix(".py")
    python.write_text('# File "model.py", line 7\nmul = ge.Mul(mm, scale, node_name="mul")\n')
    checks.run("compare", "-tp", out / "msprobe_ge_dump", "-gp", out / "msprobe_fx_dump", "-m", "torchair", "-o", out / "stacks")
    python.unlink()
    rows = list(csv.DictReader(next((out / "stacks").glob("*.csv")).open(encoding="utf-8-sig", newline="")))
    cells = {row["API Name"].split(".")[0]: row["Stack Info"] for row in rows}
    checks.check("Stack Info", cells["Mul"] == 'File "model.py", line 7' and {cell for name, cell in cells.items() if name != "Mul"} == {"N/A"},
                 cells)


def check_tables(checks: Checks, out: pathlib.Path) -> None:
    shutil.rmtree(out / "result", ignore_errors=True)
    result, got = checks.compare(out, "msprobe_fx_dump", "--xlsx")
    table = next((out / "result").glob("msprobe_cmp_report_*.csv"))
    rows = list(csv.DictReader(table.open(encoding="utf-8-sig", newline="")))
    checks.check("csv", len(rows) == len(got["rows"]), f"{len(rows)} rows")
    titles = ["API Name", "Stack Info", "Data Name", "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio",
              "Five Thousandth Err Ratio", "Requires_grad Consistent", "Result", "Accuracy Reached or Not", "Err_message"]
    checks.check("csv", list(rows[0])[: len(titles)] == titles, list(rows[0]))
    for row, wanted in zip(rows, got["rows"]):
        checks.check("csv", row["Result"] == wanted["verdict"] and abs(float(row["Cosine"]) - wanted["cosine"]) < 1e-12, row)
        data = f"[{wanted['file']}.{wanted['side']}.{wanted['index']}, {wanted['golden']}]"
        checks.check("Data Name", row["Data Name"] == data, f"{row['Data Name']}, wanted {data}")
        checks.check("API Name", row["API Name"] == f"{wanted['op']}.{wanted['side']}.{wanted['index']}", row["API Name"])
    check_stacks(checks, out)
    book = next((out / "result").glob("*.xlsx"))
    sheet = zipfile.ZipFile(book).read("xl/worksheets/sheet1.xml").decode()
    checks.check("xlsx", sheet.count("<row ") == len(rows) + 1, sheet.count("<row "))
    styles = zipfile.ZipFile(book).read("xl/styles.xml").decode()
    checks.check("xlsx", all(colour in styles for colour in ("FFFF0000", "FFC6EFCE")), "red and green")
    checks.check("summary", "first difference  Mul.output.0" in result.stdout, result.stdout)
    shutil.rmtree(out / "result")
    _, got = checks.compare(out, "msprobe_fx_dump", "--xlsx", "--data-mode", "md5")
    sheet = zipfile.ZipFile(next((out / "result").glob("*.xlsx"))).read("xl/worksheets/sheet1.xml").decode()
    checks.check("xlsx", all(f">{row[side]}</t>" in sheet for row in got["rows"] for side in ("target_crc", "golden_crc")), "CRCs are text")


def check_names(checks: Checks) -> None:
    """Runs of the same second do not overwrite each other's tables."""
    out = checks.make("names", ["--ranks", "0,1"])
    for rank in ("0", "1", "1", "1"):
        checks.compare(out, "msprobe_fx_dump", "--rank", rank)
    tables = [table.name for table in (out / "result").iterdir()]
    checks.check("names", len(tables) == 4 and sum("_rank1_" in name for name in tables) == 3, tables)


def check_convert(checks: Checks, scratch: pathlib.Path) -> None:
    """Converted dumps compare as the arrays they came from; a damaged original stays."""
    out = checks.make("to_convert", FAULT)
    directory = next((out / "msprobe_ge_dump").glob("*/*/*/*/*/*"))
    broken = directory / "Cut.Cut.1.2.1755558790000000"
    broken.write_bytes(b"\x49\0\0\0\0\0\0\0\x0a")
    for part in ("msprobe_ge_dump", "msprobe_fx_dump"):
        result = checks.run("convert_info", out / part)
        checks.check("convert", result.returncode == (1 if part == "msprobe_ge_dump" else 0), result.stderr)
    checks.check("convert", broken.exists() and "not converted: " not in result.stderr, "the damaged file is gone")
    broken.unlink()
    left = [f.name for f in out.rglob("*") if f.is_file() and "min_max" not in f.name]
    checks.check("convert", all(n.endswith((".txt", ".json")) for n in left), left)
    check_rows(checks, "convert", out, "msprobe_fx_dump")


def check_watch(checks: Checks, scratch: pathlib.Path) -> None:
    """Beside a writer: a file that grows is taken when it is whole."""
    import signal
    import time
    out = checks.make("watched", [])
    source = next((out / "msprobe_ge_dump").rglob("MatMul.MatMul.*"))
    content = source.read_bytes()
    source.write_bytes(content[:50])
    process = subprocess.Popen([checks.program, "convert_info", str(out / "msprobe_ge_dump"), "--watch"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        deadline = time.time() + 400
        others = lambda: [f for f in source.parent.iterdir() if "min_max" not in f.name and f != source]
        while others() and time.time() < deadline:
            time.sleep(0.1)
        checks.check("watch", source.exists() and not others(), "whole files first, the half one stays")
        source.write_bytes(content)
        while source.exists() and time.time() < deadline:
            time.sleep(0.1)
        checks.check("watch", not source.exists() and pathlib.Path(f"{source}_min_max.npz").exists(), "the finished file is converted")
    finally:
        process.send_signal(signal.SIGINT)
        checks.check("watch", process.wait(200) == 0, "ends at Ctrl-C")


def check_kills(checks: Checks) -> None:
    """Killed at any time: an original is there, or its whole info file; at the end all are converted, once, and compare as before."""
    import random
    out = checks.make("killed", ["--tokens", "0,1,2", *FAULT])
    names = {f for part in ("msprobe_ge_dump", "msprobe_fx_dump") for f in (out / part).rglob("*") if f.is_file() and f.suffix != ".txt"}
    random.seed(7)
    for _ in range(12):
        process = subprocess.Popen([checks.program, "convert_info", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(random.uniform(0.002, 0.03))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for original in names:
            info = (
                pathlib.Path(f"{original}_min_max.npz") if original.suffix != ".npy" else original.with_name(f"{original.stem}_min_max.npy")
            )
            if original.exists():
                continue
            whole = info.exists() and (info.suffix == ".npy" or zipfile.ZipFile(info).testzip() is None)
            checks.check("kill", whole, f"{original.name}: neither it nor its info file")
    checks.check("kill", checks.run("convert_info", out).returncode == 0, "the rest is converted")
    left = [f.name for f in out.rglob("*") if f.is_file() and "_min_max" not in f.name and f.suffix not in (".txt", ".json")]
    checks.check("kill", not left and not list(out.rglob("*.partial")), left)
    check_rows(checks, "kill", out, "msprobe_fx_dump")


def check_kept(checks: Checks) -> None:
    """Info files beside their originals: the originals are compared."""
    out = checks.make("kept", ["--slices", "Mul=0:2", *FAULT])
    checks.check("keep", checks.run("convert_info", out, "--keep").returncode == 0, "converted")
    check_rows(checks, "keep", out, "msprobe_fx_dump")
    _, got = checks.compare(out, "msprobe_fx_dump")
    checks.check("keep", all("cosine" in row for row in got["rows"]), "real data")


def check_repeated(checks: Checks) -> None:
    """Operators that ran twice in one token: each execution with its own run."""
    out = checks.make("repeated", ["--slices", "Mul=0:2"])
    other = checks.make("repeated_other", ["--seed", "2", "--slices", "Mul=0:2", *FAULT])
    for part in ("msprobe_ge_dump", "msprobe_fx_dump"):
        target = next(d for d in sorted((out / part).rglob("0")) if any(f.is_file() for f in d.iterdir()))
        for file in next(d for d in sorted((other / part).rglob("0")) if any(f.is_file() for f in d.iterdir())).iterdir():
            name = file.name.replace(".1755558790", ".1755558799").replace(".20250818231440", ".20250818231499")
            shutil.copyfile(file, target / name)
    # The second slice of the first execution ends while the second execution runs.
    late = next(f for f in (out / "msprobe_ge_dump").rglob("Mul.Mul.*.1.0") if ".1755558790" in f.name)
    late.rename(late.with_name(late.name.replace(".1755558790000300.", ".1755558799000301.")))
    second_late = next(f for f in (out / "msprobe_ge_dump").rglob("Mul.Mul.*.1755558799000300.*.1.0"))
    second_late.rename(second_late.with_name(second_late.name.replace(".1755558799000300.", ".1755558799000302.")))
    _, got = checks.compare(out, "msprobe_fx_dump")
    expected = json.loads((out / "expected.json").read_text())["rows"]
    failing = json.loads((other / "expected.json").read_text())["rows"]
    checks.check("repeated", len(got["rows"]) == 2 * len(expected), len(got["rows"]))
    for row in got["rows"]:
        second = ".1755558799" in row["file"]
        want = next(r for r in (failing if second else expected) if key(r) == key(row))
        checks.check("repeated", row["status"] == "paired" and (".20250818231499" in row["golden"]) == second
                     and (row["verdict"] == "FAIL") == want["differs"], row)


def check_places(checks: Checks) -> None:
    """Links count as what they lead to, circles end; a dump that was moved out of its directory of the dump time is one."""
    out = checks.make("linked", ["--ranks", "0,1", *FAULT])
    for number, directory in enumerate(sorted((out / "msprobe_ge_dump").glob("worldsize*"))):
        (directory / "up").symlink_to(out)
        directory.rename(out / f"moved_{number}")
        directory.symlink_to(out / f"moved_{number}")
    for number, file in enumerate(sorted((out / "msprobe_fx_dump").rglob("*.npy"))):
        file.rename(out / f"array_{number}")
        file.symlink_to(out / f"array_{number}")
    check_rows(checks, "links", out, "msprobe_fx_dump")
    token = next((out / "moved_0").glob("*/*/*/*/*"))
    (token / "Gone.Gone.1.2.1755558790000000").symlink_to(out / "nowhere")
    result, got = checks.compare(out, "msprobe_fx_dump")
    lost = [row for row in got["rows"] if row["op"] == "Gone"]
    checks.check("a link to nothing", result.returncode == 1 and [row["status"] for row in lost] == ["unreadable"], lost)

    out = checks.make("moved", ["--ranks", "0,1", "--tokens", "0,3", *FAULT])
    for device in (out / "msprobe_ge_dump").glob("worldsize*/*/*"):
        device.rename(device.parent.parent / device.name)
    check_rows(checks, "moved", out, "msprobe_fx_dump")


def check_two_dumps(checks: Checks) -> None:
    """"Specify different dump paths for two FX dump operations": where nobody did, the newest is compared, and it is said."""
    for name, layout, golden in (("older", "older", "data_dump"), ("710", "7.1.0", "msprobe_fx_dump/data_dump"),
                                 ("new", "new", "msprobe_fx_dump")):
        out = checks.make(f"two_{name}", ["--layout", layout])
        earlier = checks.make(f"two_{name}_earlier", ["--layout", layout, "--seed", "2"])
        for file in (earlier / golden).rglob("*.npy"):
            place = file.relative_to(earlier / golden)
            place = pathlib.Path(str(place).replace("gm_2025", "gm_2024").replace(".20250818", ".20240818"))
            (out / golden / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, out / golden / place)
        result, got = checks.compare(out, golden)
        checks.check(f"two dumps, {name}", "two dumps in one directory" in result.stderr, result.stderr[-500:])
        checks.check(f"two dumps, {name}", result.returncode == 0 and got["rows"]
                     and all(row["verdict"] != "FAIL" for row in got["rows"]), result.stdout[-500:])


def check_two_dumps_one_stopped_early(checks: Checks) -> None:
    """Two FX dumps of the newest layout, one of them without its last nodes: the newest is compared, and nothing of the older one."""
    for name, cut_earlier in (("earlier", True), ("later", False)):
        out = checks.make(f"two_new_{name}_stopped", [])
        earlier = checks.make(f"two_new_{name}_stopped_earlier", ["--seed", "2"])
        fx = out / "msprobe_fx_dump"
        older = [(file, fx / str(file.relative_to(earlier / "msprobe_fx_dump")).replace(".20250818", ".20240818"))
                 for file in sorted((earlier / "msprobe_fx_dump").rglob("*.npy"))]
        files = [file for file, _ in older] if cut_earlier else sorted(fx.rglob("*.npy"))
        # The later half of the nodes of each directory, in order of time.
        for directory in {file.parent for file in files}:
            nodes = sorted({file.name.split(".")[-2] for file in directory.glob("*.npy")})
            for file in directory.glob("*.npy"):
                if file.name.split(".")[-2] in nodes[len(nodes) // 2:]:
                    file.unlink()
        for file, place in older:
            if file.exists():
                shutil.copyfile(file, place)
        result, got = checks.compare(out, "msprobe_fx_dump")
        checks.check(f"two dumps, {name} stopped", "two dumps in one directory" in result.stderr, result.stderr[-500:])
        checks.check(f"two dumps, {name} stopped", ("which lacks" in result.stderr) != cut_earlier, result.stderr[-500:])
        paired = [row for row in got["rows"] if row["status"] == "paired"]
        checks.check(f"two dumps, {name} stopped", paired and (len(paired) == len(got["rows"])) == cut_earlier, len(paired))
        checks.check(
            f"two dumps, {name} stopped", all(".20250818" in row["golden"] and row["verdict"] != "FAIL" for row in paired), paired[:2]
        )


def check_rank_directories(checks: Checks) -> None:
    """worldsize<W>_rank<N> names a rank too; two dumps that nothing tells apart are asked about, never merged."""
    ranks = ["--ranks", "0,1", *FAULT, "--fault-at", "1/1/0"]

    def renamed(name: str, of_rank: dict[str, str]) -> pathlib.Path:
        out = checks.make(name, ranks)
        for part in ("msprobe_ge_dump", "msprobe_fx_dump"):
            for old, new in of_rank.items():
                (out / part / f"worldsize2_global_{old}").rename(out / part / new)
        return out

    out = renamed("short_rank_names", {"rank0": "worldsize2_rank0", "rank1": "worldsize2_rank1"})
    check_rows(checks, "worldsize2_rank1", out, "msprobe_fx_dump")
    shutil.copytree(out / "msprobe_ge_dump", out / "copy")
    result, got = checks.compare(out, "copy")
    checks.check("a dump and its copy", result.returncode == 0 and got["summary"]["fail"] == 0
                 and {row["rank"] for row in got["rows"]} == {0, 1}, result.stdout[-500:])
    result = checks.run("compare", "-tp", out / "msprobe_ge_dump", "-gp", out / "copy", "-o", out / "result", "--rank", "7")
    checks.check("no such rank", result.returncode == 2 and "there is no rank 7 (--rank); the ranks here: 0, 1" in result.stderr,
                 result.stderr)

    unnamed = checks.make("no_rank_names", ["--layout", "older"])
    result = checks.run("compare", "-tp", unnamed / "msprobe_ge_dump", "-gp", unnamed / "data_dump", "-o", unnamed / "result", "--rank", "7")
    checks.check("no directory names a rank", result.returncode == 0 and " 0 fail" in result.stdout
                 and "--rank 7 has no effect: no directory names a rank" in result.stderr, result.stderr)

    asked = "two dumps are in this directory, and nothing says which one is meant"
    good = checks.make("two_kinds_good", ranks)
    for name, of_rank in (("two kinds of names", {"rank1": "worldsize2_rank1"}), ("a name and none", {"rank0": "."}),
                          ("one rank twice", {"rank1": "worldsize2_rank0"}), ("unknown names", {"rank0": "first", "rank1": "second"})):
        out = checks.make(name.replace(" ", "_"), ranks)
        for part in ("msprobe_ge_dump", "msprobe_fx_dump"):
            for old, new in of_rank.items():
                directory = out / part / f"worldsize2_global_{old}"
                if new != ".":
                    directory.rename(out / part / new)
                    continue
                for child in directory.iterdir():
                    child.rename(out / part / child.name)
                directory.rmdir()
        target = checks.run("compare", "-tp", out / "msprobe_ge_dump", "-gp", good / "msprobe_fx_dump", "-o", out / "result")
        golden = checks.run("compare", "-tp", good / "msprobe_ge_dump", "-gp", out / "msprobe_fx_dump", "-o", out / "result")
        for result in (target, golden):
            checks.check(name, result.returncode == 2 and asked in result.stderr, (result.returncode, result.stderr[-500:]))


def check_statistics_within(checks: Checks, out: pathlib.Path) -> None:
    """A difference of statistics above 1 % and within --stat-limit is the first difference, and passes."""
    result = checks.run("compare", "-tp", out / "msprobe_ge_dump", "-gp", out / "msprobe_fx_dump", "-o", out / "within", "-m", "torchair")
    checks.check("within the limit", result.returncode == 0 and "first difference (within the limit)  " in result.stdout, result.stdout)
    result = checks.run("compare", "-tp", out / "msprobe_ge_dump", "-gp", out / "msprobe_fx_dump", "-o", out / "beyond", "-m", "torchair",
                        "--stat-limit", "0.02")
    checks.check("beyond the limit", result.returncode == 1 and "first difference  " in result.stdout, result.stdout)


def check_refusals(checks: Checks, out: pathlib.Path) -> None:
    ge, fx = out / "msprobe_ge_dump", out / "msprobe_fx_dump"
    (ge / "empty").mkdir()
    for name, arguments, text in (
        ("unknown mode", ["-tp", ge, "-gp", fx, "-m", "other"], "mode"),
        ("swapped", ["-tp", fx, "-gp", ge, "-m", "torchair"], f"swap the two paths: --target_path {ge} --golden_path {fx}"),
        ("FX twice", ["-tp", fx, "-gp", fx.parent, "-m", "torchair"], "--target_path takes the GE dump"),
        ("nothing", ["-tp", ge / "empty", "-gp", fx, "-m", "torchair"], "name the directory that a GE dump was written to"),
        ("no such path", ["-tp", ge, "-gp", out / "missing", "-m", "torchair"], "does not exist"),
        ("same path", ["-tp", ge, "-gp", ge, "-m", "torchair"], "same directory"),
        ("rank", ["-tp", ge, "-gp", fx, "-m", "torchair", "--rank", "-1"], "--rank: -1 must be 0 or more"),
        ("json", ["-tp", ge, "-gp", fx, "-m", "torchair", "-o", out / "result", "--json", out], "--json needs the name of a file"),
        ("option", ["-tp", ge, "-gp", fx, "-m", "torchair", "--data-mode", "x"], "data-mode"),
    ):
        result = checks.run("compare", *arguments)
        checks.check(name, result.returncode == 2 and text in result.stderr, result.stderr)
    given, forgotten = (checks.run("compare", "-tp", ge, "-gp", fx, "-o", out / "mode", *mode) for mode in (("-m", "torchair"), ()))
    checks.check(
        "forgotten mode", (given.returncode, given.stdout) == (forgotten.returncode, forgotten.stdout) and given.stdout, forgotten.stderr
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(sys.argv[1], pathlib.Path(scratch))
        for name, (options, golden, extra) in CASES.items():
            check_rows(checks, name, checks.make(name, options), golden, *extra)
        check_slices(checks)
        check_damage(checks, checks.make("damage", []))
        check_damaged_argument(checks)
        check_tables(checks, pathlib.Path(scratch) / "new")
        check_names(checks)
        check_convert(checks, pathlib.Path(scratch))
        check_watch(checks, pathlib.Path(scratch))
        check_kills(checks)
        check_kept(checks)
        check_repeated(checks)
        check_places(checks)
        check_two_dumps(checks)
        check_two_dumps_one_stopped_early(checks)
        check_rank_directories(checks)
        check_statistics_within(checks, pathlib.Path(scratch) / "statistics_files")
        check_refusals(checks, pathlib.Path(scratch) / "new")
    for text in checks.wrong[:40]:
        print(text)
    print(f"{checks.count - len(checks.wrong)} of {checks.count} right")
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
