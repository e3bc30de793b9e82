# SPDX-License-Identifier: Apache-2.0
"""What users write into their own scripts, and what they forget there."""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402
from recorded import dumps, recording  # noqa: E402
from stand_ins import tiny  # noqa: E402

from msprobe.pytorch import PrecisionDebugger, module_dump, module_dump_end  # noqa: E402


def read(directory, place="step0/rank0", name="dump.json"):
    with open(os.path.join(directory, "dump", place, name), encoding="utf-8") as file:
        return json.load(file)


class Surfaces(unittest.TestCase):
    def test_values_and_their_gradients_are_saved(self):
        with recording(level="debug", task="tensor") as (directory, config, _told):
            debugger, x = PrecisionDebugger(config), torch.arange(4.0, requires_grad=True)
            for _ in range(2):
                y = x * 2
                debugger.save(y, "y")
                debugger.save({"a": y, "b": [3, "text", y.exp()]}, "nest", save_backward=False)
                debugger.save(5, "y")
                (y * y).sum().backward()
                debugger.stop()
                debugger.step()
            dump = read(directory, "step1/rank0", "debug.json")
            files = sorted(os.listdir(dump["dump_data_dir"]))
            gradient = torch.load(os.path.join(dump["dump_data_dir"], "y_grad.0.debug.pt"))
        self.assertEqual(list(dump["data"]), ["y.0.debug", "nest.0.debug", "y.1.debug", "y_grad.0.debug"])
        self.assertEqual(files, ["nest.0.debug.a.pt", "nest.0.debug.b.2.pt", "y.0.debug.pt", "y_grad.0.debug.pt"])
        self.assertEqual(dump["data"]["nest.0.debug"]["b"][1], {"type": "str", "value": "text"})
        self.assertTrue(torch.equal(gradient, 2 * 2 * torch.arange(4.0)))

    def test_save_at_another_level_says_so_once(self):
        with recording(level="L1") as (_directory, config, told):
            debugger = PrecisionDebugger(config)
            for _ in range(2):
                debugger.save(torch.ones(1), "x")
        self.assertEqual(told.getvalue().count('set "level": "debug"'), 1)

    def test_a_function_of_the_user_is_recorded(self):
        module = types.ModuleType("module_a")
        module.compute = compute = lambda a, scale=1: torch.sin(a) * scale
        with recording(level="L1") as (directory, config, told):
            debugger, x = PrecisionDebugger(config), torch.rand(3, requires_grad=True)
            debugger.register_custom_api(module, "compute")
            debugger.register_custom_api(module, "missing")
            debugger.start()
            plain = compute(x, scale=2)
            result = module.compute(x, scale=2)
            result.sum().backward()
            debugger.stop()
            debugger.step()
            debugger.restore_custom_api(module, "compute")
            self.assertIs(module.compute, compute)
            debugger.register_custom_api(module, "compute", "Mine")  # the name of the first registration stays
            debugger.close()
            self.assertIs(module.compute, compute)
            data = read(directory)["data"]
        self.assertTrue(torch.equal(plain, result))
        self.assertEqual([name for name in data if name.startswith("module_a")], ["module_a.compute.0.forward", "module_a.compute.0.backward"])
        self.assertEqual(data["module_a.compute.0.forward"]["input_kwargs"], {"scale": {"type": "int", "value": 2}})
        self.assertEqual([name for name in data if "sin" in name], ["Torch.sin.0.forward"])  # of the plain call
        self.assertIn("has no function 'missing'", told.getvalue())

    def test_one_module_is_recorded_as_a_whole(self):
        for level in ("L1", "mix"):
            with self.subTest(level), recording(level=level) as (directory, config, _told):
                debugger, model, x = PrecisionDebugger(config), tiny.model(), torch.rand(3, requires_grad=True)
                debugger.start(model)
                torch.exp(x)
                module_dump(model, "Whole")
                loss = model(tiny.tokens()).sum()
                module_dump_end()
                torch.exp(x)
                loss.backward()
                debugger.stop()
                debugger.step()
                names = list(read(directory)["data"])
                self.assertEqual([name for name in names if name.endswith("forward") or ".forward." in name],
                                 ["Torch.exp.0.forward", "Module.Whole.Model.forward.0", "Torch.exp.1.forward"])
                self.assertIn("Module.Whole.Model.backward.0", names)
                self.assertEqual([name for name in names if "linear" in name.lower()], [])

    def test_the_structure_alone(self):
        with recording(level="L1", task="structure") as (directory, config, told):
            debugger, model = PrecisionDebugger(config), tiny.model()
            debugger.start(model)
            model(tiny.tokens()).sum().backward()
            debugger.stop()
            debugger.step()
            data, construct = read(directory)["data"], read(directory, name="construct.json")
        self.assertEqual({tuple(entry) for entry in data.values()}, {()})
        self.assertEqual(construct["Functional.linear.0.forward"], "Module.up.Linear.forward.0")
        self.assertIn("the level is mix", told.getvalue())

    def test_the_calls_that_raise(self):
        with recording(level="mix", task="exception_dump") as (directory, config, _told):
            debugger, model = PrecisionDebugger(config), tiny.model()
            debugger.start(model)
            model(tiny.tokens())
            with self.assertRaises(RuntimeError):
                model.up(torch.rand(2, 3))
            debugger.stop()
            debugger.step()
            dump = read(directory)
            files = os.listdir(dump["dump_data_dir"])
        self.assertEqual(sorted(dump["data"]), ["Functional.linear.3.forward", "Module.up.Linear.forward.1"])
        self.assertIn("Functional.linear.3.forward.input.0.pt", files)
        self.assertEqual([name for name in files if "linear.3" not in name and "Module.up" not in name], [])

    def test_keys_without_effect_are_named(self):
        with recording(async_dump=True, custom_op_namespaces=["mine"], statistics={"device": "device"}) as (_directory, config, told):
            PrecisionDebugger(config)
        for key in ("async_dump", "custom_op_namespaces", "statistics.device"):
            self.assertRegex(told.getvalue(), rf"WARNING.*{key}: no effect here")

    def test_the_first_line_says_what_is_recorded(self):
        for level, wanted in (("ALL", "every API call"), ("FOCUS", "those that only move data"), (None, "every API call")):
            with recording(risk_level=level) as (_directory, config, told):
                debugger = PrecisionDebugger(config)
                debugger.start()
                debugger.stop()
            first = told.getvalue().splitlines()[0]
            self.assertRegex(first, rf"recording .*{wanted}.*\(task statistics, level L1, risk_level {level or 'ALL'}\) into ")
            self.assertEqual("config.json has no risk_level" in told.getvalue(), level is None)

    def test_every_step_of_a_loop_has_its_number(self):
        with recording(level="L1", step=[10, 11]) as (directory, config, _told):
            debugger = PrecisionDebugger(config)
            debugger.set_init_step(10)
            for _ in range(3):
                debugger.start()
                torch.exp(torch.ones(1))
                debugger.stop()
                debugger.step()
            self.assertEqual(sorted(dumps(os.path.join(directory, "dump"))), ["step10/rank0", "step11/rank0"])


# A script, what must be said when it ends, and how often.
FORGOTTEN = {
    "start": ("PrecisionDebugger(dump_path=d); x.exp()", "start() was never called; call debugger.start() before the forward pass"),
    "step": ("e = PrecisionDebugger(dump_path=d)\nfor _ in range(3): e.start(); x.exp(); e.stop()",
             "step() was never called: all 3 blocks of start() and stop() belong to step 0; call debugger.step()"),
    "step that is wanted": ("e = PrecisionDebugger(dump_path=d, step=[2])\nfor _ in range(3): e.start(); x.exp(); e.stop()",
                            "step 2 never came; call debugger.step() at the end"),
    "too few steps": ("e = PrecisionDebugger(dump_path=d, step=[1, 7])\nfor _ in range(3): e.start(); x.exp(); e.stop(); e.step()",
                      "step 7 never came: the run ended after step 2"),
    "calls": ("e = PrecisionDebugger(dump_path=d)\nfor _ in range(3): e.start(); e.stop(); e.step()",
              "nothing was recorded between start() and stop(): no call of PyTorch was made there"),
    "the model": ("e = PrecisionDebugger(dump_path=d, level='L0')\nfor _ in range(3): e.start(m); n(x); e.stop(); e.step()",
                  "the model that was passed to start() was not called there"),
    "the model of mix": ("e = PrecisionDebugger(dump_path=d, level='mix')\ne.start(m); n(x); e.stop(); e.step()",
                         "1 API call but no module was recorded between start() and stop(): the model that was passed to start() was not called"),
    "the model's argument": ("e = PrecisionDebugger(dump_path=d, level='mix')\ntry: e.start()\nexcept Exception as error: print('[WARNING]', error, file=sys.stderr)",
                             "debugger.start(model)"),
    "start before stop": ("e = PrecisionDebugger(dump_path=d)\ne.stop(); e.start(); x.exp(); e.stop(); e.step()",
                          "stop() was called before start()"),
    "stop": ("e = PrecisionDebugger(dump_path=d)\nfor _ in range(3): e.start(); x.exp(); e.step() if _ == 2 else None",
             "start() was called again without stop()"),
    "save": ("PrecisionDebugger(dump_path=d, level='debug')", "debugger.save(value, name) was never called"),
    "the request": ("e = PrecisionDebugger(dump_path=d)\ne.start(scheduled_tokens={'a': 3}, request_id='b'); x.exp(); e.stop(); e.step()",
                    "request 'b' was in no batch"),
}
RIGHT = ("e = PrecisionDebugger(dump_path=d)\ne.start(); x.exp(); e.stop()",
         "e = PrecisionDebugger(dump_path=d, step=[1])\nfor _ in range(2): e.start(); x.exp(); e.stop(); e.step()",
         "e = PrecisionDebugger(dump_path=d, rank=[4])\ne.start(rank_id=0); x.exp(); e.stop(); e.step()",
         "e = PrecisionDebugger(dump_path=d, level='mix')\ne.start(m); m[0](x); e.stop(); e.step()")
# All in one process: each script has a debugger of its own, whose process would end then.
RUNNER = """
import atexit, sys, torch
from msprobe.pytorch import PrecisionDebugger
d, x = sys.argv[1], torch.rand(4)
m, n = torch.nn.Sequential(torch.nn.Linear(4, 4)), torch.nn.Linear(4, 4)
for number, script in enumerate(sys.argv[2:]):
    print(f"-- {number}", file=sys.stderr)
    exec(script)
    made = PrecisionDebugger._instance
    made._at_exit()
    PrecisionDebugger.close()
"""


class Silence(unittest.TestCase):
    def test_what_is_forgotten_is_said_once(self):
        scripts = [script for script, _wanted in FORGOTTEN.values()] + list(RIGHT)
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", RUNNER, directory, *scripts], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = [part.partition("\n")[2] for part in ("\n" + done.stderr).split("\n-- ")[1:]]
        self.assertEqual(len(told), len(scripts), done.stderr)
        for (name, (_script, wanted)), text in zip(FORGOTTEN.items(), told):
            with self.subTest(name):
                self.assertEqual(text.count(wanted), 1, text)
                self.assertEqual(text.count("[WARNING]") - text.count("earlier run"), 1, text)
        for script, text in zip(RIGHT, told[len(FORGOTTEN):]):
            with self.subTest(script):
                self.assertEqual(text.count("[WARNING]") - text.count("earlier run"), 0, text)

    def test_a_process_that_ends_says_it(self):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", "from msprobe.pytorch import PrecisionDebugger\n"
                                   f"PrecisionDebugger(dump_path={directory!r})"], capture_output=True, text=True)
        self.assertIn("start() was never called", done.stderr)


class Installation(unittest.TestCase):
    def test_the_public_package_is_named_at_import(self):
        with tempfile.TemporaryDirectory() as directory:
            packages = os.path.join(directory, "site-packages")
            os.makedirs(os.path.join(packages, "mindstudio_probe-26.2.0.dist-info"))
            done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.append({packages!r}); import msprobe"],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"import msprobe takes .*, not the mindstudio-probe 26\.2\.0 in .*site-packages")

    @unittest.skipUnless(os.environ.get("MSPROBE"), "needs msprobe")
    def test_version_says_whose_package_lies_there(self):
        done = subprocess.run([os.environ["MSPROBE"], "--version"], capture_output=True, text=True)
        version = done.stdout.split()[1]
        self.assertRegex(done.stdout, rf"^msprobe {version}\nPython package in .*/python/msprobe: msprobe {version}\n$")


if __name__ == "__main__":
    unittest.main()
