# SPDX-License-Identifier: Apache-2.0
"""What the older entry (api_accuracy_checker.dump) records goes through run_ut and run_overflow_check as the older document writes them."""

import csv
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

MSPROBE = os.environ.get("MSPROBE")
BUILD = os.environ.get("MSPROBE_BUILD_DIR")
HAS_ENGINE = os.environ.get("MSPROBE_HAS_ENGINE") == "1"
HAS_SIM = bool(BUILD) and os.path.exists(os.path.join(BUILD, "bin", "libmsprobe-sim.so"))
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")

TRAINING = """
    import torch
    import api_accuracy_checker.dump
    from api_accuracy_checker.dump import msCheckerConfig
    msCheckerConfig.update_config(dump_path="{path}", real_data={real_data}, enable_dataloader=True, target_iter=1)
    torch.manual_seed(1)
    w = (torch.rand(8, 8) + 0.5).requires_grad_()
    loader = torch.utils.data.DataLoader([torch.rand(8) + 0.5 for _ in range(12)], batch_size=4)
    for batch in loader:
        hidden = torch.nn.functional.relu(torch.mm(batch, w))
        big = torch.mul(hidden.half(), 30000.0)  # beyond float16's 65504
        hidden.sum().backward()
"""
DETAIL_TITLES = [
    "Npu Name",
    "Bench Dtype",
    "NPU Dtype",
    "Shape",
    "Cosine Similarity",
    "Cosine Similarity Message",
    "Max Rel Error",
    "Max Rel Err Message",
    "Max Abs Error",
    "Max Abs Err Message",
    "Relative Error (dual thousandth)",
    "Relative Error (dual thousandth) Message",
    "Relative Error (dual ten thousandth)",
    "Relative Error (dual ten thousandth) Message",
    "Compare Builtin Type",
    "Builtin Type Message",
    "Pass",
]


def rows_of(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe-engine")
class OlderCommands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._scratch = tempfile.TemporaryDirectory()
        cls.scratch = os.path.realpath(cls._scratch.name)
        cls.recorded = {}
        for real_data in (False, True):
            directory = os.path.join(cls.scratch, f"recorded_{real_data}".lower())
            os.mkdir(directory)
            script = os.path.join(cls.scratch, "main.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(TRAINING).format(path=directory, real_data=real_data))
            done = subprocess.run([sys.executable, "-W", "ignore", script], cwd=cls.scratch, capture_output=True, text=True)
            assert "Exception: Model pretest: exit after iteration 1." in done.stderr, done.stderr
            left = [name for name in os.listdir(directory) if name.endswith(".new")]
            assert left == [], f"only complete files remain: {left}"
            # The documents number the files 0.
            for path in glob.glob(os.path.join(directory, "*_info_*.json")):
                kind = os.path.basename(path).split("_info_")[0]
                os.rename(path, os.path.join(directory, f"{kind}_info_0.json"))
            cls.recorded[real_data] = directory

    @classmethod
    def tearDownClass(cls):
        cls._scratch.cleanup()

    def out(self, name):
        return os.path.join(self.scratch, name)

    def run_ut(self, directory, out, *options, status=1):
        """By the documents it fails by the call that overflows: the benchmark of float16 is float32, which does not."""
        os.makedirs(out, exist_ok=True)
        done = subprocess.run([MSPROBE, "run_ut", "-forward", os.path.join(directory, "forward_info_0.json"), "-backward",
                               os.path.join(directory, "backward_info_0.json"), "--out_path", out, "-v", "--fail-on", "error",
                               *options], cwd=out, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def verdicts(self, out):
        rows = rows_of(os.path.join(out, "accuracy_checking_result.csv"))
        return {row["API name"]: (row["Forward Test Success"], row["Backward Test Success"]) for row in rows}

    def test_run_ut_on_the_cpu(self):
        for real_data, directory in self.recorded.items():
            out = self.out(f"on_cpu_{real_data}")
            done = self.run_ut(directory, out, "-d", "cpu")
            verdicts = self.verdicts(out)
            with open(os.path.join(directory, "forward_info_0.json"), encoding="utf-8") as file:
                self.assertEqual(list(verdicts), list(json.load(file)))
            self.assertEqual(verdicts["Torch*mm*0"], ("True", "True"))
            self.assertEqual(verdicts["Torch*mul*0"][0], "False")
            with open(os.path.join(out, "accuracy_checking_details.csv"), encoding="utf-8-sig", newline="") as file:
                titles = next(csv.reader(file))
            self.assertEqual(titles[:len(DETAIL_TITLES)], DETAIL_TITLES)
            details = {row["Npu Name"]: row for row in rows_of(os.path.join(out, "accuracy_checking_details.csv"))}
            row = details["Torch*mm*0.forward.output.0"]
            self.assertEqual((row["Bench Dtype"], row["NPU Dtype"], row["Shape"], row["Pass"], row["Strict Status"]),
                             ("torch.float64", "torch.float32", "(4, 8)", "True", "pass"))
            self.assertRegex(row["Cosine Similarity"], r"^[01]\.\d{14}$")
            self.assertIn("Total Pass", done.stdout)
            self.assertIn("Backward Fail", done.stdout)

    def test_a_moved_recording_is_read(self):
        moved = self.out("moved")
        shutil.copytree(self.recorded[True], moved)
        self.run_ut(moved, self.out("moved_out"), "-d", "cpu")
        self.assertEqual(self.verdicts(self.out("moved_out")), self.verdicts_of(True))

    def verdicts_of(self, real_data):
        out = self.out(f"cpu_{real_data}")
        if not os.path.exists(os.path.join(out, "accuracy_checking_result.csv")):
            self.run_ut(self.recorded[real_data], out, "-d", "cpu")
        return self.verdicts(out)

    @unittest.skipUnless(HAS_SIM, "needs the simulated device")
    def test_run_ut_on_a_faulty_device_saves_what_fails(self):
        faults = self.out("faults.yaml")
        with open(faults, "w", encoding="utf-8") as file:
            file.write("faults:\n  - fault: times_two\n    apis: [Torch.mm]\n    direction: forward\n")
        out = self.out("sim")
        done = self.run_ut(self.recorded[True], out, "-d", "sim", "--sim-config", faults, "-save_error_data", "--report")
        self.assertEqual(self.verdicts(out)["Torch*mm*0"][0], "False")
        saved = sorted(os.listdir(os.path.join(out, "ut_error_data")))
        for name in ("forward.input.0", "forward.output.bench.0", "forward.output.npu.0", "backward.input.0"):
            self.assertIn(f"Torch.mm.0.{name}.pt", saved)
        details = {row["Npu Name"]: row for row in rows_of(os.path.join(out, "accuracy_checking_details.csv"))}
        row = details["Torch*mm*0.forward.output.0"]
        self.assertEqual((row["Pass"], row["Strict Status"]), ("False", "error"))
        self.assertIn("2", row["Likely Cause"])
        self.assertTrue(row["Rerun Command"].startswith("msprobe run_ut -forward "), row["Rerun Command"])
        (page,) = glob.glob(os.path.join(out, "*report*.html"))
        self.assertIn("saved", done.stderr)
        sarif = self.out("verdicts.sarif")
        subprocess.run(
            [MSPROBE, "report", os.path.join(out, "accuracy_checking_result.csv"), "-o", self.out("again.html"), "--sarif", sarif],
            cwd=out,
            capture_output=True,
            check=False,
        )
        with open(sarif, encoding="utf-8") as file:
            self.assertIn("main.py", file.read())  # the line, from stack_info
        # Neither the result nor the saved data are overwritten.
        refused = self.run_ut(self.recorded[True], out, "-d", "cpu", status=2)
        self.assertIn("already exists, please remove it first or use a new dump path", refused.stderr)

    def test_files_that_lack_the_last_bracket_are_accepted(self):
        """All three of a recording that was killed: same verdicts, and the source lines are there."""
        cut = self.out("killed")
        shutil.copytree(self.recorded[False], cut)
        for path in glob.glob(os.path.join(cut, "*_info_0.json")):
            with open(path, encoding="utf-8") as file:
                text = file.read().rstrip()
            self.assertTrue(text.endswith("}"), path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text[:-1])
        out, sarif = self.out("killed_out"), self.out("killed.sarif")
        done = self.run_ut(cut, out, "-d", "cpu", "--sarif", sarif)
        for kind in ("forward", "backward", "stack"):
            self.assertIn(f"{kind}_info_0.json: the last '}}' is missing", done.stderr)
        self.assertEqual(self.verdicts(out), self.verdicts_of(False))
        with open(sarif, encoding="utf-8") as file:
            self.assertIn("main.py", file.read())

    def test_error_data_path_chooses_where_errors_are_saved(self):
        """As update_config(error_data_path=...) writes it beside the recording."""
        out, errors, settings = self.out("errors_out"), self.out("errors"), self.out("checker_config_0.yaml")
        os.mkdir(errors)
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"error_data_path: '{errors}'\n")
        self.run_ut(self.recorded[False], out, "-d", "cpu", "-save_error_data", "--config-yaml", settings)
        self.assertIn("Torch.mul.0.forward.input.0.pt", os.listdir(os.path.join(errors, "ut_error_data")))
        self.assertFalse(os.path.exists(os.path.join(out, "ut_error_data")))

    def test_an_interrupted_run_is_continued(self):
        whole = self.out("whole")
        self.run_ut(self.recorded[False], whole, "-d", "cpu")
        cut = self.out("cut")
        shutil.copytree(whole, cut)
        result = os.path.join(cut, "accuracy_checking_result.csv")
        with open(result, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        with open(result, "wb") as file:
            file.writelines(lines[:2])
        done = self.run_ut(self.recorded[False], cut, "-d", "cpu", "-csv_path", result)
        self.assertIn("continuing after", done.stderr)
        for name in ("accuracy_checking_result.csv", "accuracy_checking_details.csv"):
            with open(os.path.join(whole, name), "rb") as one, open(os.path.join(cut, name), "rb") as other:
                self.assertEqual(one.read(), other.read(), name)

    def test_both_files_are_mandatory(self):
        forward = os.path.join(self.recorded[False], "forward_info_0.json")
        done = subprocess.run([MSPROBE, "run_ut", "-forward", forward], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("run_ut needs both files", done.stderr)
        done = subprocess.run([MSPROBE, "run_ut", "-forward", "f.txt", "-backward", "b.txt"], capture_output=True, text=True)
        self.assertIn("The forward_input_file and backward_input_file should be a json file!", done.stderr)

    def test_bad_input_ends_as_the_status_table_says(self):
        place = self.out("bad")
        os.mkdir(place)
        tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "Max": 1.0, "Min": 0.0, "requires_grad": True}
        good = {"args": [tensor], "kwargs": {}}
        files = {
            "good": {"Torch*exp*0": good},
            "backward": {},
            "empty": {},
            "list": [],
            "broken": {"Torch*exp*0": {"args": 3}, "Torch*exp*1": good},
            "unknown": {"Torch*nosuch*0": good},
            "gone": {"Torch*exp*0": {"args": [{**tensor, "datapath": "/home/a/gone.pt"}], "kwargs": {}}},
            "outside": {"Torch*exp*0": {"args": [{**tensor, "datapath": "../../etc/passwd.npy"}], "kwargs": {}}, "Torch*exp*1": good},
            "dump": {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": {}},
        }
        for name, content in files.items():
            with open(os.path.join(place, f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(content, file)
        cases = [  # forward, backward, further options, status, text
            ("good", "backward", [], 0, ""),
            ("missing", "backward", [], 2, "missing.json does not exist"),
            ("list", "backward", [], 2, "the file must be an object"),
            ("good", "list", [], 2, "the file must be an object"),
            ("dump", "backward", [], 2, "msprobe acc_check -api_info"),
            ("empty", "backward", [], 2, "nothing was checked"),
            ("unknown", "backward", [], 2, "nothing was checked"),
            ("broken", "backward", [], 1, "Run Torch*exp*0 acc_check Error: broken_record"),
            ("outside", "backward", [], 1, "leads out of the dump directory"),
            ("gone", "backward", [], 1, "--data_path"),
            ("good", "backward", ["-d", "npu:0"], 2, "no device npu:0"),
            ("good", "backward", ["--out_path", os.path.join(place, "good.json")], 2, "cannot be used as a directory"),
            ("good", "backward", ["-csv_path", "nowhere.csv"], 2, "nowhere.csv does not exist"),
        ]
        for number, (forward, backward, options, status, text) in enumerate(cases):
            out = os.path.join(place, f"out{number}")
            os.mkdir(out)
            where = [] if "--out_path" in options else ["--out_path", out]
            done = subprocess.run([MSPROBE, "run_ut", "-forward", f"{forward}.json", "-backward", f"{backward}.json", *where, "-v",
                                   "--fail-on", "error", *options], cwd=place, capture_output=True, text=True)
            with self.subTest(forward=forward, backward=backward, options=options):
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(text, done.stderr)

    def test_forward_given_to_acc_check_says_which_command_to_use(self):
        for command in ("acc_check", "multi_acc_check"):
            done = subprocess.run([MSPROBE, command, "-forward", "forward_info_0.json"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(
                f"-forward is not an option of {command}; it belongs to msprobe run_overflow_check and msprobe run_ut", done.stderr
            )
        forward = os.path.join(self.recorded[False], "forward_info_0.json")
        done = subprocess.run([MSPROBE, "acc_check", "-api_info", forward], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"check it with msprobe run_ut -forward {forward}", done.stderr)

    def test_the_examples_of_the_document_run_as_written(self):
        tools = self.out("att/debug/accuracy_tools")
        shutil.copytree(PYTHON, tools, ignore=shutil.ignore_patterns("__pycache__"))
        place = os.path.join(tools, "api_accuracy_checker", "run_ut")
        shutil.copytree(self.recorded[True], place, dirs_exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": tools, "MSPROBE_PROGRAM": MSPROBE}
        for command, status in (("run_ut.py -forward ./forward_info_0.json -backward ./backward_info_0.json -save_error_data", 0),
                                ("run_overflow_check.py -forward ./forward_info_0.json", 0)):
            done = subprocess.run([sys.executable, *command.split()], cwd=place, env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertTrue(os.listdir(os.path.join(place, "ut_error_data")))
        self.assertTrue(os.path.exists(os.path.join(place, "accuracy_checking_result.csv")))
        self.assertTrue(os.path.exists(os.path.join(place, "accuracy_checking_details.csv")))

    def overflow(self, *options, status):
        out = tempfile.mkdtemp(dir=self.scratch)
        directory = self.recorded[True]
        done = subprocess.run([MSPROBE, "run_overflow_check", "-forward", os.path.join(directory, "forward_info_0.json"), "-backward",
                               os.path.join(directory, "backward_info_0.json"), "-o", out, *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return {row["API Name"]: row["Verdict"] for row in rows_of(os.path.join(out, "overflow_check_result.csv"))}

    def test_run_overflow_check_on_the_cpu(self):
        verdicts = self.overflow("-d", "cpu", status=0)
        self.assertEqual(verdicts["Torch*mul*0"], "normal")
        self.assertEqual(verdicts["Torch*mm*0"], "not reproduced")
        self.assertEqual(verdicts["Torch*mm*0.backward"], "not reproduced")

    @unittest.skipUnless(HAS_SIM, "needs the simulated device")
    def test_run_overflow_check_on_sim(self):
        verdicts = self.overflow("-d", "sim", "--sim-profile", "saturate", status=0)
        self.assertEqual(verdicts["Torch*mul*0"], "normal")
        faults = self.out("inf.yaml")
        with open(faults, "w", encoding="utf-8") as file:
            file.write("faults:\n  - fault: one_inf\n    apis: [Torch.mm]\n")
        verdicts = self.overflow("-d", "sim", "--sim-config", faults, status=1)
        self.assertEqual((verdicts["Torch*mm*0"], verdicts["Torch*mm*0.backward"]), ("abnormal", "abnormal"))
        self.assertEqual(verdicts["Torch*mul*0"], "normal")


@unittest.skipUnless(MSPROBE, "needs msprobe")
class Shims(unittest.TestCase):
    def test_the_import_of_the_conversion_script(self):
        """`from components.utils.acc_cmp import parse_torchair_dump_data`, as that script has it."""
        done = subprocess.run([sys.executable, "-c", "from components.utils.acc_cmp import parse_torchair_dump_data as parse\n"
                               "try:\n    parse('/nowhere')\nexcept ValueError as error:\n    print(error)"],
                              env={**os.environ, "MSPROBE_PROGRAM": MSPROBE}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nowhere", done.stdout)

    @unittest.skipUnless(BUILD and os.path.realpath(BUILD) == os.path.realpath(os.path.join(PYTHON, "..", "build", "release")),
                         "the tests run in another build tree than the clone's build/release")
    def test_the_clone_on_the_python_path_is_enough(self):
        """Document 004: $ATT_HOME/debug/accuracy_tools is appended to PYTHONPATH, and nothing is installed."""
        with tempfile.TemporaryDirectory() as scratch:
            script = textwrap.dedent(TRAINING).format(path=scratch, real_data=False)
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=scratch,
                                  env={**os.environ, "PYTHONPATH": os.path.realpath(PYTHON)}, capture_output=True, text=True)
            self.assertIn("Exception: Model pretest: exit after iteration 1.", done.stderr)
            self.assertEqual(sorted(name.split("_info_")[0] for name in os.listdir(scratch)), ["backward", "forward", "stack"])

    def test_switched_off_only_complete_files_remain(self):
        script = """
            import os, torch
            from api_accuracy_checker.dump import msCheckerConfig
            from api_accuracy_checker.dump.dump import set_dump_switch
            msCheckerConfig.update_config(dump_path={path!r}, enable_dataloader=False)
            x = torch.ones(2, 2)
            for _ in range(3):
                set_dump_switch("ON")
                torch.mm(x, x)
                set_dump_switch("OFF")
                assert not [name for name in os.listdir({path!r}) if name.endswith(".new")], os.listdir({path!r})
        """
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(script).format(path=scratch)],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            (path,) = glob.glob(os.path.join(scratch, "forward_info_*.json"))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(list(json.load(file)), ["Torch*mm*0", "Torch*mm*1", "Torch*mm*2"])

    def test_a_program_that_is_not_there_is_one_line(self):
        done = subprocess.run([sys.executable, os.path.join(PYTHON, "api_accuracy_checker", "run_ut", "run_ut.py")],
                              env={**os.environ, "MSPROBE_PROGRAM": "/nowhere/msprobe"}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
