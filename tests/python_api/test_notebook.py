# SPDX-License-Identifier: Apache-2.0
"""What a notebook does beside calling functions: it interrupts, shows progress, and shows results as HTML and as a DataFrame."""
import contextlib
import io
import os
import pathlib
import signal
import stat
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import msprobe
from msprobe.checking import CheckResult, Failure
from msprobe.progress import Progress, count_calls

DUMP = '{"data": {\n "Torch.exp.0.forward": {},\n "Torch.exp.0.backward": {},\n "Torch.mul.0.forward": {},\n "Torch.mul.1.forward": {}\n}}\n'
# Stands for the program: says that it runs, and how it was ended.
SLOW = """#!{python}
import signal, sys, time
def end(number, frame):
    open("{directory}/ended", "w").close()
    sys.exit(2)
signal.signal(signal.SIGINT, end)
open("{directory}/started", "w").close()
time.sleep(600)
"""


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


class Notebook(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.dump = self.directory / "dump.json"
        self.dump.write_text(DUMP, encoding="utf-8")

    def test_an_interrupt_of_python_alone_ends_the_program_in_good_order(self):
        program = self.directory / "program"
        program.write_text(SLOW.format(python=sys.executable, directory=self.directory), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

        def interrupt():
            wait_for((self.directory / "started").exists)
            os.kill(os.getpid(), signal.SIGINT)

        with mock.patch.dict(os.environ, MSPROBE_PROGRAM=str(program)), self.assertRaises(KeyboardInterrupt):
            threading.Thread(target=interrupt).start()
            msprobe.check(self.dump, progress=False)
        self.assertTrue((self.directory / "ended").exists())

    def test_progress_counts_the_calls_that_have_a_row(self):
        self.assertEqual(count_calls(str(self.dump)), 3)
        (self.directory / "accuracy_checking_result_1.csv").write_text("title\nrow\nrow\n", encoding="utf-8")
        shown = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), contextlib.redirect_stderr(shown), \
             Progress(str(self.directory), [str(self.dump)], enabled=True):
            wait_for(lambda: "2/3 [" in shown.getvalue())
        self.assertTrue(shown.getvalue().endswith("\r"), "the line is left empty")

    def test_progress_is_that_of_tqdm_where_it_is(self):
        bars = []

        class Bar:
            def __init__(self, total, **_):
                self.total, self.n, self.closed = total, 0, False
                bars.append(self)

            def update(self, more):
                self.n += more

            def close(self):
                self.closed = True

        (self.directory / "accuracy_checking_result_1.csv").write_text("title\nrow\nrow\n", encoding="utf-8")
        auto = types.SimpleNamespace(tqdm=Bar)
        with mock.patch.dict(sys.modules, {"tqdm": types.SimpleNamespace(auto=auto), "tqdm.auto": auto}), \
             Progress(str(self.directory), [str(self.dump)], enabled=True):
            wait_for(lambda: bars and bars[0].n == 2)
        self.assertEqual((bars[0].total, bars[0].closed), (3, True))

    def test_progress_is_silent_where_nobody_looks(self):
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown), Progress(str(self.directory), [str(self.dump)]):
            pass
        self.assertEqual(shown.getvalue(), "")

    def result(self, failures):
        return CheckResult(device="npu:0", dump=str(self.dump), recorded=3, checked=3, skipped={}, lost=0, failures=failures, result_csv="",
                           details_csv="", exit_status=1 if failures else 0)

    def test_html_is_a_sentence_and_a_table_and_hides_no_markup(self):
        failure = Failure("Torch.mul.0", "forward.output.0", "error", "1 < 2 & so on", "<script>", "float32", "[4]", "pass")
        page = self.result([failure] * 101)._repr_html_()
        self.assertIn("npu:0: NOT OK. 1 API wrong: Torch.mul (1)", page)
        self.assertIn("1 &lt; 2 &amp; so on", page)
        self.assertNotIn("<script>", page)
        self.assertEqual(page.count("<tr>"), 101)
        self.assertIn("and 1 more", page)
        self.assertNotIn("<table>", self.result([])._repr_html_())

    def test_a_data_frame_has_a_row_for_each_failure(self):
        failure = Failure("Torch.mul.0", "forward.output.0", "error", "why", "", "float32", "[4]", "pass")
        pandas = types.SimpleNamespace(DataFrame=lambda rows, columns: (rows, columns))
        with mock.patch.dict(sys.modules, pandas=pandas):
            rows, columns = self.result([failure]).frame
        self.assertEqual([row["call"] for row in rows], ["Torch.mul.0"])
        self.assertEqual(columns[:3], ["call", "result", "status"])


if __name__ == "__main__":
    unittest.main()
