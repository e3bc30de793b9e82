# SPDX-License-Identifier: Apache-2.0
"""msprobe.metrics and msprobe.testing.assert_close."""
import subprocess
import sys
import unittest

import numpy
import torch

import msprobe
from msprobe import pair
from msprobe.testing import assert_close


def message_of(actual, expected, **keywords) -> str:
    try:
        assert_close(actual, expected, **keywords)
    except AssertionError as error:
        return str(error)
    return ""


class Installation(unittest.TestCase):
    def test_a_module_of_another_python_is_named(self):
        done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['msprobe._pair'] = None; import msprobe.testing"],
                              capture_output=True, text=True)
        self.assertIn("their native module is missing or built for another Python; run 'pip install .'", done.stderr)


class Metrics(unittest.TestCase):
    def test_torch_numpy_and_dlpack_give_the_same_numbers(self):
        expected = torch.arange(1, 13, dtype=torch.float32).reshape(3, 4)
        actual = expected.clone()
        actual[1, 2] += 0.5
        by_torch = msprobe.metrics(actual, expected)
        self.assertEqual(by_torch, msprobe.metrics(actual.numpy(), expected.numpy()))

        class Exchanged:
            def __init__(self, tensor):
                self._tensor = tensor

            def __dlpack__(self, **keywords):
                return self._tensor.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return self._tensor.__dlpack_device__()

        self.assertEqual(by_torch, msprobe.metrics(Exchanged(actual), Exchanged(expected)))
        self.assertEqual(by_torch["max_abs_err"], 0.5)
        self.assertAlmostEqual(by_torch["max_rel_err"], 0.5 / 7, places=6)

    def test_contiguous_memory_is_not_copied(self):
        for tensor in (torch.zeros(8), torch.zeros(4, 2, dtype=torch.bfloat16), torch.zeros(3, dtype=torch.complex64)):
            content, _, _ = pair.lend(tensor)
            self.assertEqual(content.ctypes.data, tensor.data_ptr())
        array = numpy.zeros((2, 3), numpy.float16)
        self.assertEqual(pair.lend(array)[0].ctypes.data, array.ctypes.data)

    def test_strides_gradients_and_conjugates_are_understood(self):
        base = torch.arange(12.0).reshape(3, 4)
        assert_close(base.t(), base.t().contiguous())
        assert_close(base.clone().requires_grad_(), base)
        z = torch.randn(5, dtype=torch.complex64)
        assert_close(z.conj(), z.conj().resolve_conj())
        assert_close(base[:0], base[:0])
        assert_close(torch.tensor(2.5), 2.5)

    def test_every_dtype_is_taken(self):
        names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2"
        for name in names.split():
            if not hasattr(torch, name):
                continue
            tensor = torch.ones(4).to(getattr(torch, name))
            with self.subTest(name):
                self.assertEqual(msprobe.metrics(tensor, tensor)["status"], "pass")

    def test_what_is_not_a_tensor_is_refused(self):
        with self.assertRaisesRegex(TypeError, "str is not a tensor"):
            msprobe.metrics("a", torch.ones(1))
        with self.assertRaisesRegex(TypeError, "to_dense"):
            msprobe.metrics(torch.eye(2).to_sparse(), torch.eye(2))
        with self.assertRaisesRegex(TypeError, "cannot be compared"):
            msprobe.metrics(numpy.array(["a"]), torch.ones(1))


class AssertClose(unittest.TestCase):
    def test_equal_tensors_are_close_whatever_they_hold(self):
        special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-45])
        assert_close(special, special.clone())
        assert_close(special, special.clone(), api="mul")

    def test_a_rounding_is_close_and_a_hundredth_is_not(self):
        values = torch.linspace(0.5, 4, 1000, dtype=torch.float64)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            rounded = values.to(dtype)
            assert_close(rounded, values)
            self.assertIn("1000 of 1000 elements", message_of((rounded.double() * 1.02).to(dtype), values))

    def test_the_message_names_share_place_ulp_and_cause(self):
        expected = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
        actual = expected.clone()
        actual[16:32, 32:48] *= 1.5
        message = message_of(actual, expected)
        self.assertIn("256 of 4096 elements (6.25 %) are beyond the tolerance", message)
        self.assertRegex(message, r"worst at \((1[6-9]|2\d|3[01]), (3[2-9]|4[0-7])\): actual .*, expected .* x tolerance, .* ulp")
        self.assertIn("likely cause: bad tile: (16..31, 32..47)", message)

    def test_nan_on_one_side_is_never_close(self):
        expected = torch.ones(3)
        actual = torch.tensor([1, float("nan"), 1])
        self.assertIn("worst at (1,)", message_of(actual, expected))
        self.assertIn("worst at (1,)", message_of(expected, actual))

    def test_other_shapes_and_integers_say_so_plainly(self):
        self.assertEqual(message_of(torch.ones(2), torch.ones(3)), "shapes differ: actual (2,), expected (3,)")
        message = message_of(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4]))
        self.assertIn("1 of 3 elements (33.3 %) differ", message)
        self.assertNotIn("tolerance", message)

    def test_dtype_names_what_it_was_computed_in(self):
        expected = torch.linspace(1, 2, 100, dtype=torch.float64)
        held_wider = expected.to(torch.bfloat16).float()
        self.assertIn("beyond the tolerance", message_of(held_wider, expected))
        assert_close(held_wider, expected, dtype=torch.bfloat16)
        assert_close(held_wider, expected, dtype="bfloat16")

    def test_the_standard_of_an_api_decides_if_it_is_named(self):
        expected = torch.linspace(1, 2, 100)
        actual = expected * (1 + 5e-6)
        self.assertIn("beyond", message_of(actual, expected))
        assert_close(actual, expected, api="softmax")
        self.assertIn("by the standard of Functional.conv2d.0: error", message_of(expected * 1.5, expected, api="Functional.conv2d.0"))


class Arguments(unittest.TestCase):
    def test_tolerances_are_those_of_torch_testing(self):
        expected = torch.tensor([1.0, 100.0, 0.0])
        assert_close(expected + torch.tensor([0.01, 1.0, 0.0005]), expected, rtol=0.01, atol=0.001)
        self.assertIn("1 of 3 elements", message_of(torch.tensor([1.0, 102.0, 0.0]), expected, rtol=0.01, atol=0.001))
        assert_close(torch.tensor([1, 2]), torch.tensor([1, 3]), atol=1)
        self.assertIn("beyond the tolerance", message_of(torch.tensor([1, 2]), torch.tensor([1, 4]), atol=1))
        with self.assertRaisesRegex(ValueError, "0 or more"):
            assert_close(expected, expected, rtol=-1)
        with self.assertRaisesRegex(ValueError, "not both"):
            assert_close(expected, expected, rtol=1, api="conv2d")

    def test_an_api_that_nobody_has_is_refused(self):
        same = torch.ones(2)
        for name in ("conv2d", "Functional.conv2d.0", "linalg.norm", "Torch.linalg.norm.3", "Tensor.add_", "npu_swiglu", "NPU.npu_swiglu.0",
                     "Aten._pad_packed_sequence.0"):
            assert_close(same, same, api=name)
        for name in ("nosuch", "Functional.nosuch.0", ""):
            with self.assertRaisesRegex(ValueError, "unknown API"):
                assert_close(same, same, api=name)


if __name__ == "__main__":
    unittest.main()
