#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the n-th system call of a command fail, and look at what is left: the status, the files, the messages.

usage: fault_check.py PROGRAM LIBRARY FAKE_ENGINE [--engine ENGINE] [--python PACKAGE]
                      [--points N] [--only COMMAND...] [--call CALL...] [--list]

For every command, one run without a fault says what must come out. Then the command runs again and again, each time with one fault: an
open, read, write, rename, fsync, mmap, ftruncate, mkdir, stat or listing of a file of the test fails (no space, an error of the disk, no
memory), is interrupted, takes half of the bytes, or a signal ends the program there. LIBRARY (fault_library.cc) does that. After each:
  - the status is that of the run without a fault, and then every file and the output are as without it; or it is 2, with a message.
    1 where a call was lost for it is fine too;
  - every output is as it should be, or not there; a CSV that grows may end after any row;
  - no other file is left, and no input changed. SIGKILL may leave files *.partial.
--points N tries N calls of each kind, spread over the run (default 4); 0 tries each of them, which takes an hour or two.
With --engine, the commands that need LibTorch are tried too; with --python, the recorder in a training of PyTorch.
"""
import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
EIO, EINTR, ENOMEM, ENOSPC, HALF = 5, 4, 12, 28, 0
FOREVER = 1 << 40
# Call, error, how many in a row.
FAULTS = [("open", EIO, 1), ("read", EIO, 1), ("read", EINTR, 1), ("read", HALF, FOREVER), ("write", ENOSPC, FOREVER), ("write", EIO, 1),
          ("write", EINTR, 1), ("write", HALF, FOREVER), ("rename", EIO, 1), ("sync", EIO, 1), ("sync", EINTR, 1), ("map", ENOMEM, 1),
          *((call, -number, 1) for number in (signal.SIGKILL, signal.SIGTERM) for call in ("open", "write", "rename")),
          ("truncate", EIO, 1), ("list", EIO, 1), ("mkdir", ENOSPC, 1), ("stat", EIO, 1)]
NAMES = {EIO: "EIO", EINTR: "EINTR", ENOMEM: "ENOMEM", ENOSPC: "ENOSPC", HALF: "half",
         -signal.SIGKILL: "SIGKILL", -signal.SIGTERM: "SIGTERM"}
STAMP = re.compile(rb"20\d{12}(_\d+)?")
TIMES = re.compile(rb"20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?|\(\d+\)|\b\d+(\.\d+)? (m?s|min|calls/s)\b|\"seconds\": ?[\d.e-]+")
GROWS = re.compile(r"accuracy_checking_(result|details|maps|run)")
LESS = re.compile(rb"WARNING\] (no arguments and stacks in the report|some calls are shown without|the report shows no (commands|error maps)"
                  rb"|\S+/(stack|construct|call_sites)\.json: )")
# A journal of SQLite belongs to a database that was being written; the next one who opens it needs it.
LEFT_BY = {-signal.SIGKILL: (".partial", ".db-journal"), -signal.SIGTERM: (".db-journal",)}
BY_CHANCE = re.compile(r"device\w+_STAMP/")  # which device took which call


def plain(content):
    return TIMES.sub(b"TIME", STAMP.sub(b"STAMP", content))


def statistics(shape, value):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape, "Max": value, "Min": -1.0, "Mean": 0.5, "Norm": 2.0,
            "requires_grad": False}


def dump(calls, value=1.0):
    entry = {"input_args": [statistics([2, 3], value)], "input_kwargs": {}, "output": [statistics([2, 3], 2 * value)]}
    return json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                       "data": {f"Torch.{name}.{i}.forward": entry for i, name in enumerate(calls)}})


class Fault:
    def __init__(self, call="open", error=0, count=0, at=0):
        self.call, self.error, self.count, self.at = call, error, count, at

    def __str__(self):
        return f"{self.call} {self.at}: {NAMES[self.error]}"


class Checks:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.work, self.fresh = scratch / "work", scratch / "fresh"
        self.count = scratch / "count"
        self.fresh.mkdir()
        self.work.mkdir()
        self.failures, self.runs = [], 0

    def run(self, words, fault, program=""):
        """`program`: which one the fault is in, msprobe where it is empty. In a work directory that is as it was at the start; the process that ended and how many calls of the kind it made."""
        self.restore()
        self.count.write_bytes(bytes(8))
        environment = dict(os.environ, LD_PRELOAD=str(self.options.library), FAULT_PROGRAM=program or self.options.program.name,
                           FAULT_DIRECTORY=str(self.work), FAULT_CALL=fault.call, FAULT_AT=str(fault.at), FAULT_FOR=str(fault.count),
                           FAULT_ERROR=str(fault.error), FAULT_COUNT=str(self.count), MSPROBE_ENGINE=str(self.options.fake),
                           MSPROBE_FAKE_DIRECTORY=str(self.scratch), MSPROBE_CONFIG="", TMPDIR=str(self.scratch))
        self.runs += 1
        done = subprocess.run([self.options.program, *words], cwd=self.work, env=environment, capture_output=True, timeout=300)
        return done, int.from_bytes(self.count.read_bytes(), "little")

    def restore(self):
        """The work directory as it was at the start: what a run made is removed, what it took or changed comes back."""
        for path in sorted(self.work.rglob("*"), reverse=True):
            if (self.fresh / path.relative_to(self.work)).exists():
                continue
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for path in sorted(self.fresh.rglob("*")):
            to = self.work / path.relative_to(self.fresh)
            if path.is_dir():
                to.mkdir(parents=True, exist_ok=True)
            elif not to.exists() or (to.stat().st_size, to.stat().st_mtime_ns) != (path.stat().st_size, path.stat().st_mtime_ns):
                shutil.copy2(path, to)

    def files(self):
        """What is in the work directory, by name with its time masked."""
        found = {}
        for path in sorted(self.work.rglob("*")):
            if path.is_file() or path.is_symlink():
                found[plain(str(path.relative_to(self.work)).encode()).decode()] = path
        return found

    def case(self, name, *words, program="", faults=FAULTS):
        """The command, and every fault in it."""
        if self.options.only and not any(name.startswith(only) for only in self.options.only):
            return
        wanted, _ = self.run(words, Fault(), program)
        if wanted.returncode not in (0, 1):
            self.failures.append(f"{name}: without a fault: {wanted.returncode} {wanted.stderr.decode()[-300:]}")
            return
        inputs = {plain(str(path.relative_to(self.fresh)).encode()).decode(): path.read_bytes()
                  for path in self.fresh.rglob("*") if path.is_file()}
        outputs = {at: content_of(path) for at, path in self.files().items() if inputs.get(at) != path.read_bytes()}
        gone = set(inputs) - set(self.files())
        tried = 0
        counted = {}
        for call, error, count in faults:
            if self.options.call and call not in self.options.call:
                continue
            if call not in counted:
                counted[call] = self.run(words, Fault(call), program)[1]
            for at in points(counted[call], self.options.points):
                fault = Fault(call, error, count, at)
                try:
                    done, _ = self.run(words, fault, program)
                except subprocess.TimeoutExpired:
                    self.failures.append(f"{name}: {fault}: no end")
                    continue
                tried += 1
                problem = self.problem(fault, done, wanted, inputs, outputs, gone, program)
                if problem:  # threads and clocks differ from run to run: what is wrong is wrong again
                    done, _ = self.run(words, fault, program)
                    problem = self.problem(fault, done, wanted, inputs, outputs, gone, program)
                if problem:
                    self.failures.append(f"{name}: {fault}: {problem}; said: {done.stderr.decode(errors='replace').strip()[-300:]}")
                    if self.options.list:
                        print("  " + self.failures[-1], flush=True)
        print(f"{name}: {tried} faults, calls {counted}, {len(outputs)} outputs", flush=True)

    def problem(self, fault, done, wanted, inputs, outputs, gone, program):
        status = done.returncode
        if fault.error < 0 and status == fault.error:
            status = 2
        elif status not in (0, 1, 2):
            return f"status {status}"
        found = self.files()
        said = done.stdout + done.stderr
        if program and status != 2 and re.search(b"LOST|could not be saved|too little memory", said):
            return self.problem_of_one_call(found, inputs, outputs)
        for at, content in inputs.items():
            if at in outputs:
                continue
            if at not in found:
                if at in gone and all(other in found for other in outputs):
                    continue
                if at in gone and converted(at, found):
                    continue
                return f"{at} is gone"
            fresh = self.fresh / found[at].relative_to(self.work)
            same = fresh.exists() and fresh.stat().st_mtime_ns == found[at].stat().st_mtime_ns
            if not same and found[at].read_bytes() != content:
                return f"{at} changed"
        complete = True
        # What cannot be read has no verdict: its row says so, and the command ends with 1.
        lost = status == 1 and fault.call in ("open", "read", "map", "list", "stat") and re.search(
            b"ERROR|WARNING|lost|not converted|skipped|cannot", done.stdout + done.stderr)
        # Results are right without what only explains them.
        plainer = status == wanted.returncode and LESS.search(done.stderr)
        for at, path in found.items():
            if at in outputs:
                torn = self.difference(at, path, outputs[at], inputs.get(at))
                if torn == "short":
                    complete = False
                elif torn and not (torn == "other" and (status == 2 or lost or (plainer and not at.endswith(".csv")))):
                    return f"{at} is {torn}, status {status}"
            elif at not in inputs and not BY_CHANCE.search(at) and not (fault.error < 0 and at.endswith(LEFT_BY[fault.error])):
                return f"{at} is left, status {status}"
        missing = set(outputs) - set(found)
        if status == 2:
            return "" if fault.error < 0 or b"ERROR" in done.stderr + done.stdout else "no message"
        if lost or (status == 1 and b"not converted" in done.stderr):
            return ""
        if missing or not complete:
            return f"status {status}, but {sorted(missing) or 'a table'} is not complete"
        if set(inputs) - set(found) != gone:
            return f"status {status}, but {sorted(gone)} should be gone"
        if status != wanted.returncode:
            return f"status {status} instead of {wanted.returncode}"
        if not plainer and plain(done.stdout) != plain(wanted.stdout):
            lines = zip(plain(done.stdout).splitlines(), plain(wanted.stdout).splitlines())
            return f"another standard output: {next((pair for pair in lines if pair[0] != pair[1]), 'longer or shorter')}"
        return ""

    def problem_of_one_call(self, found, inputs, outputs):
        """An engine that could not read or write: one call has other rows or lacks its data, and nothing else differs."""
        for at, path in found.items():
            if at in inputs:
                if path.read_bytes() != inputs[at]:
                    return f"{at} changed"
            elif at not in outputs:
                if "ut_error_data" not in at:  # that of the call, which did not pass
                    return f"{at} is left"
            elif at.endswith(".csv"):
                now, before = content_of(path).splitlines(), outputs[at].splitlines()
                other = {line.split(b",")[0].split(b".forward")[0].split(b".backward")[0] for line in set(now) ^ set(before)}
                if len(other) > 1 or not content_of(path).endswith(b"\n"):
                    return f"{at} has other rows: {other}"
            elif path.suffix == ".pt" and content_of(path) != outputs[at]:
                return f"{at} is torn"
        return ""

    @staticmethod
    def difference(at, path, wanted, before):
        """Nothing, "short" for a table that grows, or what is wrong."""
        try:
            content = content_of(path)
        except (OSError, ValueError, SyntaxError, KeyError, zipfile.BadZipFile, sqlite3.Error) as error:
            return f"torn ({error})" if path.read_bytes() != before else "short"
        if content == wanted:
            return ""
        if BY_CHANCE.search(at) and content.endswith(b"\n"):
            return ""
        if before is not None and path.read_bytes() == before:
            return "short"
        if path.name == "reproduce.py" and b"torch.load(here / 'tensors'" in content:
            return ""  # a script loads what could not be read to be written out
        if GROWS.search(at):
            if isinstance(wanted, bytes) and wanted.startswith(content.rstrip(b"\n")):
                return "short"
            return "" if BY_CHANCE.search(at) and content.endswith(b"\n") else "torn"
        if at.endswith((".db", ".sqlite")) and content in ([], 0):
            return "short"
        # These are checked by themselves; a table ends with its last line.
        whole = path.suffix in (".json", ".sarif", ".xml", ".html", ".xlsx", ".db") or (path.suffix == ".csv" and content.endswith(b"\n"))
        return "other" if whole else "torn"


def converted(name, found):
    """The info file that was made of a dump."""
    stem = name.removesuffix(".npy")
    return any(other.startswith(stem) and other != name for other in found)


def content_of(path):
    """What is compared; raises if the file is not of its format."""
    content = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            if archive.testzip():
                raise ValueError("damaged")
            members = {name: archive.read(name) for name in archive.namelist() if name != "docProps/core.xml"}
            for member in members.values():
                ET.fromstring(member)
            return members
    if path.suffix in (".json", ".sarif"):
        json.loads(content)
    if path.suffix == ".xml":
        ET.fromstring(content)
    if path.suffix == ".html":
        if not content.rstrip().endswith(b"</html>"):
            raise ValueError("cut off")
        packed = re.compile(rb'(<script type="text/plain" id="b\d+">)([^<]*)</script>')
        return plain(packed.sub(lambda block: block[1] + zlib.decompress(base64.b64decode(block[2])), content))
    if path.suffix == ".db":
        database = sqlite3.connect(path)  # for writing: what a killed program left half done is undone by whoever opens it next
        try:
            if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise ValueError("damaged")
            has_table = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'outputs'").fetchone()[0]
            return database.execute("SELECT count(*) FROM outputs").fetchone()[0] if has_table else 0
        finally:
            database.close()
    return plain(content)


def points(count, most):
    """Which calls fail: the first, the last and some between; 0: all."""
    if most == 0 or count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (most - 1)) for i in range(most)}) if most > 1 else [count]


def npy(values):
    header = str({"descr": "<f4", "fortran_order": False, "shape": (len(values),)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    import struct
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values)


def prepare(checks):
    """The inputs of all commands; results and shards are made by the program itself."""
    at = checks.fresh
    calls = [("a", "mapped", "error", "b")[i % 4] for i in range(24)]
    (at / "dump").mkdir()
    (at / "dump" / "dump.json").write_text(dump(calls))
    (at / "dump" / "stack.json").write_text(json.dumps({"0": [[f"Torch.{name}.{i}.forward" for i, name in enumerate(calls)], ["File train.py, line 3, in f"]]}))
    (at / "dump" / "construct.json").write_text(json.dumps({f"Torch.{name}.{i}.forward": "Module.net.Net.forward.0" for i, name in enumerate(calls)}))
    for rank in (0, 1):
        (at / "recording" / "step0" / f"rank{rank}").mkdir(parents=True)
        (at / "recording" / "step0" / f"rank{rank}" / "dump.json").write_text(dump(calls[:4]))
    (at / "large").mkdir()  # is mapped
    (at / "large" / "dump.json").write_text(dump(["a"] * 1500))
    (at / "other").mkdir()
    (at / "other" / "dump.json").write_text(dump(calls, 1.5))
    shutil.copytree(DATA / "dumps" / "convnet_tensor", at / "real")
    shutil.copytree(at / "real", at / "real_other")
    for name in ("npu", "gpu"):
        lines = (DATA / "api_precision_compare" / f"{name}_details.csv").read_bytes().splitlines(keepends=True)
        (at / f"{name}_details.csv").write_bytes(b"".join(lines[:60]))
    (at / "fx").mkdir()
    for i in range(3):
        (at / "fx" / f"mm-aten.mm.default.INPUT.{i}.170000000000000{i}.npy").write_bytes(npy([float(i), 2.0, 3.0]))
    (at / "bench.npy").write_bytes(npy([1.0, 2.0, 3.0]))
    (at / "device.npy").write_bytes(npy([1.0, 2.0, 3.0]))
    shutil.copytree(ROOT / "tests" / "cases" / "run_ut_exact_operators" / "input", at / "older")
    # Results: of a check, of another one, and two shards.
    for out, more in (("results", []), ("later", []), ("shards/one", ["--shard", "1/2"]), ("shards/two", ["--shard", "2/2"])):
        done, _ = checks.run(["acc_check", "-api_info", "dump/dump.json", "-d", "cpu", "-o", out, *more], Fault())
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{out}: {done.stderr.decode()}")
        shutil.copytree(checks.work / out, at / out)
    try:
        sys.path.insert(0, str(ROOT / "tools"))
        import make_torchair_dump
        make_torchair_dump.main([str(at / "graph")])
        return True
    except ImportError:
        print("no numpy: graph-mode dumps are left out")
        return False


ALL = ["--junit", "out/a.xml", "--sarif", "out/a.sarif", "--db", "out/a.db", "--xlsx=out/a.xlsx"]


def with_fake_engine(checks, has_graphs):
    (checks.fresh / "out").mkdir()
    summary = ["--json=out/a.json", "--report=out/a.html"]
    run = ["-d", "cpu", "-o", "out"]
    checks.case("acc_check", "acc_check", "-api_info", "dump/dump.json", *run, *summary, *ALL)
    checks.case("acc_check recording", "acc_check", "recording", *run)
    checks.case("acc_check large", "acc_check", "large/dump.json", "--only", "Torch.a.700", *run, faults=[fault for fault in FAULTS if fault[0] != "write"])
    checks.case("multi_acc_check", "multi_acc_check", "-api_info", "dump/dump.json", "-n", "2", "-d", "cpu:0", "-o", "out")
    checks.case("run_ut", "run_ut", "-forward", "older/forward_info_0.json", "-backward", "older/backward_info_0.json", *run, *summary, *ALL)
    checks.case("merge_checks", "merge_checks", "shards/one", "shards/two", "-o", "out", "--json=out/a.json")
    checks.case("api_precision_compare", "api_precision_compare", "-npu", "npu_details.csv", "-gpu", "gpu_details.csv", "-o", "out", *summary,
                *ALL)
    both = ["compare", "-tp", "other/dump.json", "-gp", "dump/dump.json", "-o", "out", "--xlsx", "--json", "out/a.json", "--report=out/a.html",
            "--junit", "out/a.xml", "--db", "out/a.db", "-da"]
    checks.case("compare", *both)
    checks.case("compare recording", "compare", "recording/step0", "recording/step0", "-o", "out")
    checks.case("compare large", "compare", "large", "large", "-o", "out")
    checks.case("compare real data", "compare", "-tp", "real_other/dump.json", "-gp", "real/dump.json", "-o", "out", "--xlsx")
    checks.case("compare --nan", "compare", "--nan", "-tp", "dump/dump.json")
    if has_graphs:
        checks.case("compare torchair", "compare", "-tp", "graph/msprobe_ge_dump", "-gp", "graph/msprobe_fx_dump", "-m", "torchair", "-o", "out",
                    "--xlsx", "--json", "out/a.json")
    checks.case("convert_info", "convert_info", "fx")
    checks.case("convert_info --keep", "convert_info", "fx", "--keep")
    checks.case("report", "report", "results", "-o", "out/a.html", "--dump", "dump/dump.json", *ALL)
    checks.case("diff", "diff", "results", "later", "--dump", "dump/dump.json", "--json")
    checks.case("metrics", "metrics", "bench.npy", "device.npy", "--json=out/a.json")


def with_engine(checks):
    """Each start of LibTorch takes some tenths of a second."""
    checks.options.fake = checks.options.engine
    shutil.copytree(DATA / "dumps" / "convnet_statistics", checks.fresh / "convnet")
    overflow = ROOT / "tests" / "cases" / "overflow_in_dump_on_cpu" / "dump.json"
    shutil.copyfile(overflow, checks.fresh / "overflow.json")
    (checks.fresh / "sim.yaml").write_text("faults:\n  - {fault: zeros, apis: [a, exp, relu, Functional.relu, Functional.conv2d]}\n")
    (checks.fresh / "mm").mkdir()
    mm = {"input_args": [statistics([4, 20], 1.0), statistics([20, 3], 1.0)], "input_kwargs": {}, "output": [statistics([4, 3], 2.0)]}
    (checks.fresh / "mm" / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                                                              "data": {"Torch.matmul.0.forward": mm}}))
    done, _ = checks.run(["probe_device", "-d", "sim", "--sim-profile", "unit8-24-cut", "--only", "products", "-o", "card.json"], Fault())
    if done.returncode != 0:
        raise RuntimeError(f"no card: {done.stderr.decode()}")
    shutil.copyfile(checks.work / "card.json", checks.fresh / "card.json")
    checks.case("acc_check engine", "acc_check", "-api_info", "real/dump.json", "-d", "cpu", "-o", "out")
    in_engine = {"program": checks.options.engine.name, "faults": [fault for fault in FAULTS if fault[0] not in ("rename", "sync")]}
    checks.case("inside the engine", "acc_check", "-api_info", "real/dump.json", "-d", "sim", "--sim-config", "sim.yaml", "-save_error_data",
                "-o", "out", **in_engine)
    checks.case("inside the engine of predict", "predict", "mm/dump.json", "--card", "card.json", "--only", "Torch.matmul.0", "-o", "out", **in_engine)
    checks.case("predict", "predict", "mm/dump.json", "--card", "card.json", "--only", "Torch.matmul.0", "-o", "out")
    checks.case("self_check", "self_check", "--only", "zeros", "--jobs", "2", "--json", "out/a.json")
    checks.case("run_overflow_check", "run_overflow_check", "-api_info", "overflow.json", "-d", "cpu", "-o", "out", "--json=out/a.json")
    checks.case("shrink", "shrink", "-api_info", "convnet/dump.json", "--only", "Functional.conv2d.0", "-d", "sim", "--sim-config", "sim.yaml",
                "-o", "out")
    checks.case("probe_device", "probe_device", "-d", "cpu", "--only", "casts", "-o", "out/card.json", "--html", "out/card.html")


TRAINING = """
import sys, torch
from msprobe.pytorch import PrecisionDebugger
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
debugger = PrecisionDebugger(task=sys.argv[1], dump_path="dump_out", step=[0, 1], level="mix")
for step in range(2):
    debugger.start(model)
    model(torch.randn(5, 8)).sum().backward()
    debugger.stop()
    debugger.step()
print("trained to the end")
"""


def broken_recording(work, done):
    """What is wrong with what a recorder left, whose disk failed; empty: nothing."""
    said = done.stdout + done.stderr
    if done.returncode not in (0, 1):
        return f"status {done.returncode}"
    is_told = re.search(rb"WARNING|ERROR|Error", said)
    if done.returncode == 1 and not is_told:
        return "no message"
    names = set()
    for path in sorted((work / "dump_out").rglob("*")):
        if path.suffix == ".partial":
            return f"{path.name} is left"
        try:
            if path.suffix == ".json":
                names.update(re.findall(r'"data_name": "([^"]+)"', json.dumps(json.loads(path.read_bytes()))))
            if path.suffix == ".pt":
                with zipfile.ZipFile(path) as archive:
                    if archive.testzip():
                        return f"{path.name} is damaged"
        except (ValueError, zipfile.BadZipFile) as error:
            return f"{path.name} is torn ({error})"
    files = [str(path.relative_to(work)) for path in sorted((work / "dump_out").rglob("*")) if path.is_file()]
    if not is_told and files != broken_recording.whole:
        return f"nothing is said of {sorted(set(files) ^ set(broken_recording.whole))[:3]}"
    return ""


def recorder(checks):
    """The collector in a training: it goes on, and what is on the disk can be read."""
    python = pathlib.Path(sys.executable).resolve()
    checks.options.program = pathlib.Path(sys.executable)
    os.environ["PYTHONPATH"] = str(checks.options.python)
    (checks.fresh / "train.py").write_text(TRAINING)
    for task in ("tensor", "statistics"):
        name = f"recorder {task}"
        if checks.options.only and not any(name.startswith(only) for only in checks.options.only):
            continue
        words = ["-B", "train.py", task]
        done, _ = checks.run(words, Fault(), python.name)
        if done.returncode != 0:
            checks.failures.append(f"{name}: without a fault: {done.stderr.decode()[-300:]}")
            continue
        broken_recording.whole = [str(path.relative_to(checks.work)) for path in sorted((checks.work / "dump_out").rglob("*")) if path.is_file()]
        tried, counted = 0, {}
        for call, error, count in FAULTS:
            if error < 0 or (checks.options.call and call not in checks.options.call):  # tests/collector/test_killed.py kills
                continue
            if call not in counted:
                counted[call] = checks.run(words, Fault(call), python.name)[1]
            for at in points(counted[call], checks.options.points):
                fault = Fault(call, error, count, at)
                done, _ = checks.run(words, fault, python.name)
                tried += 1
                if problem := broken_recording(checks.work, done):
                    checks.failures.append(f"{name}: {fault}: {problem}; said: {(done.stdout + done.stderr).decode(errors='replace').strip()[-300:]}")
                    if checks.options.list:
                        print("  " + checks.failures[-1], flush=True)
        print(f"{name}: {tried} faults, calls {counted}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("library", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("fake", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--engine", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--python", type=lambda path: pathlib.Path(path).resolve(), help="the package of the collector, for this Python")
    parser.add_argument("--points", type=int, default=4)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--call", nargs="*")
    parser.add_argument("--list", action="store_true", help="show each failure when it is found")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        checks = Checks(options, pathlib.Path(directory).resolve())
        has_graphs = prepare(checks)
        with_fake_engine(checks, has_graphs)
        if options.engine:
            with_engine(checks)
        if options.python:
            recorder(checks)
    for failure in checks.failures:
        print(failure)
    print(f"{checks.runs} runs, {len(checks.failures)} failures")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
