# SPDX-License-Identifier: Apache-2.0
"""Calls of torch.distributed between two processes."""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

MSPROBE = os.environ.get("MSPROBE")
HAS_ENGINE = os.environ.get("MSPROBE_HAS_ENGINE") == "1"

SCRIPT = """
    import os, sys
    import torch
    import torch.distributed as dist
    from torch.distributed import all_reduce as held, isend
    from msprobe.pytorch import PrecisionDebugger
    rank = int(sys.argv[1])
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=rank, world_size=2)
    debugger = PrecisionDebugger(dump_path="dump", task="tensor")
    work_type = dist.distributed_c10d.Work
    code, wait = held.__code__, work_type.wait
    x, y = torch.full((2,), rank + 1.0), torch.full((3,), rank + 5.0)
    parts, other = [torch.empty(2), torch.empty(2)], torch.empty(2)
    group = dist.new_group([0, 1])

    debugger.start()
    assert dist.all_reduce is held and dist.isend is isend
    held(x)
    first = dist.all_reduce(y, op=dist.ReduceOp.MAX, group=group, async_op=True)
    torch.exp(x)
    first.wait()
    y.zero_()
    dist.broadcast(x, src=1)
    dist.all_gather(parts, x)
    dist.all_gather(tensor_list=parts, tensor=x)
    if rank == 0:
        isend(x, 1).wait()
    else:
        dist.irecv(x, 0).wait()
    swap = [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, other, 1 - rank)]
    for work in dist.batch_isend_irecv(swap):
        work.wait()
    late = dist.all_reduce(x, async_op=True)
    try:
        dist.all_reduce("no tensor")
    except Exception:
        pass
    debugger.stop()
    late.wait()
    dist.broadcast(x, src=0)  # after stop
    debugger.step()

    debugger.start()
    never = dist.all_reduce(x, async_op=True)
    torch.exp(x)
    debugger.stop()
    debugger.step()
    never.wait()
    assert held.__code__ is code and work_type.wait is wait

    try:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        pass
    else:
        model = fully_shard(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)), mesh=init_device_mesh("cpu", (2,)))
        optimizer = torch.optim.AdamW(model.parameters())
        debugger.start()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
    dist.destroy_process_group()
"""


class Communication(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = os.path.realpath(cls.scratch.name)
        path = os.path.join(cls.directory, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(SCRIPT))
        processes = [
            subprocess.Popen([sys.executable, "-W", "ignore", path, str(rank)], cwd=cls.directory, stderr=subprocess.PIPE, text=True)
            for rank in (0, 1)
        ]
        errors = [process.communicate(timeout=1200)[1] for process in processes]
        assert all(process.returncode == 0 for process in processes), errors
        cls.ranks = [cls.read(0, rank) for rank in (0, 1)]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def read(cls, step, rank):
        with open(os.path.join(cls.directory, "dump", f"step{step}", f"rank{rank}", "dump.json"), encoding="utf-8") as file:
            return json.load(file)["data"]

    def check(self, step, rank, device):
        """The rows of the result by call, and what acc_check printed."""
        dump = os.path.join(self.directory, "dump", step, rank, "dump.json")
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([MSPROBE, "acc_check", "-api_info", dump, "-d", device, "-o", out, "-v"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            (result,) = glob.glob(os.path.join(out, "accuracy_checking_result_*.csv"))
            with open(result, encoding="utf-8-sig", newline="") as file:
                return {row[0]: row[1:] for row in csv.reader(file)}, done.stdout

    def test_calls_are_numbered_and_only_the_outermost_is_recorded(self):
        for rank, point_to_point in enumerate(("isend", "irecv")):
            self.assertEqual([name for name in self.ranks[rank] if name.startswith("Distributed")], [
                f"Distributed.{call}.forward" for call in (
                    "all_reduce.0", "all_reduce.1", "broadcast.0", "all_gather.0", "all_gather.1", f"{point_to_point}.0",
                    "batch_isend_irecv.0", "all_reduce.2", "all_reduce.3")])
            self.assertFalse(glob.glob(os.path.join(self.directory, "dump", "*", "*", "dump_error_info.log")))

    def test_the_output_is_what_the_arguments_hold_afterwards(self):
        entry = self.ranks[1]["Distributed.all_reduce.0.forward"]
        self.assertEqual((entry["input_args"][0]["Max"], entry["output"][0]["Max"]), (2.0, 3.0))
        entry = self.ranks[0]["Distributed.broadcast.0.forward"]
        self.assertEqual(entry["input_kwargs"], {"src": {"type": "int", "value": 1}})
        self.assertEqual(entry["output"][1:], [{"type": "int", "value": 1}])

    def test_an_asynchronous_call_has_the_results_of_its_wait(self):
        entry = self.ranks[0]["Distributed.all_reduce.1.forward"]
        self.assertEqual((entry["input_args"][0]["Max"], entry["output"][0]["Max"]), (5.0, 6.0))
        group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "77849d8c"}
        operation = {"type": "torch.distributed.ReduceOp", "value": "RedOpType.MAX"}
        self.assertEqual(list(entry["input_kwargs"].values()), [operation, group, {"type": "bool", "value": True}])
        self.assertEqual(entry["output"][1:], [operation, group, {"type": "bool", "value": True}])
        names = list(self.ranks[0])
        self.assertLess(names.index("Distributed.all_reduce.1.forward"), names.index("Torch.exp.0.forward"))

    def test_one_that_is_waited_for_after_stop_and_one_that_never_is(self):
        self.assertIn("output", self.ranks[0]["Distributed.all_reduce.2.forward"])
        second = self.read(1, 0)
        self.assertEqual(list(second), ["Distributed.all_reduce.0.forward", "Torch.exp.0.forward"])
        self.assertEqual(list(second["Distributed.all_reduce.0.forward"]), ["input_args", "input_kwargs"])

    def test_a_call_that_raises_keeps_its_inputs(self):
        self.assertEqual(self.ranks[0]["Distributed.all_reduce.3.forward"],
                         {"input_args": [{"type": "str", "value": "no tensor"}], "input_kwargs": {}})

    def test_buffers_without_meaning_are_null(self):
        self.assertIsNone(self.ranks[0]["Distributed.all_gather.0.forward"]["input_args"][0])
        self.assertIsNone(self.ranks[0]["Distributed.all_gather.1.forward"]["input_kwargs"]["tensor_list"])
        self.assertEqual([part["Max"] for part in self.ranks[0]["Distributed.all_gather.0.forward"]["output"][0]], [3.0, 3.0])
        self.assertIsNone(self.ranks[0]["Distributed.isend.0.forward"]["output"][0])
        self.assertIsNone(self.ranks[1]["Distributed.irecv.0.forward"]["input_args"][0])
        self.assertEqual(self.ranks[1]["Distributed.irecv.0.forward"]["output"][0]["Max"], 3.0)

    def test_a_batch_of_sends_and_receives(self):
        entry = self.ranks[0]["Distributed.batch_isend_irecv.0.forward"]
        ((_sent, received),) = entry["output"]
        self.assertEqual(list(received), ["class_type", "tensor", "op", "peer", "tag", "group_id"])
        self.assertEqual((received["class_type"], received["op"], received["peer"], received["tag"], received["group_id"]),
                         ("torch.distributed.P2POp", "irecv", 1, 0, "77849d8c"))
        self.assertEqual((received["tensor"]["Max"], received["tensor"]["data_name"]),
                         (3.0, "Distributed.batch_isend_irecv.0.forward.output.0.1.tensor.pt"))

    def test_tensors_that_are_spread_over_the_processes(self):
        if not os.path.exists(os.path.join(self.directory, "dump", "step2")):
            self.skipTest("this PyTorch has no fully_shard")
        data = self.read(2, 1)
        averages, gradient = data["Tensor.lerp_.0.forward"]["input_args"][:2]
        self.assertEqual(averages["type"], "torch.distributed.tensor.DTensor")
        self.assertEqual((gradient["shape"], gradient["placements"]), ([4, 8], [{"Shard": {"dim": 0}}]))
        self.assertTrue(all("output" in entry for entry in data.values()))

    @unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe and its engine")
    def test_parts_are_compared_with_their_record(self):
        if not os.path.exists(os.path.join(self.directory, "dump", "step2")):
            self.skipTest("this PyTorch has no fully_shard")
        for rank in ("rank0", "rank1"):
            _, said = self.check("step2", rank, "recorded")
            self.assertRegex(said, r"recorded (\d+), checked \1 .*skipped 0; .*warned 0, failed 0\n")

    def test_the_stack_is_the_caller_s(self):
        with open(os.path.join(self.directory, "dump", "step0", "rank0", "stack.json"), encoding="utf-8") as file:
            stacks = {name: frames for names, frames in json.load(file).values() for name in names}
        self.assertEqual(len(stacks["Distributed.all_reduce.0.forward"]), 1)
        self.assertIn("held(x)", stacks["Distributed.all_reduce.0.forward"][0])

    @unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe and its engine")
    def test_the_check_says_that_it_leaves_them_out(self):
        rows, said = self.check("step0", "rank0", "cpu")
        self.assertIn("skipped 9: not_supported 9", said)
        self.assertEqual(rows["Distributed.all_reduce.1"],
                         ["SKIP", "SKIP", "API Distributed.all_reduce.1 not support for acc_check. SKIP."])


if __name__ == "__main__":
    unittest.main()
