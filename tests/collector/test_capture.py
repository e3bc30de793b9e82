# SPDX-License-Identifier: Apache-2.0
"""What is seen of a training: names, numbers, arguments, gradients, checkpoints."""
import functools
import operator
import unittest

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from collected import SineOfExponent, debugger, forwards, read, record, sine_of_exponent


class Names(unittest.TestCase):
    def names(self, work):
        return forwards(record(work))

    def test_operators_have_their_documented_names(self):
        x, y = torch.ones(3), torch.ones(3)

        def work():
            x + 1, 1 + x, x - y, 2 - x, x * y, 2 * x, x / y, 2 / x, x // y, x % y, x ** 2, 2 ** x, x @ y
            x == y, x != y, x < y, x <= y, x > y, x >= y, (x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0)

        self.assertEqual(self.names(work), [
            "Tensor.__add__.0", "Tensor.__radd__.0", "Tensor.__sub__.0", "Tensor.__rsub__.0", "Tensor.__mul__.0", "Tensor.__rmul__.0",
            "Tensor.__truediv__.0", "Tensor.__rdiv__.0", "Tensor.__floordiv__.0", "Tensor.__mod__.0", "Tensor.__pow__.0",
            "Tensor.__rpow__.0", "Tensor.__matmul__.0", "Tensor.__eq__.0", "Tensor.__ne__.0", "Tensor.__lt__.0", "Tensor.__le__.0",
            "Tensor.__gt__.0", "Tensor.__ge__.0", "Tensor.__gt__.1", "Tensor.__gt__.2", "Tensor.__and__.0", "Tensor.__gt__.3",
            "Tensor.__gt__.4", "Tensor.__or__.0", "Tensor.__gt__.5", "Tensor.__gt__.6", "Tensor.__xor__.0"])

    def test_in_place_operators(self):
        x, i = torch.ones(3), torch.ones(3, dtype=torch.int64)

        def work():
            nonlocal x, i
            x += 1
            x -= 1
            x *= 2
            x /= 2
            x //= 1
            x %= 3
            x **= 2
            i <<= 1
            i >>= 1
            i &= 1
            i |= 1
            i ^= 1

        self.assertEqual(self.names(work), [f"Tensor.__{name}__.0" for name in (
            "iadd isub imul idiv ifloordiv imod ipow ilshift irshift iand ior ixor").split()])

    def test_methods_and_functions_keep_theirs(self):
        x = torch.ones(2, 2)

        def work():
            x.add(1), torch.add(x, 1), x.eq(x), torch.relu(x), F.relu(x), x.relu(), sum([x, x]), F.conv2d(x[None, None], x[None, None])

        names = [name for name in self.names(work) if "getitem" not in name]
        self.assertEqual(names, ["Tensor.add.0", "Torch.add.0", "Tensor.eq.0", "Torch.relu.0", "Functional.relu.0", "Tensor.relu.0",
                                 "Tensor.__radd__.0", "Tensor.__add__.0", "Functional.conv2d.0"])

    def test_functions_of_an_inner_module_are_not_taken_for_others(self):
        x = torch.eye(2)
        self.assertEqual(self.names(lambda: (torch.linalg.vector_norm(x), torch.linalg.norm(x), torch.norm(x))),
                         ["Torch.linalg.vector_norm.0", "Torch.linalg.norm.0", "Torch.norm.0"])

    def test_only_the_outermost_call_is_recorded(self):
        x = torch.ones(2, 4, requires_grad=True)
        self.assertEqual(self.names(lambda: F.cross_entropy(x, torch.tensor([0, 1]))), ["Functional.cross_entropy.0"])

    def test_numbers_start_again_with_a_step(self):
        x = torch.ones(2)
        with debugger() as made:
            for calls in (2, 1):
                made.start()
                for _ in range(calls):
                    torch.relu(x)
                made.stop()
                made.step()
            self.assertEqual(list(read(made, 0)["data"]), ["Torch.relu.0.forward", "Torch.relu.1.forward"])
            self.assertEqual(list(read(made, 1)["data"]), ["Torch.relu.0.forward"])

    def test_identity_and_indexing_stay_as_they_are(self):
        x, gelu, add = torch.ones(3, 4), F.gelu, torch.Tensor.__add__
        with debugger() as made:
            made.start()
            self.assertIs(F.gelu, gelu)
            self.assertEqual(x[1, 2:].shape, (2,))
            self.assertEqual(len(x), 3)
            self.assertTrue(x.t().stride() == (1, 4))
            made.stop()
        self.assertIs(torch.Tensor.__add__, add)
        self.assertNotIn("__add__", torch.Tensor.__dict__)


class Arguments(unittest.TestCase):
    def entry(self, work):
        data = record(work)
        return data[next(iter(data))]

    def test_positions_and_keywords_are_as_written(self):
        x = torch.ones(4, 4)
        for work, positional, keywords in (
                (lambda: F.dropout(x, 0.5, True), 3, []),
                (lambda: F.dropout(x, p=0.5), 1, ["p"]),
                (lambda: F.softmax(x, dim=-1), 1, ["dim"]),
                (lambda: F.layer_norm(x, [4], eps=1e-3), 2, ["eps"]),
                (lambda: F.max_pool2d(x[None], 2, stride=1), 2, ["stride"]),
                (lambda: x.norm(2, dim=0), 2, ["dim"]),
                (lambda: F.dropout(*(x,), **{"p": 0.25}), 1, ["p"]),
                (lambda: functools.partial(F.softmax, dim=0)(x), 1, ["dim"]),
                (lambda: functools.partial(F.dropout, x, 0.75)(), 1, ["p"]),
                (lambda: list(map(functools.partial(F.dropout, p=0.25), [x])), 1, ["p"]),
                (lambda: operator.methodcaller("norm", 2, dim=1)(x), 1, ["p", "dim"])):
            data = record(work)
            entry = data[[name for name in data if "getitem" not in name][0]]
            self.assertEqual(len(entry["input_args"]), positional, entry)
            self.assertEqual(list(entry["input_kwargs"]), keywords)

    def test_inputs_are_those_before_an_in_place_call(self):
        x = torch.tensor([1.0, 2.0])
        entry = self.entry(lambda: x.mul_(10))
        self.assertEqual((entry["input_args"][0]["Max"], entry["output"][0]["Max"]), (2.0, 20.0))

    def test_lists_and_tuples(self):
        x = torch.ones(4)
        entry = self.entry(lambda: torch.cat([x, x]))
        self.assertEqual([len(item) for item in entry["input_args"]], [2])
        entry = self.entry(lambda: x.chunk(2))
        self.assertEqual(len(entry["output"]), 2)

    def test_numbers_keep_all_their_digits(self):
        def work():
            with self.assertRaises((RuntimeError, OverflowError)):  # too large for any tensor
                torch.add(torch.ones(1), 10 ** 30)

        arguments = record(work)["Torch.add.0.forward"]["input_args"]
        self.assertEqual(arguments[1], {"type": "int", "value": 10 ** 30})

    def test_a_dtype_by_position_is_kept(self):
        entry = self.entry(lambda: torch.ones(2).to(torch.float16) if False else torch.Tensor.to(torch.Tensor([1]), torch.float16))
        self.assertEqual(entry["input_args"][1], {"type": "torch.dtype", "value": "torch.float16"})


class Gradients(unittest.TestCase):
    def test_backward_entries(self):
        w = torch.ones(3, 2, requires_grad=True)
        data = record(lambda: (torch.ones(4, 2) @ w.t()).sum().backward())
        self.assertIn("Tensor.__matmul__.0.backward", data)
        entry = data["Tensor.__matmul__.0.backward"]
        self.assertEqual(entry["input"][0]["shape"], [4, 3])
        self.assertFalse(entry["input"][0]["requires_grad"])

    def test_gradients_after_stop_until_step(self):
        w = torch.ones(3, requires_grad=True)
        with debugger() as made:
            made.start()
            loss = torch.exp(w).sum()
            late = torch.exp(w).sum()
            made.stop()
            loss.backward()
            made.step()
            late.backward()
            made._session.flush()
            data = read(made)["data"]
        self.assertIn("Torch.exp.0.backward", data)
        self.assertNotIn("Torch.exp.1.backward", data)

    def test_a_call_that_hands_its_argument_on_has_no_gradient(self):
        w = torch.ones(3, requires_grad=True)
        data = record(lambda: F.dropout(torch.exp(w), 0.5, False).sum().backward())
        self.assertIn("Torch.exp.0.backward", data)
        self.assertNotIn("Functional.dropout.0.backward", data)

    def test_a_second_pass_over_the_graph_adds_nothing(self):
        w = torch.ones(3, requires_grad=True)

        def work():
            loss = torch.exp(w).sum()
            loss.backward(retain_graph=True)
            loss.backward()

        data = record(work)
        self.assertIn("Torch.exp.0.backward", data)

    def test_recomputed_checkpoints_are_recorded(self):
        w = torch.ones(3, requires_grad=True)
        for block in (SineOfExponent(), sine_of_exponent):
            for reentrant in (True, False):
                for run in (lambda loss: loss.backward(), torch.autograd.backward):
                    data = record(lambda run=run, block=block, again=reentrant: run(checkpoint(block, w, use_reentrant=again).sum()))
                    names = [name for name in data if "exp" in name]
                    self.assertEqual(names[:2], ["Torch.exp.0.forward", "Torch.exp.1.forward"])
                    self.assertTrue(any(name.endswith("backward") for name in names), names)
                    # Only what was not computed to the end, because nobody needs it, lacks its results.
                    self.assertIn("output", data["Torch.exp.1.forward"])

    def test_calls_of_a_backward_of_the_user_s(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return torch.cos(gradient)

        w = torch.ones(3, requires_grad=True)
        self.assertIn("Torch.cos.0.forward", record(lambda: Twice.apply(w).sum().backward()))
        self.assertEqual(torch.overrides._get_current_function_mode_stack(), [])

    def test_an_exception_in_a_backward_pass(self):
        w = torch.ones(3, requires_grad=True)

        def refuse(_gradient):
            raise ValueError("no")

        def work():
            y = torch.exp(w)
            y.register_hook(refuse)
            with self.assertRaises(ValueError):
                y.sum().backward()
            torch.sin(w)

        self.assertEqual([name for name in forwards(record(work)) if "sin" in name], ["Torch.sin.0"])
        self.assertEqual(torch.overrides._get_current_function_mode_stack(), [])


if __name__ == "__main__":
    unittest.main()
