#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the documents run as written, on a machine with only a CPU, and give what the documents say.

usage: document_commands.py MSPROBE
"""
import csv
import pathlib
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
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, cwd=self.scratch)


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
    for row in table(result):
        failed = "error" in (row["Forward Test Success"], row["Backward Test Success"])
        c.check(f"{row['API name']}, Message of an error", not failed or "ward output " in row["Message"], repr(row["Message"]))


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
    done = c.run("api_precision_compare", "-npu", details.name, "-gpu", details, "-o", out, "--fail-on", "strict")
    c.check("a correct device against itself", done.returncode == 0 and done.stdout.startswith("strict verdict of "), done.stdout[:500])
    rows = table(only(out, "api_precision_compare_result_*.csv"))
    c.check("strict verdicts", {row["Strict Verdict"] for row in rows} <= {"pass", "documented only", "SKIP"},
            {row["Strict Verdict"] for row in rows})
    for row in table(only(out, "api_precision_compare_details_*.csv")):
        if ".conv2d." in row["API name"] or ".conv1d." in row["API name"]:
            c.check("conv by dual-1000", row["Comparison algorithm"] == "dual-1000 metric", row["Comparison algorithm"])


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        c = Commands(sys.argv[1], pathlib.Path(scratch))
        result = check_acc_check(c)
        check_details(c, result)
        check_devices(c)
        check_resume(c, result)
        check_error_data_and_lists(c)
        check_final_verdict(c, result)
    print("\n".join(c.wrong[:40]) or f"{c.count} checks of documented commands are right")
    return 1 if c.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
