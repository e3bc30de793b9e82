#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the documents run as written, on a machine with only a CPU, and give what the documents say.

usage: document_commands.py MSPROBE
"""
import csv
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DUMP = ROOT / "examples" / "gpt_statistics" / "dump.json"
METRICS = ["Cosine similarity", "Maximum absolute error", "Dual-100 metric", "Dual-1000 metric", "Dual-10000 metric", "Error balance",
           "Root-mean-square error (RMSE)", "Error ratio in small value range", "Maximum relative error", "Mean relative error",
           "inf/nan error rate", "Relative error rate", "Absolute error rate", "Maximum ULP error", "Mean ULP error",
           "Proportion of ULP errors greater than the threshold"]


class Commands:
    def __init__(self, program: str, scratch: pathlib.Path):
        self.program, self.scratch, self.wrong, self.count = pathlib.Path(program).resolve(), scratch, [], 0

    def check(self, name: str, condition: bool, what: object = "") -> None:
        self.count += 1
        if not condition:
            self.wrong.append(f"{name}: {what}")

    def run(self, *words: object) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, cwd=self.scratch,
                              env={**os.environ, "MSPROBE_LOG_LEVEL": "1"})


def table(path: pathlib.Path) -> list[dict]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def only(directory: pathlib.Path, pattern: str) -> pathlib.Path:
    found = sorted(directory.glob(pattern))
    return found[0] if len(found) == 1 else directory / f"not one {pattern}"


def check_acc_check(c: Commands) -> pathlib.Path:
    """msprobe acc_check -api_info ./dump.json; the default device is 0, the default path ./"""
    done = c.run("acc_check", "-api_info", DUMP)
    c.check("acc_check", done.returncode in (0, 1), done.stderr[-800:])
    c.check("-d, default 0", "device 0 is cpu" in done.stderr, done.stderr[-800:])
    result, details = only(c.scratch, "accuracy_checking_result_*.csv"), only(c.scratch, "accuracy_checking_details_*.csv")
    c.check("two CSVs in ./", result.exists() and details.exists(), list(c.scratch.iterdir()))
    return result


def check_details(c: Commands, result: pathlib.Path) -> None:
    """Every metric of a measured pair is there, in the documented number of decimals; messages are one line."""
    for row in table(pathlib.Path(str(result).replace("_result_", "_details_"))):
        floating = row["DEVICE Dtype"] in ("torch.float32", "torch.float16", "torch.bfloat16")
        if row["Status"] == "SKIP" or not floating or "dropout" in row["API name"]:
            continue
        for title in METRICS:
            number = row[title]
            c.check(f"{row['API name']}, {title}", number in ("nan", "inf", "-inf") or len(number.partition(".")[2]) == 14, repr(number))
        c.check(f"{row['API name']}, Message", "\n" not in row["Message"] and "SPACE" not in row["Message"], repr(row["Message"]))


def check_messages(c: Commands) -> None:
    """The Message of a failure says which output failed, on one line."""
    out = c.scratch / "messages"
    done = c.run("acc_check", "-api_info", DUMP, "-d", 0, "--sim-config", ROOT / "examples" / "faulty_device.yaml", "-o", out)
    c.check("a faulty device", done.returncode == 1, done.stderr[-800:])
    failed = [row for row in table(only(out, "accuracy_checking_result_*.csv"))
              if "error" in (row["Forward Test Success"], row["Backward Test Success"])]
    c.check("calls of a faulty device fail", len(failed) >= 3, failed)
    for row in failed:
        c.check(f"{row['API name']}, Message of an error", "ward output " in row["Message"] and "\n" not in row["Message"], repr(row["Message"]))


def npy(values: list[float]) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


def check_values(c: Commands) -> None:
    """The cells of a details row are what their titles say: a call whose errors are known, counted here by hand. The public formulas have small
    constants in them, so that four digits must agree."""
    # Relative errors on both sides of 0.01, 0.001 and 0.0001: no two of the dual metrics are equal.
    right = [1.0, 2.0, -4.0, 8.0, 2.0**-20, 0.5, 16.0]
    wrong = [1.0, 2.0 + 2.0**-7, -4.0 - 0.5, 8.0 + 2.0**-15, 2.0**-20 + 2.0**-22, 0.5, 16.0 + 2.0**-7]
    place = c.scratch / "values"
    (place / "dump_tensor_data").mkdir(parents=True)

    def leaf(name: str, values: list[float]) -> dict:
        (place / "dump_tensor_data" / name).write_bytes(npy(values))
        return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [len(values)], "Max": max(values), "Min": min(values),
                "Mean": 0.0, "Norm": 1.0, "requires_grad": False, "data_name": name}

    name = "Torch.sub.0.forward"
    entry = {"input_args": [leaf(f"{name}.input.0.npy", right), leaf(f"{name}.input.1.npy", [0.0] * len(right))], "input_kwargs": {},
             "output": [leaf(f"{name}.output.0.npy", wrong)]}
    dump = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(place / "dump_tensor_data"), "data": {name: entry}}
    (place / "dump.json").write_text(json.dumps(dump))
    done = c.run("acc_check", "-api_info", place / "dump.json", "-d", "recorded", "-o", place / "out")
    rows = table(only(place / "out", "accuracy_checking_details_*.csv"))
    c.check("values: one row", done.returncode in (0, 1) and len(rows) == 1, done.stderr[-500:])
    errors = [abs(w - r) for w, r in zip(wrong, right)]
    relative = [error / abs(r) for error, r in zip(errors, right)]
    count, normal = len(right), [index for index, r in enumerate(right) if abs(r) > 2.0**-14]
    ulps = [error / 2.0 ** (math.frexp(r)[1] - 1 - 23) for error, r in zip(errors, right)]
    wanted = {
        "Cosine similarity": sum(w * r for w, r in zip(wrong, right)) / math.sqrt(sum(w * w for w in wrong) * sum(r * r for r in right)),
        "Maximum absolute error": max(errors),
        "Dual-100 metric": sum(r < 0.01 for r in relative) / count,
        "Dual-1000 metric": sum(r < 0.001 for r in relative) / count,
        "Dual-10000 metric": sum(r < 0.0001 for r in relative) / count,
        "inf/nan error rate": 0.0,
        "Relative error rate": sum(relative[index] > 2.0**-20 for index in normal) / len(normal),
        "Absolute error rate": 1.0,  # the only small value is off by 2**-22, more than 2**-30
        "Error ratio in small value range": 1.0,
        "Error balance": abs(sum((w > r) - (w < r) for w, r in zip(wrong, right))) / count,
        "Root-mean-square error (RMSE)": math.sqrt(sum(errors[index] ** 2 for index in normal) / len(normal)),
        "Maximum relative error": max(relative[index] for index in normal),
        "Mean relative error": sum(relative[index] for index in normal) / len(normal),
        "Maximum ULP error": max(ulps),
        "Mean ULP error": sum(ulps) / count,
        "Proportion of ULP errors greater than the threshold": sum(ulp > 32 for ulp in ulps) / count,
    }
    for title, value in wanted.items():
        c.check(f"values: {title}", rows and math.isclose(float(rows[0][title]), value, rel_tol=1e-4, abs_tol=1e-12),
                f"{rows and rows[0][title]}, by hand {value}")


def check_number_of_engines(c: Commands) -> None:
    """-n: 8 by default, at most 64 and at most eight for each device, evenly distributed. An engine that starts says its device."""
    log = c.scratch / "engines.log"
    engine = c.scratch / "engine"
    engine.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {c.program.parent / "msprobe-engine"} "$@"\n')
    engine.chmod(0o755)

    def engines(*words: object) -> list[int]:
        log.write_text("")
        done = c.run("multi_acc_check", "-api_info", DUMP, "--engine", engine, "-o", c.scratch / "engines", *words)
        c.check(f"engines of {words}", done.returncode in (0, 1), done.stderr[-500:])
        devices = [line.split()[line.split().index("--device") + 1] for line in log.read_text().splitlines()]
        return sorted(devices.count(device) for device in set(devices))

    c.check("-n 6 on three devices", engines("-n", 6, "-d", 0, 1, 2) == [2, 2, 2], log.read_text())
    c.check("-n 5 on two devices", engines("-n", 5, "-d", 0, 1) == [2, 3], log.read_text())
    c.check("-n, default 8", engines() == [8], log.read_text())
    few = ("--only", "Torch.matmul.0", "-o", c.scratch / "few")
    done = c.run("multi_acc_check", "-api_info", DUMP, "-n", 64, "-d", 0, *few)
    c.check("-n 64 on one device", "A device supports a maximum of 8 processes" in done.stderr and "it is set to 8." in done.stderr,
            done.stderr[-500:])
    done = c.run("multi_acc_check", "-api_info", DUMP, "-n", 64, "-d", *range(8), *few)
    c.check("-n 64 on eight devices", done.returncode in (0, 1) and "A device supports" not in done.stderr, done.stderr[-500:])
    for number in (0, 65):
        done = c.run("multi_acc_check", "-api_info", DUMP, "-n", number, *few)
        c.check(f"-n {number}", done.returncode == 2 and "in range 1 to 64" in done.stderr, done.stderr[-500:])


def check_level(c: Commands) -> None:
    """level=L1 must be configured: a dump of another level is checked as far as it can be, with a warning."""
    for level, is_named in (("L0", True), ("debug", True), ("L1", False), ("mix", False)):
        dump = c.scratch / f"level_{level}.json"
        dump.write_text(DUMP.read_text().replace('"level": "L1"', f'"level": "{level}"', 1))
        done = c.run("acc_check", "-api_info", dump, "--only", "Torch.matmul.0", "-o", c.scratch / "level")
        told = f"the dump is of level {level}; a pre-check needs level L1 or mix" in done.stderr
        c.check(f"level {level}", done.returncode == 0 and told == is_named, done.stderr[-500:])


def check_devices(c: Commands) -> None:
    """msprobe multi_acc_check -api_info ./dump.json -n 32 -d 0 1 2 3: two CSVs are generated for each device"""
    out = c.scratch / "multi"
    done = c.run("multi_acc_check", "-api_info", DUMP, "-n", 32, "-d", 0, 1, 2, 3, "-o", out)
    c.check("-n 32 -d 0 1 2 3", done.returncode in (0, 1), done.stderr[-800:])
    rows = 0
    for device in range(4):
        pair = sorted(out.glob(f"device{device}_*/accuracy_checking_*.csv"))
        c.check(f"two CSVs of device {device}", len(pair) == 2, pair)
        rows += len(table(pair[1])) if len(pair) == 2 else 0
    c.check("the devices share the calls", rows == len(table(only(out, "accuracy_checking_result_*.csv"))), rows)
    for device, text in (("cpu:8", "no device cpu:8"), ("9", "no device 9"), ("gpu", "no device gpu")):
        done = c.run("acc_check", "-api_info", DUMP, "-d", device, "-o", c.scratch / "none")
        c.check(f"-d {device}", done.returncode == 2 and text in done.stderr, done.stderr[-300:])
    done = c.run("acc_check", "-api_info", DUMP, "-j", "-d", "cpu:7", "-o", c.scratch / "jit", "-f")
    c.check("-j, -d cpu:7, -f", done.returncode in (0, 1) and "jit_compile has no effect on cpu:7" in done.stderr, done.stderr[-500:])


def check_resume(c: Commands, result: pathlib.Path) -> None:
    """msprobe acc_check -api_info ./dump.json -csv_path accuracy_checking_result_{timestamp}.csv, from the two CSVs alone"""
    details = pathlib.Path(str(result).replace("_result_", "_details_"))
    whole = result.read_bytes(), details.read_bytes()
    for file in c.scratch.glob("accuracy_checking_run_*.txt"):
        file.unlink()
    result.write_bytes(whole[0][: len(whole[0]) // 2])
    done = c.run("acc_check", "-api_info", DUMP, "-csv_path", result)
    c.check("-csv_path", done.returncode in (0, 1), done.stderr[-800:])
    c.check("the same bytes", (result.read_bytes(), details.read_bytes()) == whole)
    c.check("no new CSV", only(c.scratch, "accuracy_checking_result_*.csv") == result)
    one = only(c.scratch / "multi", "device0_*/accuracy_checking_result_*.csv")
    done = c.run("multi_acc_check", "-api_info", DUMP, "-csv_path", one)
    c.check(
        "-csv_path of one device", done.returncode == 2 and "continue from the merged one: -csv_path" in done.stderr, done.stderr[-300:]
    )


def check_error_data_and_lists(c: Commands) -> None:
    """-save_error_data: ./ut_error_data{timestamp}, or error_data_path; the lists of config.json replace those of config.yaml"""
    place = c.scratch / "errors"
    place.mkdir()
    config = c.scratch / "config.json"
    config.write_text('{"task": "statistics", "acc_check": {"white_list": ["matmul", "layer_norm"], "error_data_path": "%s"}}' % place)
    faults = ROOT / "examples" / "faulty_device.yaml"
    done = c.run("acc_check", "-api_info", DUMP, "-save_error_data", "-config", config, "-o", c.scratch / "lists", "-d", 0,
                 "--sim-config", faults)
    c.check("-save_error_data", done.returncode == 1 and "device 0 is sim:0" in done.stderr, done.stderr[-800:])
    saved = [file.name for file in place.glob("ut_error_data*/*.pt")]
    c.check("error_data_path", any(".forward.input.0.pt" in name for name in saved)
            and any(".forward.output.device.0.pt" in name for name in saved), saved[:5])
    rows = table(only(c.scratch / "lists", "accuracy_checking_result_*.csv"))
    other = [row for row in rows if ".matmul." not in row["API name"] and ".layer_norm." not in row["API name"]]
    c.check("white_list", other and all(row["Forward Test Success"] == "SKIP" and "not in white list" in row["Message"] for row in other))
    for text, message in (('{"whitelist": []}', "belongs in the section acc_check"),
                          ('{"acc_check": {"whitelist": []}}', "did you mean white_list?"),
                          ('{"acc_check": {"is_online": true}}', "is_online")):
        config.write_text(text)
        done = c.run("acc_check", "-api_info", DUMP, "-config", config, "-o", c.scratch / "refused")
        c.check(text, done.returncode == 2 and message in done.stderr, done.stderr[-300:])
    config.write_text('{"task": "statistics"}')
    done = c.run("acc_check", "-api_info", DUMP, "-config", config, "-o", c.scratch / "no_section", "-f")
    c.check("no section", "no section acc_check" in done.stderr, done.stderr[-500:])


def check_final_verdict(c: Commands, result: pathlib.Path) -> None:
    """msprobe api_precision_compare -npu details.csv -gpu details.csv -o /home/xxx/"""
    details = pathlib.Path(str(result).replace("_result_", "_details_"))
    out = c.scratch / "final"
    done = c.run("api_precision_compare", "-npu", details.name, "-gpu", details, "-o", out)
    c.check("a correct device against itself", done.returncode == 0 and done.stdout.startswith("strict verdict of "), done.stdout[:500])
    rows = table(only(out, "api_precision_compare_result_*.csv"))
    c.check("strict verdicts", {row["Strict Verdict"] for row in rows} <= {"pass", "inconclusive", "documented only", "SKIP"},
            {row["Strict Verdict"] for row in rows})
    for row in table(only(out, "api_precision_compare_details_*.csv")):
        if ".conv2d." in row["API name"] or ".conv1d." in row["API name"]:
            c.check("conv by dual-1000", row["Comparison algorithm"] == "dual-1000 metric", row["Comparison algorithm"])


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        c = Commands(sys.argv[1], pathlib.Path(scratch))
        result = check_acc_check(c)
        check_details(c, result)
        check_messages(c)
        check_values(c)
        check_level(c)
        check_devices(c)
        check_number_of_engines(c)
        check_resume(c, result)
        check_error_data_and_lists(c)
        check_final_verdict(c, result)
    print("\n".join(c.wrong[:40]) or f"{c.count} checks of documented commands are right")
    return 1 if c.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
