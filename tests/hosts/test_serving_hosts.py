# SPDX-License-Identifier: Apache-2.0
"""Servers: one request out of a batch, decode steps, and recording that is switched on and off while requests are answered."""
import glob
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402
from recorded import MODULES, dumps, modules_forward, recording  # noqa: E402
from stand_ins import sglang, tiny, vllm_ascend  # noqa: E402
from torch import overrides  # noqa: E402

from msprobe.pytorch import AclGraphDumper, PrecisionDebugger, acl_save  # noqa: E402

BATCH = {"cmpl-first-0": tiny.tokens(3), "cmpl-second-0": tiny.tokens(4), "third": tiny.tokens(2)}


def entries(directory, place):
    with open(os.path.join(directory, "dump", place, "dump.json"), encoding="utf-8") as file:
        return json.load(file)


def tensors(value):
    """The tensor objects in a value of dump.json."""
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [tensor for item in items for tensor in tensors(item)]


class Requests(unittest.TestCase):
    def test_vllm_records_the_tokens_of_one_request(self):
        """Every tensor with a token dimension is cut; parameters never are, even where an extent is the number of tokens by chance."""
        for wanted, first, count in (("third", 7, 2), ("second", 3, 4)):  # the server adds to the ids of its clients
            with self.subTest(wanted), recording(level="mix", task="tensor", tensor={"request_id": wanted}) as (directory, config, told):
                runner = vllm_ascend.NPUModelRunner(config)
                answer = runner.execute_model(BATCH)
                dump = entries(directory, "step0/rank0")
                hidden = [name for name in dump["data"] if name.startswith("Module.norm.LayerNorm.forward")]
                saved = torch.load(os.path.join(dump["dump_data_dir"], dump["data"][hidden[0]]["output"][0]["data_name"]))
                with torch.inference_mode():
                    tokens = torch.cat(list(BATCH.values()))
                    x = runner.model.embed(tokens)
                    whole = runner.model.norm(x + runner.model.down(torch.nn.functional.gelu(runner.model.up(x))))
                self.assertTrue(torch.equal(saved, whole[first:first + count]))
                for name, entry in dump["data"].items():
                    if name.startswith("Functional"):
                        self.assertIn(entry["output"][0]["shape"][0], (count, 3), name)  # 3 requests have a row each in the end
                linear = next(entry for name, entry in dump["data"].items() if name.startswith("Functional.linear"))
                self.assertEqual(linear["input_args"][1]["shape"], [16, 8])
                self.assertIn(f"request {wanted}", told.getvalue())
            self.assertEqual(answer, vllm_ascend.NPUModelRunner().execute_model(BATCH))

    def test_weights_with_as_many_rows_as_there_are_tokens_stay_whole(self):
        with recording(level="L1", statistics={"request_id": "b"}) as (directory, config, _told):
            debugger = PrecisionDebugger(config)
            weight = torch.nn.Parameter(torch.rand(4, 4))
            debugger.start(scheduled_tokens={"a": 1, "b": 3})
            torch.nn.functional.linear(torch.rand(1, 4, 6).transpose(1, 2)[..., :4].reshape(1, 6, 4)[:, :4], weight)
            torch.matmul(torch.rand(4, 4), weight.t())
            debugger.stop()
            debugger.step()
            data = entries(directory, "step0/rank0")["data"]
        self.assertEqual([tensor["shape"] for tensor in tensors(data["Functional.linear.0.forward"])], [[1, 3, 4], [4, 4], [1, 3, 4]])
        self.assertEqual([tensor["shape"] for tensor in tensors(data["Torch.matmul.0.forward"])], [[3, 4], [4, 4], [3, 4]])

    def test_a_batch_without_the_request_leaves_nothing(self):
        with recording(level="L1", statistics={"request_id": "third"}) as (directory, config, told):
            runner = vllm_ascend.NPUModelRunner(config)
            for batch in ({"first": tiny.tokens(2)}, BATCH, {}, {"third": tiny.tokens(1)}):
                runner.execute_model(batch)
            found = sorted(dumps(os.path.join(directory, "dump")))
        self.assertEqual(found, ["step1/rank0", "step3/rank0"])
        self.assertNotIn("WARNING", told.getvalue())

    def test_a_keyword_in_place_of_the_key(self):
        with recording(level="L1") as (directory, config, _told):
            debugger = PrecisionDebugger(config)
            debugger.start(tiny.model(), scheduled_tokens={"a": 2, "b": 3}, request_id="b")
            torch.exp(torch.rand(5))
            debugger.stop()
            debugger.step()
            self.assertEqual(tensors(entries(directory, "step0/rank0")["data"])[0]["shape"], [3])

    def test_what_is_not_known_is_named_once_and_never_raises(self):
        with recording(level="L1", statistics={"request_id": "a"}) as (_directory, config, told):
            debugger = PrecisionDebugger(config, a_new_keyword=1)
            for _ in range(2):
                debugger.start(scheduled_tokens=[1, 2], another=2)
                debugger.start(scheduled_tokens={"xa": 1, "ya": 1}, token_range="1-2")
                torch.exp(torch.rand(5))
                debugger.stop(third=3)
                debugger.step(fourth=4)
        for name in ("PrecisionDebugger(): unknown keyword a_new_keyword", "start(): unknown keyword another", "stop(): unknown keyword third",
                     "step(): unknown keyword fourth", "scheduled_tokens: found list", "fits 2 requests"):
            self.assertEqual(told.getvalue().count(name), 1, told.getvalue())

    def test_a_model_in_a_wrapper_that_is_not_a_module(self):
        with recording(level="L0") as (directory, config, _told):
            debugger, wrapper = PrecisionDebugger(config), types.SimpleNamespace(runnable=tiny.model())
            debugger.start(wrapper)
            wrapper.runnable(tiny.tokens())
            debugger.stop()
            debugger.step()
            self.assertEqual(modules_forward(entries(directory, "step0/rank0")["data"]), MODULES)

    def test_a_range_of_forward_passes(self):
        with recording(level="L0") as (directory, config, _told):
            debugger, model = PrecisionDebugger(config), tiny.model().eval()
            with torch.no_grad():
                debugger.start(model, token_range=[1, 2])
                for count in (5, 1, 2, 3):
                    model(tiny.tokens(count))
                debugger.stop()
                debugger.step()
            data = entries(directory, "step0/rank0")["data"]
            self.assertFalse(model._forward_hooks or model._forward_pre_hooks)
        self.assertEqual([data[f"Module.head.Linear.forward.{n}"]["output"][0]["shape"][0] for n in (0, 1)], [1, 2])
        self.assertNotIn("Module.head.Linear.forward.2", data)

    def test_sglang_records_every_forward_pass(self):
        plain = sglang.ModelRunner().generate(tiny.tokens(), 4)
        with recording(level="mix", step=[0, "2-9"]) as (directory, config, told):
            self.addCleanup(torch.use_deterministic_algorithms, False)
            made = sglang.ModelRunner(config).generate(tiny.tokens(), 4)
            found = dumps(os.path.join(directory, "dump"))
        self.assertEqual(made, plain)
        self.assertEqual(sorted(found), ["step0/rank3", "step2/rank3", "step3/rank3"])
        for place in found.values():
            self.assertEqual(modules_forward(place), MODULES)
        self.assertNotIn("WARNING", told.getvalue())


class Switching(unittest.TestCase):
    def assertWhole(self, directory):
        """Every file of every step is complete."""
        steps = glob.glob(os.path.join(directory, "dump", "step*", "rank0"))
        self.assertTrue(steps)
        for step in steps:
            with open(os.path.join(step, "dump.json"), encoding="utf-8") as file:
                dump = json.load(file)
            for name in ("stack.json", "call_sites.json"):
                with open(os.path.join(step, name), encoding="utf-8") as file:
                    json.load(file)
            for tensor in tensors(dump["data"]):
                if "data_name" in tensor:
                    saved = torch.load(os.path.join(dump["dump_data_dir"], tensor["data_name"]))
                    self.assertEqual(list(saved.shape), tensor["shape"])
            self.assertEqual(glob.glob(os.path.join(step, "*.new")), [])
        return len(steps)

    def test_two_hundred_requests_while_dump_enable_changes(self):
        """vLLM-Ascend edits config.json; the runner asks at every batch."""
        plain, batches = vllm_ascend.NPUModelRunner(), [{f"r{n}": tiny.tokens(1 + n % 5), f"s{n}": tiny.tokens(2)} for n in range(100)]
        with recording(level="L1", task="tensor", dump_enable=False) as (directory, config, _told):
            runner, on = vllm_ascend.NPUModelRunner(config), 0
            for number, batch in enumerate(batches):
                if number % 5 == 0:
                    on = number // 5 % 2
                    runner.set_msprobe_dump_state(bool(on))
                self.assertEqual(runner.execute_model(batch), plain.execute_model(batch))
            self.assertEqual(self.assertWhole(directory), 50)

    def test_two_hundred_requests_in_threads_while_recording_is_switched(self):
        model = tiny.model().eval()
        with torch.inference_mode():
            wanted = [model(tiny.tokens(1 + n % 7)) for n in range(200)]
        answers = [None] * 200
        waiting = queue.Queue()
        answered = threading.Semaphore(0)

        def serve():
            while True:
                number = waiting.get()
                if number is None:
                    return
                try:
                    with torch.inference_mode():
                        answers[number] = model(tiny.tokens(1 + number % 7))
                finally:
                    answered.release()

        with recording(level="mix", task="tensor") as (directory, config, told):
            debugger = PrecisionDebugger(config)
            workers = [threading.Thread(target=serve) for _ in range(4)]
            for worker in workers:
                worker.start()
            for turn in range(20):
                if turn % 2:
                    debugger.start(model)
                for number in range(10 * turn, 10 * turn + 10):
                    waiting.put(number)
                for _ in range(5):
                    answered.acquire()
                debugger.stop()  # while others are at work
                for _ in range(5):
                    answered.acquire()
                debugger.step()
            for _ in workers:
                waiting.put(None)
            for worker in workers:
                worker.join()
            self.assertEqual(self.assertWhole(directory), 10)
        for answer, right in zip(answers, wanted):
            self.assertTrue(torch.equal(answer, right))
        self.assertNotIn("ERROR", told.getvalue())

    def test_nothing_stays_hooked(self):
        """In the thread that recorded, in older ones, and in those that began while it recorded."""
        model = tiny.model().eval()
        names = ("__torch_function__", "__add__", "__mul__", "__eq__")
        before = [vars(torch.Tensor).get(name) for name in names], torch.nn.Module._call_impl.__code__
        work, done, seen = queue.Queue(), queue.Queue(), []

        def serve():
            for job in iter(work.get, None):
                job()
                done.put(None)

        def run(job):
            work.put(job)
            done.get()

        def look():
            torch.exp(torch.ones(1))  # a mode that is left goes away behind the first call
            torch.exp(torch.ones(1))
            seen.append(list(overrides._get_current_function_mode_stack()))

        with recording(level="mix") as (_directory, config, _told):
            debugger = PrecisionDebugger(config)
            for began_while_recording in (False, True):
                thread = threading.Thread(target=serve)
                if began_while_recording:
                    debugger.start(model)
                thread.start()
                if not began_while_recording:
                    debugger.start(model)
                run(lambda: model(tiny.tokens()))
                model(tiny.tokens())
                debugger.stop()
                debugger.step()
                run(look)
                look()
                work.put(None)
                thread.join()
            self.assertEqual(([vars(torch.Tensor).get(name) for name in names], torch.nn.Module._call_impl.__code__), before)
        self.assertEqual(seen, [[]] * 4)
        hooks = torch.nn.modules.module
        self.assertFalse(hooks._global_forward_hooks or hooks._global_forward_pre_hooks)

    def test_what_a_warm_up_does_is_forgotten(self):
        with recording(level="L1") as (directory, config, told):
            runner = vllm_ascend.NPUModelRunner(config)
            for _ in range(2):
                runner.dummy_run(5)
                self.assertEqual(os.listdir(os.path.join(directory, "dump")), [])
            runner.execute_model(BATCH)
            data = entries(directory, "step0/rank0")["data"]
            self.assertEqual(list(dumps(os.path.join(directory, "dump"))), ["step0/rank0"])
        self.assertEqual(data["Functional.linear.0.forward"]["output"][0]["shape"][0], 9)
        self.assertNotIn("WARNING", told.getvalue())


class Graphs(unittest.TestCase):
    def test_where_nothing_is_captured_the_modules_are_recorded(self):
        with recording() as (directory, config, told):
            runner = vllm_ascend.NPUModelRunner(config, graph_mode=True)
            runner.dummy_run(5)
            for _ in range(2):
                runner.execute_model(BATCH)
            found = dumps(os.path.join(directory, "dump"))
        self.assertEqual([place for place in sorted(found) if found[place]], ["step0/rank0", "step1/rank0"])
        for place in ("step0/rank0", "step1/rank0"):
            self.assertEqual([name for name in found[place] if not name.startswith("Module.")], [])
            self.assertEqual(modules_forward(found[place]), MODULES)
        self.assertNotIn("WARNING", told.getvalue())

    def test_the_step_that_never_came_is_gone_when_the_process_ends(self):
        script = ("import sys, torch; from msprobe.pytorch import AclGraphDumper; model = torch.nn.Sequential(torch.nn.Linear(2, 2))\n"
                  "dumper = AclGraphDumper({'level': 'L0', 'dump_path': sys.argv[1]}); dumper.start(model)\n"
                  "for _ in range(2):\n    model(torch.ones(1, 2)); dumper.step()\n")
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([sys.executable, "-c", script, directory], capture_output=True, text=True)
            self.assertEqual((done.returncode, "WARNING" in done.stderr), (0, False), done.stderr)
            self.assertEqual(sorted(os.listdir(directory)), ["step0", "step1"])

    def test_with_an_npu_one_line_says_what_to_do(self):
        sys.modules["torch_npu"] = torch  # only that it is there counts
        self.addCleanup(sys.modules.pop, "torch_npu")
        with recording() as (directory, config, told):
            runner = vllm_ascend.NPUModelRunner(config, graph_mode=True)
            runner.dummy_run(5)
            self.assertEqual(len(runner.execute_model(BATCH)), 3)
            self.assertFalse(os.path.exists(os.path.join(directory, "dump")))
        self.assertEqual(told.getvalue().count("WARNING"), 1)
        self.assertIn("--enforce-eager", told.getvalue())

    def test_acl_save_numbers_its_files(self):
        with recording() as (directory, _config, _told):
            x = torch.rand(3)
            for _ in range(2):
                self.assertIs(acl_save(x, os.path.join(directory, "saved", "x.pt")), x)
            self.assertTrue(torch.equal(torch.load(os.path.join(directory, "saved", "x_1.pt")), x))
            self.assertEqual(sorted(os.listdir(os.path.join(directory, "saved"))), ["x_0.pt", "x_1.pt"])
        self.assertTrue(callable(AclGraphDumper))


if __name__ == "__main__":
    unittest.main()
