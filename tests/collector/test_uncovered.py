# SPDX-License-Identifier: Apache-2.0
"""What no call of support_wrap_ops.yaml covers is recorded as Aten or Custom, and the training stays as it is."""
import contextlib
import tempfile
import unittest
from unittest import mock

import torch

from collected import debugger, forwards, read, record

from msprobe.pytorch import api_names
from msprobe.pytorch.uncovered import Uncovered

MODERN = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 4)


def names(data, *prefixes):
    return [name for name in forwards(data) if name.split(".")[0] in prefixes]


@contextlib.contextmanager
def list_without(*lines):
    """A support_wrap_ops.yaml of the user that lacks some lines."""
    with open(api_names.OPS_FILE, encoding="utf-8") as file:
        text = "".join(line for line in file if line.strip() not in lines)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        with mock.patch.object(api_names, "OPS_FILE", file.name):
            yield


def trained(make_optimizer, config=None):
    """Losses, parameters and random state after two steps; recorded if there is a configuration."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    optimizer, losses = make_optimizer(net.parameters()), []

    def step():
        loss = net(torch.ones(3, 4)).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    data = None
    if config is None:
        step()
        step()
    else:
        with debugger(config) as made:
            for _ in range(2):
                made.start()
                step()
                made.stop()
                made.step()
            data = read(made, 1)["data"]
    return (losses, [p.detach().clone() for p in net.parameters()], torch.get_rng_state()), data


class Uncovereds(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.x = torch.randn(4, 4)

    def test_functions_that_are_not_on_the_list(self):
        x = self.x
        data = record(lambda: (torch.fft.rfft(x), torch.corrcoef(x), torch.linalg.solve_triangular(x, x, upper=True),
                               torch._weight_norm(x, x[:, :1], 0)))
        self.assertEqual(names(data, "Aten"), ["Aten.fft_rfft.0", "Aten.corrcoef.0", "Aten.linalg_solve_triangular.0", "Aten._weight_norm.0"])

    def test_gradients_of_such_a_function_are_recorded(self):
        x = self.x.requires_grad_()
        data = record(lambda: torch.corrcoef(x).sum().backward())
        self.assertIn("Aten.corrcoef.0.backward", data)

    def test_methods_in_python_that_are_not_on_the_list(self):
        x, whole = self.x, torch.arange(4)
        data = record(lambda: (3 in whole, 3.0 // x, 2 << whole, 64 >> whole, torch.Tensor.__rmatmul__(x, x)))
        self.assertEqual(names(data, "Aten"), ["Aten.eq.0", "Aten.any.0", "Aten.floor_divide.0", "Aten.bitwise_left_shift.0",
                                               "Aten.bitwise_right_shift.0", "Aten.mm.0"])

    def test_padding_packed_sequences_is_recorded(self):
        x = torch.randn(3, 5, 2, requires_grad=True)

        def work():
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3, 2]), batch_first=True)
            torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)[0].sum().backward()

        data = record(work)
        self.assertEqual(names(data, "Aten"), ["Aten._pad_packed_sequence.0"])
        self.assertIn("Aten._pad_packed_sequence.0.backward", data)

    @unittest.skipUnless(MODERN, "a mode of this PyTorch does not see operators that are called by their names")
    def test_operators_of_others(self):
        library = torch.library.Library("msprobe_test", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        data = record(lambda: (torch.ops.msprobe_test.twice(self.x), torch.ops.aten.sin.default(self.x)))
        self.assertEqual(names(data, "Custom", "Aten", "Tensor"), ["Custom.msprobe_test.twice.0", "Aten.sin.0"])

    def test_what_computes_nothing_is_not_recorded(self):
        x = self.x
        data = record(lambda: (x.shape, x.T, x.detach(), x.numel(), x.is_floating_point(), torch.tensor([1.0]), x.requires_grad_(False),
                               torch.empty_like(x), x.data_ptr(), x.unbind()))
        self.assertEqual(names(data, "Aten", "Custom"), [])

    def test_bodies_of_scripted_functions_and_modules(self):
        def body(x):
            return torch.exp(x) * 2.0

        function = torch.jit.script(body)
        x = self.x.requires_grad_()
        plain = function(x)
        data, result = {}, []

        def work():
            result.append(function(x))
            result[0].sum().backward()

        data = record(work)
        self.assertEqual(names(data, "Aten"), ["Aten.exp.0", "Aten.mul.0"])
        self.assertTrue(torch.equal(result[0], plain))
        self.assertTrue(torch.equal(x.grad, plain.detach()))
        module = torch.jit.trace(torch.nn.Tanh(), x)
        self.assertEqual(names(record(lambda: module(x)), "Aten"), ["Aten.tanh.0"])
        self.assertTrue(torch.equal(function(x), plain))

    @unittest.skipUnless(MODERN, "this PyTorch has no torch.compile that can be made to wait")
    def test_bodies_of_compiled_functions(self):
        compiled = torch.compile(lambda x: torch.exp(x) * 2.0, backend="eager")
        compiled(self.x)
        self.assertEqual(forwards(record(lambda: compiled(self.x))), ["Torch.exp.0", "Tensor.__mul__.0"])

    def test_optimizers_that_work_on_lists(self):
        def make(parameters):
            return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, foreach=True)

        plain, _ = trained(make)
        recorded, data = trained(make, {"task": "tensor"})
        self.assert_same(plain, recorded)
        self.assertEqual(names(data, "Aten"), ["Aten._foreach_mul_.0", "Aten._foreach_add_.0", "Aten._foreach_add_.1"])
        self.assertEqual(len(data["Aten._foreach_add_.1.forward"]["output"][0]), 4)

    @unittest.skipUnless(MODERN, "this PyTorch has no fused optimizer on the CPU")
    def test_fused_optimizers_show_what_they_change(self):
        def make(parameters):
            return torch.optim.AdamW(parameters, lr=0.1, fused=True)

        plain, _ = trained(make)
        recorded, data = trained(make, {"task": "tensor"})
        self.assert_same(plain, recorded)
        entry = data["Torch._fused_adamw_.0.forward"]
        self.assertEqual([place for place in entry["mutated"] if place.startswith("0.")], ["0.0", "0.1", "0.2", "0.3"])
        self.assertNotEqual(entry["mutated"]["0.0"]["Norm"], entry["input_args"][0][0]["Norm"])

    def assert_same(self, plain, recorded):
        self.assertEqual(plain[0], recorded[0])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(plain[1], recorded[1])))
        self.assertTrue(torch.equal(plain[2], recorded[2]))

    def test_arguments_that_are_changed(self):
        def work():
            x = torch.zeros(2, 2)
            x[1] = 3.0
            x.add_(1)

        data = record(work)
        self.assertEqual(list(data["Tensor.__setitem__.0.forward"]), ["input_args", "input_kwargs", "output", "mutated"])
        self.assertEqual(data["Tensor.__setitem__.0.forward"]["mutated"]["0"]["Max"], 3.0)
        self.assertNotIn("mutated", data["Tensor.add_.0.forward"], "it is the result")

    def test_a_name_that_was_removed_from_the_list_is_not_recorded_in_another_way(self):
        x = self.x
        with list_without("- matmul", "- softmax"):
            data = record(lambda: (torch.matmul(x, x), x.softmax(0), torch.nn.functional.softmax(x, 0), torch.exp(x)))
        self.assertEqual(forwards(data), ["Torch.exp.0"])

    def test_without_its_line_nothing_of_a_kind_is_recorded(self):
        with list_without("- all"):
            self.assertEqual(forwards(record(lambda: torch.fft.rfft(self.x))), [])

    def test_filters_hold_for_them(self):
        x = self.x
        self.assertEqual(forwards(record(lambda: (torch.fft.rfft(x), torch.corrcoef(x)), {"statistics": {"list": ["corrcoef"]}})),
                         ["Aten.corrcoef.0"])
        self.assertEqual(forwards(record(lambda: torch.corrcoef(x), {"risk_level": "CORE"})), [])

    def test_lists_of_config_yaml_hold_for_them(self):
        hidden = Uncovered({"aten": ["all"]}, lambda group, name: name == "corrcoef")
        self.assertIsNone(hidden.classify(torch.corrcoef))
        self.assertEqual(hidden.classify(torch.segment_reduce), ("Aten", "segment_reduce"))

    def test_what_was_not_seen_is_said(self):
        def odd(uncovered, function):
            return "Tensor.odd" if function is torch.corrcoef else None

        with mock.patch.object(Uncovered, "classify", odd), debugger() as made, mock.patch("msprobe.common.log.warning") as warning:
            made.start()
            torch.exp(self.x)
            made.stop()
            self.assertNotIn("unseen", read(made))
            made.start()
            torch.corrcoef(self.x)
            made.stop()
            made.step()
            top = read(made)
        self.assertEqual(list(top)[-2:], ["data", "unseen"])
        self.assertEqual(top["unseen"], {"share": 0.5, "operators": {"Tensor.odd": 16}})
        warning.assert_called_once_with("50 % of the computed elements were not recorded: Tensor.odd")



if __name__ == "__main__":
    unittest.main()
