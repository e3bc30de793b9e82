# SPDX-License-Identifier: Apache-2.0
"""Recording, checking and reading the result from Python, as a notebook does it."""
import contextlib
import io
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

import msprobe

FAULTY = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "faulty_device.yaml")


def train() -> torch.Tensor:
    torch.manual_seed(0)
    weight = torch.randn(2, 16, 16, requires_grad=True)
    loss = torch.matmul(torch.randn(2, 4, 16), weight).relu().sum()
    loss.backward()
    return loss


class Api(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dump = os.path.join(scratch.name, "dump")

    def record(self):
        with msprobe.record(self.dump) as recording:
            train()
        return recording

    def test_recording_changes_nothing_and_can_be_repeated(self):
        plain = train()
        for _ in range(2):
            with msprobe.record(self.dump) as recording:
                recorded = train()
            self.assertTrue(torch.equal(plain, recorded))
            self.assertTrue(os.path.isfile(recording.path))
            self.assertGreaterEqual(msprobe.check(self.dump).checked, 3)

    def test_the_block_may_raise_and_what_was_recorded_stays(self):
        with self.assertRaisesRegex(ValueError, "mine"):
            with msprobe.record(self.dump):
                train()
                raise ValueError("mine")
        self.assertTrue(msprobe.check(self.dump))

    def test_a_correct_device_is_ok(self):
        recording = self.record()
        result = msprobe.check(recording.path, "cpu")
        self.assertTrue(result.ok)
        self.assertEqual(result.failures, [])
        self.assertEqual((result.recorded, result.lost), (result.checked, 0))
        self.assertRegex(str(result), r"^cpu: OK; \d+ of \d+ calls checked")
        self.assertIn("OK", result._repr_html_())

    def test_a_wrong_kernel_is_named_with_its_cause(self):
        self.record()
        result = msprobe.check(self.dump, "sim", sim_config=FAULTY)
        self.assertFalse(result)
        self.assertEqual({failure.call for failure in result.failures}, {"Torch.matmul.0"})
        self.assertIn("forward.output.0", {failure.result for failure in result.failures})
        self.assertIn("lost terms", result.failures[0].cause)
        self.assertIn("NOT OK. 1 API wrong: Torch.matmul (1)", str(result))
        self.assertIn("Torch.matmul.0", result._repr_html_())
        report = result.report(os.path.join(os.path.dirname(self.dump), "report.html"))
        self.assertIn("<html", pathlib.Path(report).read_text(encoding="utf-8")[:500])
        small = result.shrink("Torch.matmul.0", os.path.join(os.path.dirname(self.dump), "small"))
        self.assertTrue(os.listdir(small))
        with self.assertRaisesRegex(ValueError, "not among the failing calls"):
            result.shrink("Torch.relu.0")

    def test_an_operator_that_raises_on_the_device_is_a_failure(self):
        self.record()
        faults = pathlib.Path(self.dump).parent / "sim.yaml"
        faults.write_text("faults:\n  - {fault: no_kernel, apis: [Tensor.relu]}\n", encoding="utf-8")
        result = msprobe.check(self.dump, "sim", sim_config=faults)
        self.assertFalse(result.ok)
        self.assertEqual((result.raised, result.lost), (1, 0))
        failure, = result.failures
        self.assertEqual((failure.call, failure.status), ("Tensor.relu.0", "raised"))
        self.assertIn("no kernel", failure.reason)
        self.assertIn("NOT OK. 1 API does not run on the device: Tensor.relu; ", str(result))
        self.assertIn("RAISED  Tensor.relu.0 forward.output.0: does not run on the device: ", str(result))

    def test_a_failure_has_its_error_over_bound(self):
        self.record()
        result = msprobe.check(self.dump, "sim", sim_config=FAULTY)
        self.assertGreater(result.failures[0].error_over_bound, 4)

    def test_the_failures_are_a_data_frame_if_pandas_is_there(self):
        self.record()
        result = msprobe.check(self.dump)
        try:
            import pandas  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                _ = result.frame
        else:
            self.assertEqual(list(result.frame.columns)[:2], ["call", "result"])

    def test_every_call_is_there_with_its_numbers(self):
        self.record()
        result = msprobe.check(self.dump, "sim", sim_config=FAULTY)
        self.assertEqual(len(result.calls), result.recorded)
        wrong = next(call for call in result.calls if call.name == "Torch.matmul.0")
        self.assertEqual(wrong.status, "error")
        self.assertGreater(wrong.error_over_bound, 1)
        self.assertIn("test_check.py", wrong.line)
        self.assertEqual(wrong.results[0]["result"], "forward.output.0")
        self.assertIsInstance(wrong.results[0]["metrics"]["Cosine similarity"], float)
        failure = result.failures[0]
        self.assertEqual((failure.line, failure.error_over_bound > 1), (wrong.line, True))
        self.assertTrue(any(cell > 1 for line in failure.map.cells for cell in line))
        self.assertIn("<svg", failure.map._repr_html_())
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            result.show("Torch.relu.0")
        self.assertIn("no error map", shown.getvalue())

    def test_profiles_and_patterns_are_keywords(self):
        self.record()
        result = msprobe.check(self.dump, "sim", sim_profile="bf16-accumulate", only=["matmul"], seed=7)
        self.assertEqual(result.recorded - result.checked, result.recorded - 1)
        self.assertFalse(result.ok)
        with self.assertRaisesRegex(msprobe.CheckError, "--fail-on"):
            msprobe.check(self.dump, fail_on="nothing")

    def test_several_steps_give_one_result(self):
        self.record()
        shutil.copytree(os.path.join(self.dump, "step0"), os.path.join(self.dump, "step1"))
        result = msprobe.check(self.dump, "sim", sim_config=FAULTY)
        self.assertEqual([part.place for part in result.parts], ["step0/rank0", "step1/rank0"])
        self.assertEqual(result.checked, 2 * result.parts[0].checked)
        self.assertEqual({failure.place for failure in result.failures}, {"step0/rank0", "step1/rank0"})
        self.assertEqual({call.place for call in result.calls}, {"step0/rank0", "step1/rank0"})
        self.assertFalse(result.ok)
        self.assertTrue(msprobe.check(self.dump).ok)

    def test_check_calls_raises_for_a_wrong_call_only(self):
        with msprobe.check_calls() as checked:
            train()
        self.assertTrue(checked.result.ok)
        with self.assertRaisesRegex(AssertionError, "Torch.matmul.0"):
            with msprobe.check_calls(device="sim", sim_config=FAULTY):
                train()

    def test_errors_say_what_is_wrong(self):
        with self.assertRaisesRegex(FileNotFoundError, "no such file"):
            msprobe.check(self.dump + "x")
        os.mkdir(self.dump)
        with self.assertRaisesRegex(FileNotFoundError, "no dump.json here"):
            msprobe.check(self.dump)
        self.record()
        with self.assertRaisesRegex(msprobe.DeviceMissing, "npu"):
            msprobe.check(self.dump, "npu:7")

    def test_a_live_debugger_is_not_disturbed(self):
        code = ("import msprobe, msprobe.pytorch\n"
                f"msprobe.pytorch.PrecisionDebugger(dump_path={self.dump!r})\n"
                f"try:\n    with msprobe.record({self.dump!r}): pass\n"
                "except RuntimeError as error: print(error)\n"
                "msprobe.pytorch.PrecisionDebugger.close()\n"
                f"with msprobe.record({self.dump!r}): pass\n")
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertIn("a PrecisionDebugger exists in this process", out)

    def test_python_m_msprobe_is_the_program(self):
        out = subprocess.run([sys.executable, "-m", "msprobe", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(out.split()[-1], msprobe.__version__)

    def test_the_notebook_of_the_docs_runs(self):
        page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
        blocks = page.read_text(encoding="utf-8").split("```python\n")[1:]
        script = os.path.join(os.path.dirname(self.dump), "page.py")
        pathlib.Path(script).write_text("\n".join(block.split("```")[0] for block in blocks), encoding="utf-8")
        here = os.getcwd()
        os.chdir(os.path.dirname(self.dump))
        try:
            names = runpy.run_path(script)
        finally:
            os.chdir(here)
        self.assertTrue(names["result"].ok)


if __name__ == "__main__":
    unittest.main()
