#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pre-check of MindSpore dumps, end to end: document 001's quick start, every API of samples.txt, resume, shards, devices.

    python3 tests/mindspore/mindspore_check.py MSPROBE
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

MSPROBE = pathlib.Path(sys.argv[1]).resolve()
RESULT_TITLES = ["API Name", "Forward Test Success", "Backward Test Success", "Message"]
DETAIL_TITLES = ["API Name", "Bench Dtype", "Tested Dtype", "Shape", "Cosine", "MaxAbsErr", "MaxRelativeErr", "Status", "Message"]
ADDED_TITLES = ["Strict Status", "Strict Reason", "Likely Cause", "Rerun Command", "Error Over Bound"]

# As document 001 prints it.
QUICK_START = """{
"task": "statistics",
"level": "L1",
"dump_data_dir": null,
"framework": "mindspore",
"data": {
"Mint.where.0.forward": {
"input_args": [
{"type": "mindspore.Tensor", "dtype": "Bool", "shape": [1, 4096], "Max": false, "Min": false, "Mean": null, "Norm": null},
{"type": "int", "value": 0},
{"type": "int", "value": 1}
],
"input_kwargs": {},
"output": [
{"type": "mindspore.Tensor", "dtype": "Int64", "shape": [1, 4096], "Max": 1.0, "Min": 1.0, "Mean": 1.0, "Norm": 64.0}
]
}}}
"""


def run(*words, status=0, cwd=None):
    done = subprocess.run([str(MSPROBE), *map(str, words)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == status, f"{words}: status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}"
    return done


def table(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def pair(out):
    results = sorted(out.glob("accuracy_checking_result_*.csv"))
    assert len(results) == 1, results
    return results[0], pathlib.Path(str(results[0]).replace("_result_", "_details_"))


def rows(out):
    result, details = (table(path) for path in pair(out))
    assert result[0] == RESULT_TITLES and details[0][:9] == DETAIL_TITLES, (result[0], details[0])
    return {row[0]: row for row in result[1:]}, details[1:]


def quick_start(place):
    (place / "dump.json").write_text(QUICK_START)
    run("acc_check", "-api_info", "dump.json", cwd=place)
    result, details = pair(place)
    assert result.read_bytes() == ("\ufeff" + ",".join(RESULT_TITLES) + "\r\nMint.where.0,pass,,\r\n").encode()
    assert table(details)[0] == DETAIL_TITLES + ADDED_TITLES
    assert table(details)[1][:9] == ["Mint.where.0.forward.output.0", "Int64", "Int64", "(1, 4096)", "1.0", "0.0", "0.0", "pass",
                                     ""], table(details)[1]
    out = place / "reference"
    run("acc_check", "-api_info", "dump.json", "-o", out, "--profile", "reference", cwd=place)
    assert table(pair(out)[1])[0] == DETAIL_TITLES


def recorded_network(place):
    """A training step as the public collector recorded it."""
    dump = pathlib.Path(__file__).parent.parent / "data" / "mindspore" / "mlp" / "dump.json"
    run("acc_check", "-api_info", dump, "-o", place, status=1)
    result, details = rows(place)
    failed = {name for name, row in result.items() if "error" in row[1:3] or "SKIP" in row[1:3]}
    assert failed == {"MintFunctional.dropout.0"}, failed
    assert result["Mint.cat.0"][1:3] == ["pass", ""] and result["Mint.max.0"][1:3] == ["pass", "pass"], result
    strict = {row[0].split(".")[1] for row in details if row[9] in ("error", "warning")}
    assert strict == {"dropout", "tanh"}, strict
    types = {row[0]: row[1:3] for row in details}
    assert types["Mint.mul.0.forward.output.0"] == ["Float32", "BFloat16"], types["Mint.mul.0.forward.output.0"]


def samples(place, drawn):
    """Every API as PyTorch computed it in Python: forward and backward, on `recorded`, which a real-data dump means by itself."""
    data = json.loads((place / "dump.json").read_text())["data"]
    out = place / "out"
    done = run("acc_check", "-api_info", place / "dump.json", "-o", out, "--fail-on", "error", "-v", status=1)  # random results differ
    result, details = rows(out)
    wrong = []
    for call in [key[: -len(".forward")] for key in data if key.endswith(".forward")]:
        forward, backward = result[call][1:3]
        wanted = any(slot is not None for slot in data.get(call + ".backward", {}).get("output", []))
        if call in drawn:
            wrong += [(call, "random", forward)] * (forward not in ("pass", "error"))
        elif forward != "pass" or backward != ("pass" if wanted else ""):
            wrong.append((call, forward, backward, wanted, result[call][3]))
    strict = [(row[0], row[9], row[10]) for row in details if row[9] in ("error", "warning")]
    assert not wrong and not strict, "\n".join(map(str, wrong + strict))
    return out, done


def spoiled(place):
    """A wrong output, a NaN, and a wrong gradient are seen; only the spoiled calls fail."""
    import numpy
    tensors = place / "dump_tensor_data"
    for name, change in {"Mint.add.0.forward.output.0": lambda t: t + 0.001, "Mint.mul.0.forward.output.0": lambda t: t * numpy.nan,
                         "Mint.matmul.0.backward.output.1": lambda t: t * 1.01}.items():
        numpy.save(tensors / (name + ".npy"), change(numpy.load(tensors / (name + ".npy"))))
    out = place / "spoiled"
    only = [word for call in ("Mint.add.0", "Mint.mul.0", "Mint.matmul.0", "Mint.sub.0") for word in ("--only", call)]
    run("acc_check", "-api_info", place / "dump.json", "-o", out, *only, status=1)
    result, details = rows(out)
    assert [result[f"Mint.{name}.0"][1:3] for name in ("add", "mul", "matmul", "sub")] == [
        ["error", "pass"], ["error", "pass"], ["pass", "error"], ["pass", "pass"]], result
    strict = {row[0] for row in details if row[9] == "error"}
    assert strict == {"Mint.add.0.forward.output.0", "Mint.mul.0.forward.output.0", "Mint.matmul.0.backward.output.1"}, strict
    assert result["Mint.add.0"][3] == "max absolute difference is greater than threshold: 0.0001 ", result["Mint.add.0"]


def continued(place, out):
    """A run that was cut off goes on in the same two files; shards merge to the same bytes; so do several devices."""
    whole = [path.read_bytes() for path in pair(out)]
    cut = place / "cut"
    cut.mkdir()
    for path in out.iterdir():
        (cut / path.name).write_bytes(path.read_bytes())
    result, details = pair(cut)
    result.write_bytes(whole[0][: len(whole[0]) // 2])
    run_file = next(cut.glob("accuracy_checking_run_*.txt"))
    run_file.write_text("".join(line for line in run_file.read_text().splitlines(True) if not line.startswith("finished")))
    run("acc_check", "-api_info", place / "dump.json", "-csv_path", result, "--fail-on", "error", status=1)
    assert [path.read_bytes() for path in pair(cut)] == whole
    for part in (1, 2):
        run("acc_check", "-api_info", place / "dump.json", "-o", place / f"part{part}", "--shard", f"{part}/2",
            "--fail-on", "error", status=part - 1)  # the random ones are last
    run("merge_checks", place / "part1", place / "part2", "-o", place / "merged", "--fail-on", "error", status=1)
    assert [path.read_bytes() for path in pair(place / "merged")] == whole
    several = place / "several"
    run("multi_acc_check", "-api_info", place / "dump.json", "-o", several, "-n", "2", "-d", "0", "1", "--fail-on", "error", status=1)
    assert [path.read_bytes() for path in pair(several)] == whole
    stamp = pair(several)[0].stem.split("_")[-1]
    shares = [rows(several / f"device{device}_{stamp}")[0] for device in (0, 1)]
    assert not shares[0].keys() & shares[1].keys() and len(shares[0]) + len(shares[1]) == whole[0].count(b"\r\n") - 1


def executed(place):
    """The same calls on a device: nothing is skipped. What fails on a simulated one is saved as .npy files."""
    out = place / "cpu"
    run("acc_check", "-api_info", place / "dump.json", "-o", out, "-d", "cpu", "--fail-on", "error", status=1)
    skipped = [row for row in rows(out)[0].values() if "SKIP" in row[1:3]]
    assert not skipped, skipped
    tensor = {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [8, 8], "Max": 2.0, "Min": -2.0, "Mean": 0.0, "Norm": 1.0}
    document = {"task": "statistics", "level": "mix", "framework": "mindspore", "dump_data_dir": None, "data": {
        "Mint.matmul.0.forward": {"input_args": [tensor, tensor], "input_kwargs": {}, "output": [tensor]},
        "Mint.matmul.0.backward": {"input": [tensor], "output": [tensor, tensor]},
        "Cell.net.Dense.forward.0.forward": {"input_args": [], "input_kwargs": {}, "output": []},
        "MintDistributed.all_reduce.0.forward": {"input_args": [tensor], "input_kwargs": {}, "output": [tensor]}}}
    (place / "statistics.json").write_text(json.dumps(document))
    done = run("acc_check", "-api_info", place / "statistics.json", "-o", place / "good", "-d", "cpu", "-v")
    assert "1 entries of cells" in done.stderr and "1 MintDistributed calls are not checked" in done.stderr, done.stderr
    assert "recorded 2, checked 1 (passed 1" in done.stdout, done.stdout
    (place / "sim.yaml").write_text("faults:\n  - {fault: times_two, operators: [mm], direction: forward}\n")
    sim = ["-api_info", place / "statistics.json", "-d", "sim", "--sim-config", place / "sim.yaml"]
    bad = place / "bad"
    junit, sarif, page = bad / "junit.xml", bad / "sarif.json", bad / "report.html"
    run("acc_check", *sim, "-o", bad, "-save_error_data", "--junit", junit, "--sarif", sarif, "--report", page, status=1)
    result, details = rows(bad)
    assert result["Mint.matmul.0"][1:3] == ["error", "pass"], result
    assert details[0][9] == "error" and "times" in details[0][11], details[0]
    assert details[0][12].endswith("--only Mint.matmul.0"), details[0]
    saved = {path.name for path in (bad / "error_data").iterdir()}
    assert saved == {f"Mint.matmul.0.{part}.npy" for part in
                     ("forward.input.0", "forward.input.1", "forward.output.0", "forward.bench.0", "backward.input.0",
                      "backward.output.0", "backward.output.1", "backward.bench.0", "backward.bench.1")}, saved
    assert "Mint.matmul" in junit.read_text() and "Mint.matmul" in sarif.read_text() and page.stat().st_size > 1000
    done = run("acc_check", "-api_info", place / "dump.json", "-o", place / "none", "-save_error_data", "--only", "Mint.add.0", "-v")
    assert "-save_error_data saves nothing" in done.stderr and not (place / "none" / "error_data").exists(), done.stderr
    found = run("shrink", *sim, "--only", "Mint.matmul.0", "-o", place / "shrunk")
    assert "Mint.matmul.0" in (place / "shrunk" / "dump.json").read_text(), found.stdout
    said = reproduced(place / "shrunk")
    assert "sim:0: forward result 0:" in said and "are off by" in said, said


def reproduced(out):
    """What reproduce.py prints: it must fail as the call did."""
    done = subprocess.run([sys.executable, str(out / "reproduce.py")], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stderr, done.stdout + done.stderr
    return done.stdout


def shrunk_recording(place):
    """Recorded results cannot shrink; the script judges them, and MindSpore's own where it can be imported."""
    dump = pathlib.Path(__file__).parent.parent / "data" / "mindspore" / "mlp" / "dump.json"
    for device in ([], ["-d", "recorded"]):
        found = run("shrink", "-api_info", dump, "--only", "Mint.tanh.0", "-o", place, *device)
        assert "the recorded results belong to them" in found.stdout and "acc_check -api_info" in found.stdout, found.stdout
        said = reproduced(place)
        assert "recorded: forward result 0:" in said and "recorded: backward result 0:" in said, said
    again = place / "again"
    run("acc_check", "-api_info", place / "dump.json", "-o", again, "--fail-on", "strict", status=1)
    assert list(rows(again)[0]) == ["Mint.tanh.0"], rows(again)


def adapter(place):
    """A dump as MSAdapter leaves it: PyTorch's names and arguments, MindSpore's types."""
    import samples as made
    made.write_adapter(place)
    data = json.loads((place / "dump.json").read_text())["data"]
    with_gradients = {key[: -len(".backward")] for key, entry in data.items()
                      if key.endswith(".backward") and any(entry["output"])}
    assert len(with_gradients) >= 13, with_gradients
    for device in ([], ["-d", "cpu"]):
        out = place / "_".join(["out", *device])
        run("acc_check", "-api_info", place / "dump.json", "-o", out, "--fail-on", "strict", *device)
        result, details = rows(out)
        assert len(result) == len(made.ADAPTER), result.keys()
        for call, row in result.items():
            backward = row[2] == "pass" if call in with_gradients else row[2] in ("", "pass")
            assert row[1] == "pass" and backward, row
        types = {row[0]: row[1:3] for row in details}
        assert types["Functional.gelu.0.forward.output.0"] == ["Float32", "Float16"], types


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "quick").mkdir()
        quick_start(place / "quick")
        recorded_network(place / "network")
        try:
            import numpy  # noqa: F401
            import torch  # noqa: F401
        except ImportError:
            print("no PyTorch in Python: the samples of every API are left out")
            sys.exit(77)
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        import samples as made
        dump = place / "samples"
        drawn = made.write(dump)
        out, _ = samples(dump, drawn)
        continued(dump, out)
        executed(dump)
        spoiled(dump)
        shrunk_recording(place / "shrunk")
        adapter(place / "adapter")
    print("quick start, samples, resume, shards, devices: as documented")


main()
