# SPDX-License-Identifier: Apache-2.0
"""Levels L0 and mix: our recordings of modules against the public collector's, and a test for each of its faults that we do not share."""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import torch

from collected import debugger, read
from forked import run_script
from msprobe.common.config import ConfigError
from msprobe.pytorch import seed_all

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "data", "collector", "levels")
SAME_VERSION = torch.__version__.startswith("2.13")
# APIs that the public collector does not record.
ADDED = ("Tensor.view.", "Tensor.contiguous.", "Tensor.__getitem__.", "Torch.ones.", "Torch.zeros.", "Torch.zeros_like.", "VF.")
STATISTICS = ("Max", "Min", "Mean", "Norm")
TOLERANCE = 1e-4  # of the root mean square: kernels differ between CPUs


def train(model, level, directory, *more):
    return run_script(os.path.join(HERE, "level_models.py"), model, level, directory, *more)


def load(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        return json.load(file)


def golden(name):
    return load(os.path.join(GOLDEN, name), "dump.json")["data"], load(os.path.join(GOLDEN, name), "construct.json")


def recorded(model, level, *more):
    with tempfile.TemporaryDirectory() as directory:
        train(model, level, directory, *more)
        place = os.path.join(directory, "step0", "rank0")
        return tuple({key: value for key, value in part.items() if not key.startswith(ADDED)}
                     for part in (load(place, "dump.json")["data"], load(place, "construct.json")))


@unittest.skipUnless(SAME_VERSION, "recorded with PyTorch 2.13")
class Golden(unittest.TestCase):
    def compare(self, theirs, ours, name):
        if isinstance(theirs, dict) and isinstance(ours, dict):
            self.assertEqual(sorted(theirs), sorted(set(ours) - {"stride"}), name)  # the public tool records no strides
            scale = (theirs.get("Norm") or 0) / math.sqrt(max(1, math.prod(theirs["shape"]))) if "Norm" in theirs else 0
            for key, value in theirs.items():
                if key in STATISTICS and isinstance(value, float):
                    self.assertLessEqual(abs(ours[key] - value), TOLERANCE * max(abs(value), scale, 1e-3), (name, key))
                else:
                    self.compare(value, ours[key], name)
        elif isinstance(theirs, list) and isinstance(ours, list):
            self.assertEqual(len(theirs), len(ours), name)
            for one, other in zip(theirs, ours):
                self.compare(one, other, name)
        else:
            self.assertEqual(ours, theirs, name)

    def test_gpt_at_mix_is_equal(self):
        theirs, tree = golden("gpt_mix_statistics")
        ours, our_tree = recorded("gpt", "mix")
        self.assertEqual(list(ours), list(theirs))
        self.assertEqual(our_tree, tree)
        for name, entry in theirs.items():
            # AdamW divides by roots of tiny squares: the first bits of a difference between kernels become large there.
            if not name.startswith("Tensor.addcdiv_."):
                self.compare(entry, ours[name], name)

    def test_special_modules_at_l0(self):
        theirs, tree = golden("odd_L0_statistics")
        ours, our_tree = recorded("odd", "L0")
        missed = ["Module.again.1.ReLU.backward.0", "Module.again.0.Linear.backward.0", "Module.shared.Linear.parameters_grad.0"]
        self.assertEqual([name for name in ours if name not in missed], list(theirs))
        self.assertTrue(set(missed) < set(ours))
        for name, entry in theirs.items():
            if name != "Module.mha.MultiheadAttention.backward.0":  # one tensor in three places: see below
                self.compare(entry, ours[name], name)
        spoiled = [name for name, parent in tree.items() if parent == "Module.again.1.ReLU.backward.0"]
        self.assertEqual({name: our_tree[name] for name in spoiled}, dict.fromkeys(spoiled))
        self.assertEqual({name: our_tree.get(name) for name in tree if name not in spoiled},
                         {name: parent for name, parent in tree.items() if name not in spoiled})

    def test_in_place_modules_keep_their_backward_and_the_nesting(self):
        theirs, tree = golden("convnet_L0_statistics")
        ours, our_tree = recorded("convnet", "L0")
        self.assertEqual([name for name in ours if name in theirs], list(theirs))
        missed = [name for name in ours if name not in theirs]
        self.assertEqual(len([name for name in missed if ".ReLU.backward." in name]), 13)
        self.assertEqual(len([name for name in missed if ".BatchNorm2d.backward." in name]), 13)
        self.assertEqual(len(missed), 26)
        for name, entry in theirs.items():
            self.compare(entry, ours[name], name)
        for name, parent in our_tree.items():
            forward = name.replace(".backward.", ".forward.")
            self.assertEqual(parent and parent.replace(".backward.", ".forward."), our_tree[forward], name)
        self.assertIsNone(our_tree["Module.stem.Conv2d.backward.0"])
        self.assertNotEqual(tree["Module.stem.Conv2d.backward.0"], None)

    def test_what_a_module_calls_stays_the_same(self):
        """The public tool hands new tensors to MultiheadAttention, which then transposes three instead of one."""
        _theirs, tree = golden("odd_mix_statistics")
        ours, our_tree = recorded("odd", "mix")
        module = "Module.mha.MultiheadAttention.forward.0"
        calls = {name for name in our_tree if our_tree[name] == module}
        self.assertEqual(
            calls, {"Tensor.transpose.0.forward", "Tensor.transpose.1.forward", "Functional.multi_head_attention_forward.0.forward"}
        )
        self.assertEqual(len([name for name in tree if tree[name] == module]), 5)
        output = ours["Module.mha.MultiheadAttention.backward.0"]["output"]
        self.assertEqual(output[0], output[1])
        self.assertEqual(output[0], output[2])

    def test_a_checkpoint_does_not_end_the_recording(self):
        theirs, _tree = golden("odd_mix_statistics")
        ours, our_tree = recorded("odd", "mix")
        self.assertNotIn("Tensor.addcdiv_.0.forward", theirs)
        self.assertEqual(our_tree["Tensor.addcdiv_.0.forward"], "optimizer")
        self.assertEqual(our_tree["Module.ck_new.Sequential.forward.1"], "Module.ck_new.1.Tanh.backward.0")
        self.assertIsNone(our_tree["Module.ck_old.Sequential.forward.1"])

    def test_gradients_after_stop(self):
        """The public tool leaves out those of modules."""
        def work(model, made):
            loss = model(torch.ones(2, 3)).sum()
            made.stop()
            loss.backward()
        data = record_model(torch.nn.Sequential(torch.nn.Linear(3, 3)), work, "L0")[0]
        self.assertEqual(list(data), [f"Module.0.Linear.{kind}.0" for kind in ("forward", "backward", "parameters_grad")])


def record_model(model, work, level="mix", config=None):
    with debugger({"level": level, **(config or {})}) as made:
        made.start(model)
        work(model, made)
        made.stop()
        made.step()
        return read(made)["data"], read(made, name="construct.json")


class Unchanged(unittest.TestCase):
    def test_losses_and_weights_are_the_same_bits(self):
        with tempfile.TemporaryDirectory() as directory:
            for model in ("odd", "convnet"):
                plain = train(model, "L1", directory, "none")
                for level in ("L0", "mix"):
                    self.assertEqual(train(model, level, os.path.join(directory, level)), plain, (model, level))

    def test_arguments_and_results_are_the_same_objects(self):
        class Same(torch.nn.Module):
            def forward(self, x, y):
                return x is y, x

        class Root(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.same = Same()

            def forward(self, x):
                equal, result = self.same(x, x)
                return equal and result is x

        model, answers = Root(), []
        x = torch.ones(2, requires_grad=True)
        call = torch.nn.Module._call_impl
        record_model(model, lambda root, _made: answers.append(root(x)), "L0")
        self.assertEqual(answers, [True])
        self.assertIs(torch.nn.Module._call_impl, call)
        self.assertFalse(model.same._forward_hooks or model.same._backward_hooks or x._backward_hooks)


class Entries(unittest.TestCase):
    def test_a_result_that_is_used_inside(self):
        class Two(torch.nn.Module):
            def forward(self, x):
                y = x * 2
                return y, y.sum()

        model = torch.nn.Sequential(Two())

        def work(root, _made):
            y, total = root[0](torch.ones(2, requires_grad=True) * 1)
            (3 * y.sum() + 5 * total).backward()
        entry = record_model(model, work, "L0")[0]["Module.0.Two.backward.0"]
        self.assertEqual([tensor["Max"] for tensor in entry["input"]], [3.0, 5.0])
        self.assertEqual(entry["output"][0]["Max"], 16.0)

    def test_only_what_leaves_through_the_module(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
        torch.nn.init.eye_(model[0].weight)

        def work(root, _made):
            x = torch.ones(1, 2, requires_grad=True) * 1
            (root[0](x) + 7 * x).sum().backward()
        entry = record_model(model, work, "L0")[0]["Module.0.Linear.backward.0"]
        self.assertEqual(entry["output"][0]["Max"], 1.0)

    def test_two_backward_passes_and_a_module_that_raises(self):
        class Raising(torch.nn.Module):
            def forward(self, x):
                raise KeyError("no")

        model = torch.nn.Sequential(torch.nn.Linear(2, 2), Raising())

        def work(root, _made):
            for _ in range(2):
                root[0](torch.ones(1, 2)).sum().backward()
            with self.assertRaises(KeyError):
                root[1](torch.ones(1, 2))
            root[0](torch.ones(1, 2))
        data, tree = record_model(model, work)
        self.assertEqual(data["Module.0.Linear.parameters_grad.1"]["bias"][0]["Max"], 2.0)
        self.assertEqual(list(data["Module.1.Raising.forward.0"]), ["input_args", "input_kwargs"])
        self.assertIsNone(tree["Module.0.Linear.forward.2"])

    def test_a_list_of_models_and_files_of_tensors(self):
        models = [torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.nn.Sequential(torch.nn.Linear(2, 2))]
        with debugger({"task": "tensor", "level": "L0"}) as made:
            made.start(models)
            for model in models:
                model(torch.ones(1, 2)).sum().backward()
            made.stop()
            made.step()
            dump = read(made)
            names = os.listdir(dump["dump_data_dir"])
        self.assertIn("Module.1.0.Linear.forward.0.parameters.weight.pt", names)
        self.assertIn("Module.1.0.Linear.parameters_grad.0.bias.pt", names)

    def test_checksums_are_of_the_moment(self):
        """The public tool computes them later, from memory that may have changed."""
        x = torch.arange(4.0) + 1
        model = torch.nn.Sequential(torch.nn.Identity())

        def work(root, _made):
            root[0](x)
            x.zero_()
        data = record_model(model, work, "L0", {"statistics": {"summary_mode": "md5"}})[0]
        self.assertEqual(data["Module.0.Identity.forward.0"]["output"][0]["md5"], "8ba71454")

    def test_the_model_is_needed(self):
        with debugger({"level": "mix"}) as made:
            with self.assertRaisesRegex(ConfigError, "needs the model: debugger.start"):
                made.start()
            with self.assertRaisesRegex(ConfigError, "model: found int"):
                made.start(3)


class Dropout(unittest.TestCase):
    def test_rm_dropout(self):
        script = """
import torch
from msprobe.pytorch import seed_all
F = torch.nn.functional
dropout = F.dropout
seed_all(3, rm_dropout=True)
x = torch.ones(1000)
assert F.dropout is dropout
assert torch.equal(torch.nn.Dropout(0.5)(x), x) and torch.equal(F.dropout(x, p=0.9, training=True), x)
assert torch.equal(F.dropout2d(x.view(1, 10, 10, 10), 0.5), x.view(1, 10, 10, 10)) and torch.equal(F.alpha_dropout(x, 0.5, True), x)
y = torch.rand(1, 2, 4, 8)
if hasattr(F, "scaled_dot_product_attention"):  # from PyTorch 2.0 on
    assert torch.equal(F.scaled_dot_product_attention(y, y, y, dropout_p=0.9), F.scaled_dot_product_attention(y, y, y))
attention, z = torch.nn.MultiheadAttention(8, 2, dropout=0.9), torch.rand(4, 1, 8)
assert torch.equal(attention(z, z, z)[0], attention(z, z, z)[0])
lstm = torch.nn.LSTM(8, 8, num_layers=2, dropout=0.9)
assert torch.equal(lstm(z)[0], lstm(z)[0])
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wrong_seeds(self):
        with self.assertRaisesRegex(ValueError, "seed"):
            seed_all(-1)

    def test_flags_are_true_or_false(self):
        state = torch.random.get_rng_state()
        for flags, name in (((1, True), "mode"), ((True, "test"), "rm_dropout"), ((False, False, None), "is_enhanced")):
            with self.assertRaisesRegex(ValueError, f"^{name}: .*expected True or False"):
                seed_all(1, *flags)
        self.assertTrue(torch.equal(torch.random.get_rng_state(), state))


if __name__ == "__main__":
    unittest.main()
