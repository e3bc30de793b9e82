# SPDX-License-Identifier: Apache-2.0
"""msprobe.mindspore.PrecisionDebugger on MindSpore's CPU: against what the public collector recorded, and what it must leave alone.

Needs MindSpore; tools/test_mindspore.sh installs it and runs this. Every training runs in a process of its own."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zlib

import numpy

DATA = pathlib.Path(__file__).parents[1] / "data" / "mindspore" / "mlp"
HEAD = """
import sys, numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, mint, nn, ops
from msprobe.mindspore import MsprobeStep, PrecisionDebugger
ms.set_device("CPU"); ms.runtime.launch_blocking()
F = mint.nn.functional
DUMP = sys.argv[1]
def floats(*shape):
    return Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8 - 1)
"""


def run(script: str, dump_dir: str, *more: str) -> str:
    """What the script prints. Warnings of MindSpore itself are kept away."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", HEAD + textwrap.dedent(script), dump_dir, *more], text=True,
                          capture_output=True, env={**os.environ, "GLOG_v": "4"}, check=False)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    return done.stdout + done.stderr


def read(dump_dir: str, step: int = 0, name: str = "dump.json") -> dict:
    return json.loads((pathlib.Path(dump_dir) / f"step{step}" / "rank0" / name).read_text())


def statistics(tensor: dict) -> list:
    return [tensor[key] for key in ("Max", "Min", "Mean", "Norm")]


class Golden(unittest.TestCase):
    """The network that the public collector recorded."""

    def compare(self, wanted, found, place) -> None:
        if isinstance(wanted, dict):
            self.assertEqual(list(wanted), list(found), place)
            for key in wanted:
                self.compare(wanted[key], found[key], f"{place}.{key}")
        elif isinstance(wanted, list):
            self.assertEqual(len(wanted), len(found), place)
            for i, pair in enumerate(zip(wanted, found)):
                self.compare(*pair, f"{place}.{i}")
        elif isinstance(wanted, float):
            self.assertAlmostEqual(wanted, found, delta=1e-5 * max(abs(wanted), 1e-3), msg=place)
        else:
            self.assertEqual(wanted, found, place)

    def train(self, task: str, dump_dir: str, dropout: str) -> None:
        script = (DATA / "train_mlp.py").read_text().replace("F = mint.nn.functional", "F = mint.nn.functional\n" + dropout)
        path = pathlib.Path(dump_dir) / "train.py"
        path.write_text(script)
        subprocess.run([sys.executable, "-W", "ignore", str(path), task, dump_dir], check=True, capture_output=True,
                       env={**os.environ, "GLOG_v": "4"})

    def test_dumps_are_those_of_the_public_collector(self):
        for task, steps in (("tensor", ("tensor",)), ("statistics", ("statistics_step0", "statistics_step1"))):
            with self.subTest(task), tempfile.TemporaryDirectory() as dump_dir:
                self.train(task, dump_dir, "F.dropout = lambda input, p=0.5: input")
                for number, name in enumerate(steps):
                    wanted, found = json.loads((DATA / f"{name}.json").read_text()), read(dump_dir, number)
                    for key in ("task", "level", "framework"):
                        self.assertEqual(wanted[key], found[key])
                    self.assertEqual(list(wanted["data"]), list(found["data"]))
                    self.compare(wanted["data"], found["data"], name)
                    if task == "tensor":
                        self.files_hold_what_is_said(found)

    def files_hold_what_is_said(self, dump: dict) -> None:
        directory = pathlib.Path(dump["dump_data_dir"])
        names = set()
        for entry in dump["data"].values():
            for tensor in tensors(list(entry.values())):
                array = numpy.load(directory / tensor["data_name"])
                names.add(tensor["data_name"])
                self.assertEqual(list(array.shape), tensor["shape"])
                self.assertEqual(array.dtype, {"BFloat16": "float32", "Bool": "bool"}.get(tensor["dtype"], tensor["dtype"].lower()))
        self.assertEqual(names, {path.name for path in directory.iterdir()})

    def test_dropout_is_recorded_as_computed(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            self.train("tensor", dump_dir, "ms.set_seed(1)")
            dump = read(dump_dir)
            self.assertEqual(list(json.loads((DATA / "tensor.json").read_text())["data"]), list(dump["data"]))
            output = dump["data"]["MintFunctional.dropout.0.forward"]["output"][0]
            array = numpy.load(pathlib.Path(dump["dump_data_dir"]) / output["data_name"])
            self.assertGreater(int((array == 0).sum()), 0)


def tensors(value) -> list:
    if isinstance(value, list):
        return [found for item in value for found in tensors(item)]
    if isinstance(value, dict):
        return [value] if value.get("type") == "mindspore.Tensor" else tensors(list(value.values()))
    return []


class Recording(unittest.TestCase):
    def test_checksums(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            pathlib.Path(dump_dir, "c.json").write_text(json.dumps(
                {"task": "statistics", "dump_path": dump_dir, "statistics": {"summary_mode": "md5"}}))
            run("""
                debugger = PrecisionDebugger(DUMP + "/c.json")
                debugger.start()
                mint.add(Tensor(np.array([1, 2, 3, 4], np.float32)), 1).to(ms.bfloat16)
                debugger.stop()
                """, dump_dir)
            data = read(dump_dir)["data"]
        self.assertEqual(data["Mint.add.0.forward"]["input_args"][0]["md5"], "8ba71454")
        bits = zlib.crc32(numpy.array([2, 3, 4, 5], numpy.float32).tobytes())
        self.assertEqual(data["Tensor.to.0.forward"]["output"][0]["md5"], f"{bits:08x}")
        self.assertEqual(data["Tensor.to.0.forward"]["input_args"][1], {"type": "mindspore.dtype", "value": "BFloat16"})

    def test_statistics_of_every_kind(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            run("""
                debugger = PrecisionDebugger(dump_path=DUMP)
                debugger.start()
                for array in (np.array([3, -1], np.int64), np.array(7, np.int32), np.array([True, False]), np.zeros((0, 2), np.float32),
                              np.array([0.1, 0.2]), np.array([3 + 4j, 0], np.complex64)):
                    mint.reshape(Tensor(array), array.shape)
                debugger.stop()
                """, dump_dir)
            data = read(dump_dir)["data"]
        found = [statistics(data[f"Mint.reshape.{i}.forward"]["input_args"][0]) for i in range(6)]
        self.assertEqual(found[0], [3.0, -1.0, 1.0, float(numpy.float32(10 ** 0.5))])
        self.assertEqual(found[1], [7] * 4)
        self.assertEqual(found[2], [True, False, None, None])
        self.assertEqual(found[3], [None] * 4)
        self.assertEqual(found[4][0], float(numpy.float32(0.2)))
        self.assertEqual(found[5], [5.0, 0.0, 2.5, 5.0])

    def test_gradients_of_lists_and_of_what_has_none(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            run("""
                debugger = PrecisionDebugger(dump_path=DUMP)
                def net(x):
                    x = mint.mul(x, 2)
                    y = mint.cat([x, x], dim=1)
                    z = mint.where(x > 0, x, 1.0)
                    return mint.sum(y) + mint.sum(mint.ceil(x)) + mint.sum(z)
                debugger.start()
                ms.grad(net)(floats(2, 3))
                debugger.stop()
                """, dump_dir)
            data = read(dump_dir)["data"]
        self.assertEqual(data["Mint.cat.0.backward"]["output"], [])
        self.assertEqual(data["Mint.ceil.0.backward"]["output"], [None])
        where = data["Mint.where.0.backward"]
        self.assertIsNone(where["output"][0])
        self.assertEqual(where["output"][1]["shape"], [2, 3])

    def test_a_training_computes_the_same_while_it_is_recorded(self):
        script = """
            x, w = floats(4, 6), Parameter(floats(5, 6), name="w")
            def net(x):
                y = F.linear(x, w)
                return mint.sum(F.relu(y) * mint.max(y, dim=1, keepdim=True)[0])
            step = ms.value_and_grad(net, None, [w])
            plain = step(x)
            debugger = PrecisionDebugger(dump_path=DUMP)
            debugger.start(); seen = step(x); debugger.stop(); debugger.step()
            after = step(x)
            for other in (seen, after):
                assert np.array_equal(plain[0].asnumpy(), other[0].asnumpy())
                assert np.array_equal(plain[1][0].asnumpy(), other[1][0].asnumpy())
            assert "msprobe" not in (mint.add.__module__ or "") and "add" not in vars(Tensor)
            print("equal")
            """
        with tempfile.TemporaryDirectory() as dump_dir:
            self.assertIn("equal", run(script, dump_dir))

    def test_steps_filters_and_files(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            pathlib.Path(dump_dir, "c.json").write_text(json.dumps(
                {"task": "tensor", "dump_path": dump_dir, "step": [1], "tensor": {"list": ["add"], "data_mode": ["forward"]}}))
            text = run("""
                debugger = PrecisionDebugger(config_path=DUMP + "/c.json")
                for _ in range(4):
                    PrecisionDebugger.start()
                    mint.add(floats(2), 1); mint.mul(floats(2), 2)
                    PrecisionDebugger.stop(); PrecisionDebugger.step()
                """, dump_dir)
            self.assertIn("msprobe ends successfully.", text)
            self.assertEqual(sorted(path.name for path in pathlib.Path(dump_dir).iterdir()), ["c.json", "step1"])
            self.assertEqual(list(read(dump_dir, 1)["data"]), ["Mint.add.0.forward"])
            stacks = read(dump_dir, 1, "stack.json")
            self.assertEqual(stacks["0"][0], ["Mint.add.0.forward"])

    def test_a_call_that_raises_and_a_jit_function(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            path = pathlib.Path(dump_dir) / "jitted.py"
            path.write_text("import mindspore as ms\nfrom mindspore import mint\n@ms.jit\ndef twice(x):\n    return mint.add(x, x)\n")
            run("""
                sys.path.insert(0, DUMP)
                import jitted
                debugger = PrecisionDebugger(dump_path=DUMP)
                debugger.start()
                try:
                    mint.matmul(floats(2, 3), floats(2, 3))
                    raise SystemExit("matmul did not raise")
                except (RuntimeError, ValueError):
                    pass
                assert np.array_equal(jitted.twice(floats(2)).asnumpy(), 2 * floats(2).asnumpy())
                mint.add(floats(2), 1)
                debugger.stop()
                """, dump_dir)
            data = read(dump_dir)["data"]
        self.assertNotIn("output", data["Mint.matmul.0.forward"])
        self.assertIn("output", data["Mint.add.0.forward"])

    def test_the_wide_list(self):
        for wide, names in ((False, []), (True, ["MintFunctional.smooth_l1_loss.0.forward", "Mint.special.expm1.0.forward"])):
            with self.subTest(wide), tempfile.TemporaryDirectory() as dump_dir:
                pathlib.Path(dump_dir, "c.json").write_text(json.dumps({"dump_path": dump_dir, "wide_list": wide}))
                run("""
                    debugger = PrecisionDebugger(DUMP + "/c.json")
                    debugger.start()
                    F.smooth_l1_loss(floats(3), floats(3)); mint.special.expm1(floats(3))
                    debugger.stop()
                    """, dump_dir)
                self.assertEqual(list(read(dump_dir)["data"]), names)

    def test_the_callback_for_model_train(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            run("""
                debugger = PrecisionDebugger(dump_path=DUMP)
                step = MsprobeStep(debugger)
                for _ in range(2):
                    step.on_train_step_begin(None); mint.add(floats(2), 1); step.on_train_step_end(None)
                """, dump_dir)
            self.assertEqual(list(read(dump_dir, 1)["data"]), ["Mint.add.0.forward"])

    def test_wrong_settings_are_named(self):
        for settings, text in (({"level": "debug"}, "level: found 'debug'"), ({"task": "overflow_check"}, "task: found 'overflow_check'")):
            with self.subTest(text), tempfile.TemporaryDirectory() as dump_dir:
                with self.assertRaisesRegex(AssertionError, text):
                    run(f"PrecisionDebugger(dump_path=DUMP, **{settings!r})", dump_dir)

    def test_levels_of_cells_need_the_model(self):
        for start, text in (("start()", "needs the model: debugger.start"), ("start(3)", "found int, expected an nn.Cell")):
            with self.subTest(start), tempfile.TemporaryDirectory() as dump_dir:
                with self.assertRaisesRegex(AssertionError, text):
                    run(f"PrecisionDebugger(dump_path=DUMP, level='L0').{start}", dump_dir)


NET = """
class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(floats(3), name="weight"); self.frozen = Parameter(floats(3), name="frozen", requires_grad=False)
    def construct(self, x, scale=1.0):
        return mint.mul(x, self.weight) * scale, x
class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Layer()
    def construct(self, x):
        left, right = self.inner(x, scale=2.0)
        return mint.add(left, right)
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.list = nn.CellList([Outer(), Layer()])
    def construct(self, x):
        y, _ = self.list[1](self.list[0](x))
        return y.sum()
net = Net()
x = Parameter(floats(2, 3), name="x")
train = ms.value_and_grad(lambda: net(x), None, [x, net.list[0].inner.weight, net.list[1].weight])
"""


class Cells(unittest.TestCase):
    """Levels L0 and mix."""

    def record(self, level: str, dump_dir: str, script: str, **settings) -> dict:
        run(NET + f"debugger = PrecisionDebugger(dump_path=DUMP, level={level!r}, **{settings!r})\n" + textwrap.dedent(script), dump_dir)
        return read(dump_dir)["data"]

    def test_entries_are_those_of_modules(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            data = self.record("L0", dump_dir, "debugger.start(net); train(); debugger.stop(); debugger.step()")
            self.assertEqual(list(data), ["Cell.list.0.inner.Layer.forward.0", "Cell.list.0.Outer.forward.0", "Cell.list.1.Layer.forward.0",
                                          "Cell.list.1.Layer.parameters_grad.0", "Cell.list.1.Layer.backward.0",
                                          "Cell.list.0.inner.Layer.parameters_grad.0", "Cell.list.0.inner.Layer.backward.0",
                                          "Cell.list.0.Outer.backward.0"])
            forward = data["Cell.list.0.inner.Layer.forward.0"]
            self.assertEqual(list(forward), ["input_args", "input_kwargs", "output", "parameters"])
            self.assertEqual(forward["input_kwargs"], {"scale": {"type": "float", "value": 2.0}})
            self.assertEqual(len(forward["output"]), 2)
            self.assertEqual(list(forward["parameters"]), ["weight", "frozen"])
            self.assertEqual(read(dump_dir, 0, "construct.json"), {
                "Cell.list.0.Outer.forward.0": None, "Cell.list.0.inner.Layer.forward.0": "Cell.list.0.Outer.forward.0",
                "Cell.list.1.Layer.forward.0": None, "Cell.list.1.Layer.backward.0": None, "Cell.list.0.Outer.backward.0": None,
                "Cell.list.0.inner.Layer.backward.0": "Cell.list.0.Outer.backward.0"})
            stacks = read(dump_dir, 0, "stack.json")
            self.assertIn("Cell.list.0.inner.Layer.forward.0", [name for names, _ in stacks.values() for name in names])

    def test_gradients_are_right(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            data = self.record("L0", dump_dir, "debugger.start(net); train(); debugger.stop(); debugger.step()")
        x, weight = (numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 8 - 1, numpy.arange(3, dtype=numpy.float32) / 8 - 1)
        hidden = x * weight * 2 + x
        at_hidden = numpy.broadcast_to(weight, (2, 3))

        def check(tensor, wanted):
            self.assertAlmostEqual(tensor["Norm"], float(numpy.linalg.norm(wanted)), delta=1e-5)
            self.assertAlmostEqual(tensor["Max"], float(wanted.max()), delta=1e-5)

        last, first = data["Cell.list.1.Layer.backward.0"], data["Cell.list.0.inner.Layer.backward.0"]
        check(last["input"][0], numpy.ones((2, 3)))
        check(last["output"][0], at_hidden)
        check(data["Cell.list.1.Layer.parameters_grad.0"]["weight"][0], hidden.sum(0))
        check(first["input"][0], at_hidden)
        check(data["Cell.list.0.inner.Layer.parameters_grad.0"]["weight"][0], (at_hidden * 2 * x).sum(0))
        check(data["Cell.list.0.Outer.backward.0"]["output"][0], at_hidden * (weight * 2 + 1))

    def test_mix_has_apis_inside_cells(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            data = self.record("mix", dump_dir, "debugger.start(net); train(); debugger.stop(); debugger.step()")
            construct = read(dump_dir, 0, "construct.json")
            for name, parent in (("Mint.mul.0.forward", "Cell.list.0.inner.Layer.forward.0"), ("Mint.add.0.forward", "Cell.list.0.Outer.forward.0"),
                                 ("Mint.mul.0.backward", "Cell.list.0.inner.Layer.backward.0")):
                self.assertIn(name, data)
                self.assertEqual(construct[name], parent)

    def test_steps_filters_and_calls_without_gradients(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            data = self.record("L0", dump_dir, """
                for _ in range(2):
                    debugger.start(net); net(x); net(x); debugger.stop(); debugger.step()
                """, task="tensor")
            self.assertEqual([name for name in data if "Outer" in name], ["Cell.list.0.Outer.forward.0", "Cell.list.0.Outer.forward.1"])
            self.assertEqual(list(read(dump_dir, 1)["data"]), list(data))
            self.assertTrue((pathlib.Path(dump_dir) / "step0/rank0/dump_tensor_data/Cell.list.0.inner.Layer.forward.0.parameters.weight.npy")
                            .exists())

    def test_backward_passes_are_counted(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            data = self.record("L0", dump_dir, "debugger.start(net); train(); train(); debugger.stop(); debugger.step()")
            names = [name for name in data if "list.1.Layer" in name]
            self.assertEqual(sorted(names), [f"Cell.list.1.Layer.{part}.{number}" for part in ("backward", "forward", "parameters_grad")
                                             for number in (0, 1)])
            first, second = (data[f"Cell.list.1.Layer.parameters_grad.{number}"] for number in (0, 1))
            self.assertEqual(first, second)

    def test_a_training_computes_the_same_and_nothing_stays(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            text = run(NET + """
before = nn.Cell.__call__
plain, plain_gradients = train()
debugger = PrecisionDebugger(dump_path=DUMP, level="mix")
debugger.start(net)
assert nn.Cell.__call__ is not before
loss, gradients = train()
debugger.stop()
assert nn.Cell.__call__ is before
debugger.step()
assert loss == plain
for gradient, wanted in zip(gradients, plain_gradients):
    assert (gradient.asnumpy() == wanted.asnumpy()).all()
again, _ = train()
assert again == plain
print("equal")
""", dump_dir)
        self.assertIn("equal", text)

    def test_a_cell_that_raises_keeps_its_inputs(self):
        with tempfile.TemporaryDirectory() as dump_dir:
            run("""
                class Bad(nn.Cell):
                    def construct(self, x):
                        raise ValueError("bad")
                class Net(nn.Cell):
                    def __init__(self):
                        super().__init__()
                        self.bad = Bad()
                    def construct(self, x):
                        return self.bad(x)
                debugger = PrecisionDebugger(dump_path=DUMP, level="L0")
                net = Net()
                debugger.start(net)
                try:
                    net(floats(2))
                except ValueError:
                    pass
                debugger.stop()
                """, dump_dir)
            data = read(dump_dir)["data"]
            self.assertEqual({name: list(entry) for name, entry in data.items()}, {"Cell.bad.Bad.forward.0": ["input_args", "input_kwargs"]})


if __name__ == "__main__":
    unittest.main(verbosity=2)
