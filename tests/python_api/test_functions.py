# SPDX-License-Identifier: Apache-2.0
"""References and kernels of the user's: in a check, and in msprobe.verify()."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch

import msprobe
from msprobe.common import program

FAULT = {"on": False}


@torch.library.custom_op("msprobe_test::scaled_norm", mutates_args=())
def scaled_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    out = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
    if FAULT["on"]:
        out[..., -3:] = 0
    return out


REFERENCE = """
    import torch
    import msprobe

    @msprobe.reference("Custom.msprobe_test.scaled_norm"{options})
    def scaled_norm(x, weight, eps=1e-6):
        {body}
"""
BODY = "x = x.float(); return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight"


class Functions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = scratch.name
        FAULT["on"] = False

    def record(self, fault=False):
        dump = os.path.join(self.place, "dump")
        torch.manual_seed(0)
        FAULT["on"] = fault
        with msprobe.record(dump):
            for shape in ((4, 33), (2, 5, 16)):
                x = torch.randn(*shape)
                scaled_norm(x, torch.randn(shape[-1]))
                torch.relu(x)
        return dump

    def write(self, name, text):
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def reference(self, body=BODY, options="", name="ops.py"):
        return self.write(name, textwrap.dedent(REFERENCE).replace("{options}", options).replace("{body}", body))

    def check(self, dump, *options, device="recorded"):
        return msprobe.check(dump, device, options=list(options))

    def messages(self, result):
        return {call.name: call.message for call in result.calls}

    def test_a_custom_operator_is_judged_by_its_reference(self):
        dump = self.record()
        self.assertEqual(self.check(dump).skipped.get("no_bench"), 2)
        result = self.check(dump, "--reference", self.reference())
        self.assertTrue(result.ok, result)
        self.assertEqual((result.checked, result.skipped), (4, {}))

    def test_the_fault_of_a_custom_operator_is_found(self):
        result = self.check(self.record(fault=True), "--reference", self.reference())
        self.assertEqual({failure.call for failure in result.failures}, {f"Custom.msprobe_test.scaled_norm.{n}" for n in (0, 1)})

    def test_outputs_that_do_not_count_are_not_compared(self):
        reference = self.reference(options=", postprocess=lambda output, *args: output[..., :-3]")
        self.assertTrue(self.check(self.record(fault=True), "--reference", reference).ok)

    def test_a_reference_that_is_none_loses_its_calls_and_no_others(self):
        dump = self.record()
        for body, said in (("raise ValueError('no such thing')", r"raised ValueError: no such thing \(ops.py, line 7\)"),
                           ("return x.sum()", r"returned shape \(\)"),
                           ("return x.to('meta')", "on meta"),
                           ("import uuid; return x * (uuid.uuid4().int % 1000)", "not deterministic"),
                           ("import not_installed_here", "not_installed_here"),
                           ("return object()", "returned a object")):
            with self.subTest(body):
                result = self.check(dump, "--reference", self.reference(body))
                self.assertEqual((result.lost, result.checked, result.exit_status), (2, 2, 1), result)
                with open(result.result_csv, encoding="utf-8-sig") as file:
                    self.assertRegex(file.read(), said)

    def test_what_a_reference_prints_goes_nowhere(self):
        body = "print('hello', flush=True); import os; os.system('echo hello'); " + BODY
        self.assertTrue(self.check(self.record(), "--reference", self.reference(body)).ok)

    def test_a_file_that_cannot_be_imported_loses_the_calls_that_it_names(self):
        path = self.reference()
        with open(path, "a", encoding="utf-8") as file:
            file.write("import not_installed_here\n")
        result = self.check(self.record(), "--reference", path)
        self.assertEqual((result.lost, result.checked), (2, 2))
        with self.assertRaisesRegex(msprobe.CheckError, "has no function that is decorated"):
            self.check(os.path.join(self.place, "dump"), "--reference", self.write("empty.py", ""))

    def test_a_run_is_not_continued_with_another_reference(self):
        dump, out = self.record(), os.path.join(self.place, "out")
        msprobe.check(dump, "recorded", out=out, options=["--reference", self.reference()])
        changed = self.reference("return x")
        with self.assertRaisesRegex(msprobe.CheckError, "reference"):
            msprobe.check(dump, "recorded", out=out, options=["--reference", changed, "-csv_path", out])

    def test_kernels_stand_for_the_device_and_only_they_are_checked(self):
        dump = self.record()
        kernel = self.write("impl.py", """
            import torch
            import msprobe

            @msprobe.kernel("torch.relu")
            def relu(x):
                return torch.where(x > 0, x, 0)
        """)
        result = self.check(dump, "--kernel", kernel, device="cpu")
        self.assertTrue(result.ok)
        self.assertEqual(result.checked, 2)
        wrong = self.write("wrong.py", open(kernel, encoding="utf-8").read().replace("x > 0", "x > 0.5"))
        self.assertEqual(len(self.check(dump, "--kernel", wrong, device="cpu").failures), 2)

    def test_gradients_go_through_a_kernel(self):
        dump = os.path.join(self.place, "dump")
        with msprobe.record(dump):
            x = torch.randn(5, 7, requires_grad=True)
            torch.nn.functional.silu(x).sum().backward()
        text = """
            import torch
            import msprobe

            def backward(gradient, x, inplace=False):
                s = torch.sigmoid(x)
                return gradient * s * (1 + x * (1 - s)) * FACTOR

            @msprobe.kernel("F.silu", backward=backward)
            def silu(x, inplace=False):
                return x * torch.sigmoid(x)
        """
        right = self.check(dump, "--kernel", self.write("right.py", text.replace("FACTOR", "1")), device="cpu")
        self.assertTrue(right.ok, right)
        wrong = self.check(dump, "--kernel", self.write("wrong.py", text.replace("FACTOR", "1.01")), device="cpu")
        self.assertEqual({failure.result.split(".")[0] for failure in wrong.failures}, {"backward"})


def softmax(x):
    return torch.softmax(x, -1)


class Verify(unittest.TestCase):
    ARGS = [torch.randn(9, 37, generator=torch.Generator().manual_seed(0))]

    def verdict(self, kernel, reference=softmax, args=None):
        return msprobe.verify(kernel, reference, self.ARGS if args is None else args, seed=3)

    def test_a_right_kernel_is_right_and_says_its_seed(self):
        result = self.verdict(lambda x: (x - x.amax(-1, keepdim=True)).exp() / (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True))
        self.assertEqual(result.verdict, "right", result)
        self.assertIn("seed 3", str(result))
        self.assertTrue(result.ok)

    def test_wrong_kernels_are_wrong_and_say_the_smallest_case(self):
        kept = {}

        def lost(x):
            out = softmax(x)
            out[..., -1] = 0
            return out

        def only_this_shape(x):
            return softmax(x) if x.shape == (9, 37) else torch.zeros_like(x)

        def cached(x):
            return kept.setdefault((x.shape, x.dtype), softmax(x))

        for kernel in (lost, only_this_shape, cached, lambda x: x, lambda x: torch.zeros_like(x), lambda x: torch.nan_to_num(softmax(x)),
                       lambda x: softmax(x) * 1.01, lambda x: softmax(x).double(), lambda x: torch.softmax(x, 0)):
            result = self.verdict(kernel)
            self.assertEqual(result.verdict, "wrong", result)
            self.assertTrue(result.shapes and result.case)

    def test_what_a_kernel_does_to_memory_is_found(self):
        shared = torch.zeros(1 << 16)

        def outside(x):
            x.as_strided((x.numel() + 1,), (1,), x.storage_offset())[-1] = 1
            return softmax(x)

        def changes(x):
            x.mul_(1)
            x.view(-1)[:1] = 7
            return softmax(x)

        def uninitialised(x):
            out = torch.empty_like(x)
            out.view(-1)[:-1] = softmax(x).view(-1)[:-1]
            return out

        def same_buffer(x):
            return shared[:x.numel()].view(x.shape).copy_(softmax(x)) if x.dtype == torch.float32 else softmax(x)

        def noisy(x):
            return softmax(x) + torch.rand(1).to(x.dtype) * 0.1

        for kernel, cause in ((outside, "outside"), (changes, "argument"), (uninitialised, ""), (same_buffer, "overwritten"), (noisy, ""),
                              (lambda x: os.abort(), "crashes"), (lambda x: x.relu_(), "argument")):
            result = self.verdict(kernel)
            self.assertEqual(result.verdict, "wrong", kernel)
            self.assertIn(cause, result.cause)

    def test_a_hang_ends(self):
        import time
        result = msprobe.verify(lambda x: time.sleep(60), softmax, self.ARGS, timeout=1)
        self.assertEqual((result.verdict, result.cause), ("wrong", "hangs"))

    def test_an_ill_conditioned_reference_is_inconclusive_with_its_number(self):
        def difference(x):
            return (x * 1e8).sin()
        result = msprobe.verify(difference, difference, self.ARGS, seed=1, dtypes=[torch.float32])
        self.assertEqual(result.verdict, "inconclusive", result)
        self.assertRegex(result.reason, r"moves the reference by [\d.]+")

    def test_a_reference_that_does_not_take_the_example_is_an_error(self):
        with self.assertRaisesRegex(msprobe.CheckError, "does not take"):
            msprobe.verify(softmax, lambda x, y: x, self.ARGS)

    def test_the_command_verifies_files(self):
        with tempfile.TemporaryDirectory() as place:
            for name, text in (("kernel.py", "import torch\ndef softmax(x):\n    print('hello')\n    return torch.softmax(x, -1) * FACTOR\n"),
                               ("reference.py", "import torch\ndef softmax(x):\n    return torch.softmax(x, -1)\ndef get_inputs():\n    return [torch.randn(8, 40)]\n")):
                for factor in ("1", "1.1"):
                    with open(os.path.join(place, factor + name), "w", encoding="utf-8") as file:
                        file.write(text.replace("FACTOR", factor))
            environment = {**os.environ, "MSPROBE_PYTHON": sys.executable}
            for factor, verdict, status in (("1", "right", 0), ("1.1", "wrong", 1)):
                words = [program.find(), "verify", f"{place}/{factor}kernel.py:softmax", f"{place}/1reference.py:softmax", "--seed", "5", "--json"]
                done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=environment)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(json.loads(done.stdout)["verdict"], verdict)
            done = subprocess.run([program.find(), "verify", f"{place}/missing.py", f"{place}/1reference.py"], stderr=subprocess.PIPE, text=True, check=False,
                                  env=environment)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no such file", done.stderr)


if __name__ == "__main__":
    unittest.main()
