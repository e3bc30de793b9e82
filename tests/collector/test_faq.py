# SPDX-License-Identifier: Apache-2.0
"""Every behaviour that the FAQ of the public tool promises or explains, a test each; docs/faq.md lists them."""
import contextlib
import csv
import functools
import glob
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
from unittest import mock

import numpy
import torch
import torch.nn.functional as F

from collected import debugger, forwards, read, record, step_directory
from msprobe.pytorch import PrecisionDebugger

MSPROBE = os.environ.get("MSPROBE")
BUILD = os.environ.get("MSPROBE_BUILD_DIR")
EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "two_devices")
HAS_ENGINE = os.environ.get("MSPROBE_HAS_ENGINE") == "1"
needs_engine = unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe-engine")

# The table of the FAQ, and an expression for each row; __bool__, __nonzero__ and __div__ are tested beside them.
MAGIC = {
    "__add__": lambda x, i: x + x, "__and__": lambda x, i: i & i, "__eq__": lambda x, i: x == x, "__ge__": lambda x, i: x >= x,
    "__gt__": lambda x, i: x > x, "__lshift__": lambda x, i: i << 1, "__matmul__": lambda x, i: x @ x, "__mod__": lambda x, i: x % 2,
    "__mul__": lambda x, i: x * x, "__or__": lambda x, i: i | i, "__radd__": lambda x, i: 1 + x, "__rmul__": lambda x, i: 2 * x,
    "__rshift__": lambda x, i: i >> 1, "__sub__": lambda x, i: x - x, "__truediv__": lambda x, i: x / 2, "__xor__": lambda x, i: i ^ i,
}
IN_PLACE = {
    "__iadd__": "x += 1", "__iand__": "i &= 1", "__idiv__": "x /= 2", "__ifloordiv__": "x //= 1", "__ilshift__": "i <<= 1",
    "__imod__": "x %= 3", "__imul__": "x *= 2", "__ior__": "i |= 1", "__irshift__": "i >>= 1", "__isub__": "x -= 1", "__ixor__": "i ^= 1",
}


def rows_of(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def check(dump, *options, device="cpu"):
    """acc_check on a dump: its status, what it said, its details by row name."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([MSPROBE, "acc_check", "-api_info", dump, "-d", device, "-o", out, *options], capture_output=True, text=True)
        details = glob.glob(os.path.join(out, "accuracy_checking_details_*.csv"))
        rows = {row["API name"]: row for row in rows_of(details[0])} if details else {}
    return done.returncode, done.stderr, rows


def recorded_check(work, config=None, options=(), change=lambda directory: None, device="cpu"):
    """Records `work`, lets `change` at the files, and checks them."""
    with debugger(config) as made:
        made.start()
        work()
        made.stop()
        made.step()
        directory = step_directory(made)
        change(directory)
        return check(os.path.join(directory, "dump.json"), *options, device=device)


def npu_with_jit_compile(on):
    """A stand-in for torch_npu: the one function that the collector asks."""
    module = types.ModuleType("torch_npu")
    module.npu = types.SimpleNamespace(is_jit_compile_false=lambda: not on)
    return module


class Precheck(unittest.TestCase):
    @needs_engine
    def test_jit_compile_is_alike_in_dump_and_replay(self):
        """The dump records the setting of the NPU (of a stand-in here); a replay with another one warns. Without an NPU nothing changes."""
        _status, told, _rows = recorded_check(lambda: torch.exp(torch.ones(3)), options=["-j"])
        self.assertIn("jit_compile has no effect on cpu", told)
        self.assertNotIn("the dump was recorded with", told)
        for on, options, warned in ((True, [], True), (True, ["-j"], False), (False, ["-j"], True), (False, [], False)):
            with mock.patch.dict(sys.modules, {"torch_npu": npu_with_jit_compile(on)}):
                _status, told, _rows = recorded_check(lambda: torch.exp(torch.ones(3)), options=options)
            text = f"the dump was recorded with jit_compile {'on' if on else 'off'}, this check runs with it"
            self.assertEqual(text in told, warned, told)

    def test_a_torch_npu_that_cannot_say_its_jit_compile_is_no_fault(self):
        with mock.patch.dict(sys.modules, {"torch_npu": types.ModuleType("torch_npu")}), debugger() as made:
            made.start()
            torch.exp(torch.ones(1))
            made.stop()
            made.step()
            self.assertNotIn("jit_compile", read(made))

    @needs_engine
    def test_type_as_is_not_raised(self):
        x = torch.rand(4, dtype=torch.float16)
        status, _told, rows = recorded_check(lambda: x.type_as(torch.ones(1)))
        self.assertEqual(status, 0)
        row = rows["Tensor.type_as.0.forward.output.0"]
        self.assertEqual((row["Bench Dtype"], row["DEVICE Dtype"]), ("torch.float32", "torch.float32"))

    @needs_engine
    def test_bfloat16_is_supported_on_the_cpu(self):
        x = torch.rand(8, 8, dtype=torch.bfloat16, requires_grad=True)
        for task in ("statistics", "tensor"):
            status, told, rows = recorded_check(lambda: torch.mm(x, x).sum().backward(), {"task": task})
            self.assertEqual(status, 0, told)
            self.assertNotIn("unsupported ScalarType", told)
            self.assertEqual(rows["Torch.mm.0.forward.output.0"]["DEVICE Dtype"], "torch.bfloat16")

    @needs_engine
    def test_dropout_is_judged_by_its_share_of_zeros(self):
        x = torch.rand(1000)
        status, told, rows = recorded_check(lambda: F.dropout(x, 0.3), {"task": "tensor"}, device="recorded")
        self.assertEqual((status, rows["Functional.dropout.0.forward.output.0"]["Status"]), (0, "pass"), told)

        def keep_everything(directory):
            torch.save(x / 0.7, os.path.join(directory, "dump_tensor_data", "Functional.dropout.0.forward.output.0.pt"))

        status, _told, rows = recorded_check(lambda: F.dropout(x, 0.3), {"task": "tensor"}, change=keep_everything, device="recorded")
        self.assertEqual((status, rows["Functional.dropout.0.forward.output.0"]["Status"]), (1, "error"))

    @needs_engine
    def test_the_benchmark_of_float16_is_float32(self):
        x = torch.rand(4, 4, dtype=torch.float16)
        _status, _told, rows = recorded_check(lambda: torch.exp(x))
        row = rows["Torch.exp.0.forward.output.0"]
        self.assertEqual((row["Bench Dtype"], row["DEVICE Dtype"]), ("torch.float32", "torch.float16"))

    def test_indexing_works_while_recording(self):
        x = torch.arange(6.0).reshape(2, 3)

        def work():
            self.assertEqual(x[1, ..., :2].tolist(), [3.0, 4.0])
            self.assertEqual(x[x > 4].tolist(), [5.0])
            with self.assertRaisesRegex(IndexError, "too many indices"):
                x[0, 0, 0]
            with self.assertRaisesRegex(TypeError, "0-d tensor"):
                len(torch.tensor(1.0))

        record(work)

    def test_gelu_stays_the_function_it_is(self):
        gelu = F.gelu

        def work():
            self.assertIs(F.gelu, gelu)
            F.gelu(torch.ones(2))

        self.assertIn("Functional.gelu.0", forwards(record(work)))

    def test_t_and_transpose_keep_their_strides(self):
        x = torch.arange(6.0).reshape(2, 3)

        def work():
            self.assertEqual((x.t().stride(), x.transpose(0, 1).stride()), ((1, 3), (1, 3)))

        record(work)

    def test_magic_functions_have_the_names_of_the_table(self):
        for name, expression in MAGIC.items():
            x, i = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64)
            self.assertEqual(forwards(record(functools.partial(expression, x, i))), [f"Tensor.{name}.0"], name)
        for name, statement in IN_PLACE.items():
            scope = {"x": torch.ones(2, 2), "i": torch.ones(2, 2, dtype=torch.int64)}
            self.assertEqual(forwards(record(functools.partial(exec, statement, scope))), [f"Tensor.{name}.0"], name)
        x = torch.ones(1)
        self.assertEqual(forwards(record(lambda: bool(x))), ["Tensor.__bool__.0"])
        self.assertEqual(forwards(record(lambda: x.__nonzero__())), ["Tensor.__bool__.0"])  # "the same as __bool__"
        self.assertEqual(forwards(record(lambda: x.__div__(2))), ["Tensor.__div__.0"])


EDITED = """
    import json, sys, types
    import torch
    import torch.nn.functional as F
    torch_npu = types.ModuleType("torch_npu")
    library = torch.library.Library("npu", "DEF")
    library.define("npu_fused_by_us(Tensor x, float scale) -> Tensor")
    library.impl("npu_fused_by_us", lambda x, scale: torch.softmax(x * scale, -1), "CPU")
    torch_npu.npu_fused_by_us = torch.ops.npu.npu_fused_by_us
    sys.modules["torch_npu"] = torch_npu
    from msprobe.pytorch import PrecisionDebugger
    debugger = PrecisionDebugger(dump_path="dump")
    debugger.start()
    x = torch.ones(2, 2)
    x[0], F.gelu(x), x.t(), x.transpose(0, 1), torch.exp(x)
    torch_npu.npu_fused_by_us(x, 2.0)
    debugger.stop()
    debugger.step()
"""


@unittest.skipUnless(BUILD, "needs a build directory")
class EditsOfSupportWrapOps(unittest.TestCase):
    """A user edits support_wrap_ops.yaml of the package."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as scratch:
            directory = os.path.realpath(scratch)
            packages = os.path.join(directory, "packages")
            shutil.copytree(os.path.join(BUILD, "python", "msprobe"), os.path.join(packages, "msprobe"),
                            ignore=shutil.ignore_patterns("__pycache__"), ignore_dangling_symlinks=True)
            path = os.path.join(packages, "msprobe", "pytorch", "hook_module", "support_wrap_ops.yaml")
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            removed = {"  - __getitem__", "  - gelu", "  - t", "  - transpose"}
            kept = ["#" + line if line in removed else line for line in lines]
            kept.insert(kept.index("torch_npu:") + 1, "  - npu_fused_by_us")
            os.chmod(path, 0o644)
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(kept) + "\n")
            script = os.path.join(directory, "script.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(EDITED))
            done = subprocess.run([sys.executable, "-W", "ignore", script], cwd=directory, capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": packages})
            assert done.returncode == 0, done.stderr
            (dump,) = glob.glob(os.path.join(directory, "dump", "step0", "*", "dump.json"))
            with open(dump, encoding="utf-8") as file:
                cls.calls = forwards(json.load(file)["data"])

    def test_getitem_is_not_recorded_once_its_line_is_removed(self):
        self.assertFalse([name for name in self.calls if "__getitem__" in name])
        self.assertIn("Torch.exp.0", self.calls)

    def test_gelu_is_not_recorded_once_its_line_is_removed(self):
        self.assertFalse([name for name in self.calls if "gelu" in name])

    def test_t_and_transpose_are_not_recorded_once_their_lines_are_removed(self):
        self.assertFalse([name for name in self.calls if name.split(".")[1] in ("t", "transpose")])

    def test_a_torch_npu_operator_is_recorded_once_its_line_is_added(self):
        self.assertIn("NPU.npu_fused_by_us.0", self.calls)


class Comparison(unittest.TestCase):
    def test_a_second_dump_into_one_directory_takes_the_place_of_the_first(self):
        with debugger() as made:
            for work in (torch.exp, torch.sin):
                made.set_init_step(0)
                made.start()
                work(torch.ones(1))
                made.stop()
                made.step()
            self.assertEqual(forwards(read(made)["data"]), ["Torch.ones.0", "Torch.sin.0"])

    def test_level_l2_says_what_it_needs(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told), self.assertRaises(SystemExit) as ended:
            PrecisionDebugger(level="L2")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("torch_npu", told.getvalue())

    test_the_nameerror_of_torch_npu_is_a_line_that_says_what_to_install = test_level_l2_says_what_it_needs

    @unittest.skipUnless(MSPROBE, "needs msprobe")
    def test_calls_that_do_not_align_are_skipped_and_counted(self):
        with tempfile.TemporaryDirectory() as directory:
            paths = {side: os.path.join(directory, f"{side}.csv") for side in ("npu", "gpu")}
            with open(os.path.join(EXAMPLE, "npu_details.csv"), encoding="utf-8-sig", newline="") as file:
                lines = file.read().split("\r\n")
            for side, call in (("npu", "Functional.embedding.0"), ("gpu", "Torch.arange.0")):
                with open(paths[side], "w", encoding="utf-8-sig", newline="") as file:
                    file.write("\r\n".join([lines[0], *(line for line in lines[1:] if line.startswith(call + "."))]) + "\r\n")
            done = subprocess.run([MSPROBE, "api_precision_compare", "-npu", paths["npu"], "-gpu", paths["gpu"], "-o", directory],
                                  capture_output=True, text=True)
            (result,) = glob.glob(os.path.join(directory, "api_precision_compare_result_*.csv"))
            (row,) = rows_of(result)
        self.assertNotEqual(done.returncode, 1, done.stderr)
        self.assertEqual((row["API name"], row["Forward Test Success"]), ("Functional.embedding.0", "SKIP"))

    def test_nested_inputs_have_suffixes_of_several_numbers(self):
        x = torch.ones(2)
        with debugger({"task": "tensor"}) as made:
            made.start()
            torch.cat([x, x, x])
            made.stop()
            made.step()
            names = os.listdir(os.path.join(step_directory(made), "dump_tensor_data"))
        for number in range(3):
            self.assertIn(f"Torch.cat.0.forward.input.0.{number}.pt", names)

    @needs_engine
    def test_nested_inputs_of_older_names_are_read(self):
        """VF_lstm_99_forward_input.1.0.npy: any name is read that lies in the data directory."""
        def rename(directory):
            path = os.path.join(directory, "dump.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for number in range(2):
                old, new = f"Torch.cat.0.forward.input.0.{number}.pt", f"Torch_cat_0_forward_input.0.{number}.npy"
                tensor = torch.load(os.path.join(directory, "dump_tensor_data", old))
                numpy.save(os.path.join(directory, "dump_tensor_data", new), tensor.numpy())
                text = text.replace(old, new)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        x = torch.rand(3)
        status, told, rows = recorded_check(lambda: torch.cat([x, x]), {"task": "tensor"}, change=rename)
        self.assertEqual((status, rows["Torch.cat.0.forward.output.0"]["Status"]), (0, "pass"), told)

    def test_stack_information_names_the_line_of_the_call(self):
        with debugger() as made:
            made.start()
            torch.exp(torch.ones(1))
            made.stop()
            made.step()
            stack = read(made, name="stack.json")
        frames = [frames for names, frames in stack.values() if "Torch.exp.0.forward" in names]
        self.assertRegex(frames[0][0], r"^File .*test_faq.py, line \d+, in \w+, \n torch.exp")

    def test_control_characters_of_the_absolute_path_are_refused(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory(suffix="abc\n") as directory:
            os.chdir(directory)
            try:
                with self.assertRaisesRegex(Exception, r"The file path .*abc\\n/dump' contains special characters"):
                    PrecisionDebugger(dump_path="./dump")
            finally:
                os.chdir(before)

    @unittest.skipUnless(MSPROBE, "needs msprobe")
    def test_control_characters_are_refused_by_the_commands_too(self):
        with tempfile.TemporaryDirectory(suffix="abc\t") as directory:
            path = os.path.join(directory, "dump.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            done = subprocess.run([MSPROBE, "acc_check", "-api_info", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\[ERROR\].*The file path .* contains special characters")

    @needs_engine
    def test_a_dump_in_a_directory_of_any_name_is_checked(self):
        """Blanks, =, comma, @, +, brackets, umlauts, Chinese; the re-run command in the table can be pasted."""
        with tempfile.TemporaryDirectory(suffix=" a=b,c@d+(1)[2] ü 中") as directory, debugger({"task": "tensor"}) as made:
            made.config.dump_path = os.path.join(directory, "dump")
            made.start()
            torch.exp(torch.rand(4))
            made.stop()
            made.step()
            path = os.path.join(step_directory(made), "dump.json")
            status, told, rows = check(path)
            self.assertEqual((status, rows["Torch.exp.0.forward.output.0"]["Status"]), (0, "pass"), told)
            torch.save(torch.zeros(4), os.path.join(step_directory(made), "dump_tensor_data", "Torch.exp.0.forward.output.0.pt"))
            status, told, rows = check(path, device="recorded")
            self.assertEqual(status, 1, told)
            words = shlex.split(rows["Torch.exp.0.forward.output.0"]["Rerun Command"])
            self.assertEqual(words[words.index("-api_info") + 1], path)

    @needs_engine
    def test_a_dump_of_another_pytorch_is_named(self):
        def another(directory):
            path = os.path.join(directory, "dump.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(torch.__version__, "2.1.0"))

        _status, told, _rows = recorded_check(lambda: torch.exp(torch.ones(3)), change=another)
        self.assertIn("the dump was recorded with PyTorch 2.1.0, this check runs with", told)

    @needs_engine
    def test_the_gradient_of_a_matmul_weight_may_be_missing_in_the_recording(self):
        """Above two dimensions the last node is a view: one gradient is recorded. The check computes both."""
        x, w = torch.rand(2, 3, 4, requires_grad=True), torch.rand(4, 5, requires_grad=True)
        kept = {}

        def look(directory):
            with open(os.path.join(directory, "dump.json"), encoding="utf-8") as file:
                kept.update(json.load(file)["data"])

        status, told, rows = recorded_check(lambda: torch.matmul(x, w).sum().backward(), change=look)
        self.assertEqual(status, 0, told)
        self.assertEqual(len(kept["Torch.matmul.0.backward"]["output"]), 1)
        self.assertIn("Torch.matmul.0.backward.output.1", rows)

    @needs_engine
    def test_the_recorded_dtype_wins_over_that_of_the_file(self):
        x = torch.rand(4, dtype=torch.float16)

        def widen(directory):
            torch.save(x.float(), os.path.join(directory, "dump_tensor_data", "Torch.exp.0.forward.input.0.pt"))

        status, told, rows = recorded_check(lambda: torch.exp(x), {"task": "tensor"}, change=widen)
        self.assertEqual(status, 0, told)
        self.assertEqual(rows["Torch.exp.0.forward.output.0"]["DEVICE Dtype"], "torch.float16")

    def test_a_dataloader_ends_the_training_by_an_exception(self):
        loader = torch.utils.data.DataLoader(list(range(4)), batch_size=1)
        with debugger({"step": [1]}, dataloader=loader) as made:
            with self.assertRaisesRegex(Exception, "msprobe: exit after iteration 1"):
                for batch in loader:
                    torch.exp(batch.float())
            self.assertEqual(os.listdir(made.dump_path), ["step1"])


if __name__ == "__main__":
    unittest.main()
