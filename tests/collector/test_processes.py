# SPDX-License-Identifier: Apache-2.0
"""What needs a process of its own: the older entry, killed trainings, several ranks, the cost of importing."""
import csv
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

MSPROBE = os.environ.get("MSPROBE")
HAS_ENGINE = os.environ.get("MSPROBE_HAS_ENGINE") == "1"


def start(script, directory, *arguments, stdin=None, **environment):
    path = os.path.join(directory, "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(script))
    return subprocess.Popen([sys.executable, "-W", "ignore", path, *arguments], cwd=directory, stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


class InDirectory(unittest.TestCase):
    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory()
        self.directory = os.path.realpath(self._scratch.name)

    def tearDown(self):
        self._scratch.cleanup()

    def finish(self, process):
        out, error = process.communicate(timeout=1200)
        return process.returncode, out, error

    def info(self, kind):
        paths = glob.glob(os.path.join(self.directory, "**", f"{kind}_info_*.json"), recursive=True)
        self.assertEqual(len(paths), 1)
        with open(paths[0], encoding="utf-8") as file:
            return json.load(file)


LEGACY = """
    import torch
    import api_accuracy_checker.dump
    from api_accuracy_checker.dump import msCheckerConfig
    {settings}
    w = torch.ones(3, 3, requires_grad=True)
    loader = torch.utils.data.DataLoader([torch.ones(3) for _ in range(8)], batch_size=2)
    for number, batch in enumerate(loader):
        torch.nn.functional.relu(torch.mm(batch, w), inplace=False).sum().backward()
        print(number)
"""


class OlderEntry(InDirectory):
    def test_the_second_iteration_is_recorded_and_ends_the_training(self):
        status, out, error = self.finish(start(LEGACY.format(settings=""), self.directory))
        self.assertEqual((status, out.split()), (1, ["0", "1"]))
        self.assertEqual(error.strip().splitlines()[-1], "Exception: Model pretest: exit after iteration 1.")
        forward, backward, stack = self.info("forward"), self.info("backward"), self.info("stack")
        self.assertEqual(list(forward), ["Torch*mm*0", "Functional*relu*0", "Tensor*sum*0"])
        self.assertEqual(list(forward), list(stack))
        self.assertEqual(forward["Functional*relu*0"]["kwargs"], {"inplace": {"type": "bool", "value": False}})
        self.assertEqual(list(forward["Torch*mm*0"]["args"][0]), ["type", "dtype", "shape", "Max", "Min", "requires_grad"])
        self.assertEqual(sorted(backward), ["Functional*relu*0", "Tensor*sum*0", "Torch*mm*0"])
        self.assertEqual(backward["Torch*mm*0"][0]["shape"], [2, 3])
        self.assertIn("script.py, line", stack["Torch*mm*0"][0])

    def test_real_data(self):
        os.mkdir(os.path.join(self.directory, "my"))
        settings = (
            'msCheckerConfig.update_config(dump_path="my", real_data=True, enable_dataloader=True, target_iter=2, error_data_path="./")'
        )
        status, out, error = self.finish(start(LEGACY.format(settings=settings), self.directory))
        self.assertEqual((status, out.split()), (1, ["0", "1", "2"]), error)
        argument = self.info("forward")["Torch*mm*0"]["args"][1]
        self.assertEqual(list(argument), ["type", "datapath", "requires_grad"])
        self.assertEqual(argument["datapath"], os.path.join(self.directory, "my", "forward_real_data", "Torch*mm*0.1.pt"))
        self.assertTrue(os.path.exists(argument["datapath"]))
        self.assertTrue(os.path.exists(self.info("backward")["Torch*mm*0"][0]["datapath"]))

    def test_settings_of_the_replay_reach_it(self):
        os.mkdir(os.path.join(self.directory, "errors"))
        settings = 'msCheckerConfig.update_config(error_data_path="errors", precision=3)'
        _status, _out, error = self.finish(start(LEGACY.format(settings=settings), self.directory))
        (path,) = glob.glob(os.path.join(self.directory, "checker_config_*.yaml"))
        self.assertIn(f"{path} (pass it with --config-yaml)", error)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), f"error_data_path: '{self.directory}/errors'\nprecision: 3\n")
        if not (MSPROBE and HAS_ENGINE):
            self.skipTest("needs msprobe and its engine")
        self.replay(path)
        (saved,) = glob.glob(os.path.join(self.directory, "errors", "ut_error_data*"))
        self.assertEqual(sorted(os.listdir(saved)), ["Torch.mm.0.forward." + name for name in (
            "input.0.pt", "input.1.pt", "output.bench.0.pt", "output.device.0.pt")])
        (details,) = glob.glob(os.path.join(self.directory, "accuracy_checking_details_*.csv"))
        with open(details, encoding="utf-8-sig", newline="") as file:
            (row,) = csv.DictReader(file)
        self.assertRegex(row["Cosine similarity"], r"^0\.\d{3}$")

    def replay(self, config):
        """Of a call whose recorded result is made wrong."""
        script = """
            import glob, torch
            from msprobe.pytorch import PrecisionDebugger
            debugger = PrecisionDebugger(dump_path="dump", task="tensor")
            x = torch.rand(8, 8)
            debugger.start()
            torch.mm(x, x)
            debugger.stop()
            torch.save(torch.rand(8, 8), glob.glob("dump/**/Torch.mm.0.forward.output.0.pt", recursive=True)[0])
        """
        self.assertEqual(self.finish(start(script, self.directory))[0], 0)
        (dump,) = glob.glob(os.path.join(self.directory, "dump", "step0", "*", "dump.json"))
        done = subprocess.run([MSPROBE, "acc_check", "-api_info", dump, "-d", "recorded", "-save_error_data", "--config-yaml", config,
                               "-o", self.directory], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_the_switch(self):
        script = """
            import torch
            import api_accuracy_checker.dump as DP
            DP.msCheckerConfig.update_config(enable_dataloader=False)
            torch.sin(torch.ones(2))
            DP.dump.set_dump_switch("ON")
            torch.exp(torch.ones(2))
            DP.dump.set_dump_switch("OFF")
            torch.cos(torch.ones(2))
        """
        status, _out, error = self.finish(start(script, self.directory))
        self.assertEqual(status, 0, error)
        self.assertEqual([key for key in self.info("forward") if "ones" not in key], ["Torch*exp*0"])

    def test_wrong_settings(self):
        script = """
            from api_accuracy_checker.dump import msCheckerConfig
            for settings in ({"target_iter": -1}, {"real_data": 1}, {"dump_path": "none"}, {"other": 1}, {"precision": 21}):
                try:
                    msCheckerConfig.update_config(**settings)
                except ValueError as error:
                    print(error)
        """
        _status, out, _error = self.finish(start(script, self.directory))
        names = ["target_iter", "real_data", "dump_path", "other", "precision"]
        lines = out.splitlines()
        self.assertEqual(len(lines), len(names), out)
        for name, line in zip(names, lines):
            self.assertIn(name, line)


TRAINING = """
    import itertools
    import sys
    import torch
    from msprobe.pytorch import PrecisionDebugger
    debugger = PrecisionDebugger(dump_path="dump", task=sys.argv[1])
    debugger.start()
    x = torch.ones(64, 64)
    for i in itertools.count():
        x = torch.relu(x)
        if i == 20:
            print("begun", flush=True)
"""


def cpu_seconds(process):
    """What all threads of a running process have computed."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Killed(InDirectory):
    def test_what_was_captured_can_be_read(self):
        for task in ("statistics", "tensor"):
            process = start(TRAINING, self.directory, task)
            process.stdout.readline()
            begun = cpu_seconds(process)
            while cpu_seconds(process) < begun + 1.2:  # stack.json is at most a second of CPU time behind
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            (path,) = glob.glob(os.path.join(self.directory, "dump", "step0", "rank0", "dump.json"))
            with open(path, encoding="utf-8") as file:
                dump = json.load(file)
            self.assertGreater(len(dump["data"]), 20)
            with open(os.path.join(os.path.dirname(path), "stack.json"), encoding="utf-8") as file:
                self.assertIn("Torch.relu.0.forward", [name for names, _frames in json.load(file).values() for name in names])
            whole = [entry for entry in dump["data"].values() if "output" in entry]
            if task == "tensor":
                for entry in whole:
                    self.assertTrue(os.path.exists(os.path.join(dump["dump_data_dir"], entry["output"][0]["data_name"])))


class Forked(InDirectory):
    def test_a_child_records_nothing_and_disturbs_nothing(self):
        script = """
            import os
            import torch
            from msprobe.pytorch import PrecisionDebugger
            debugger = PrecisionDebugger(dump_path="dump", task="tensor")

            def child():
                process = os.fork()
                if process:
                    assert os.waitpid(process, 0)[1] == 0
                    return
                for _ in range(2):
                    debugger.start()
                    torch.cos(torch.ones(2000))
                    debugger.stop()
                    debugger.step()
                os._exit(0)

            child()
            debugger.start()
            torch.exp(torch.ones(2000))
            child()
            torch.sin(torch.ones(2000))
            debugger.stop()
            debugger.step()
        """
        process = start(script, self.directory)
        status, _out, error = self.finish(process)
        self.assertEqual(status, 0, error)
        self.assertEqual(error.count("records nothing"), 2)
        self.assertEqual(os.listdir(os.path.join(self.directory, "dump", "step0")), ["rank0"])
        with open(glob.glob(os.path.join(self.directory, "dump", "step0", "*", "dump.json"))[0], encoding="utf-8") as file:
            names = [name for name in json.load(file)["data"] if "ones" not in name]
        self.assertEqual(names, ["Torch.exp.0.forward", "Torch.sin.0.forward"])


class Ended(InDirectory):
    def test_an_exception_before_stop_loses_nothing(self):
        script = """
            import torch
            from msprobe.pytorch import PrecisionDebugger
            debugger = PrecisionDebugger(dump_path="dump", task="overflow_check")
            debugger.start()
            torch.exp(torch.tensor([100.0]))
            raise ValueError("no")
        """
        status, _out, error = self.finish(start(script, self.directory))
        self.assertEqual((status, error.strip().splitlines()[-1]), (1, "ValueError: no"))
        self.assertEqual(list(self.info("forward")), ["Torch_exp_0_forward"])


class Ranks(InDirectory):
    def test_two_processes_leave_two_directories(self):
        script = """
            import os, sys
            import torch
            import torch.distributed as dist
            from msprobe.pytorch import PrecisionDebugger
            debugger = PrecisionDebugger(dump_path="dump", task="tensor")
            rank = int(sys.argv[1])
            debugger.start()
            torch.exp(torch.ones(2))
            dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=rank, world_size=2)
            debugger.stop()
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 3))
            debugger.start(model)
            model(torch.ones(2, 3)).sum().backward()
            debugger.stop()
            debugger.step()
            dist.destroy_process_group()
        """
        processes = [start(script, self.directory, str(rank)) for rank in (0, 1)]
        for process in processes:
            status, _out, error = self.finish(process)
            self.assertEqual(status, 0, error)
        self.assertEqual(sorted(os.listdir(os.path.join(self.directory, "dump", "step0"))), ["rank0", "rank1"])
        for rank in (0, 1):
            with open(os.path.join(self.directory, "dump", "step0", f"rank{rank}", "dump.json"), encoding="utf-8") as file:
                dump = json.load(file)
            data = dump["data"]
            for argument in (data["Torch.exp.0.forward"]["output"][0], data["Functional.linear.0.forward"]["output"][0]):
                self.assertTrue(os.path.exists(os.path.join(dump["dump_data_dir"], argument["data_name"])))
            for name in ("Torch.exp.0.forward", "Functional.linear.0.forward", "Functional.linear.0.backward"):
                self.assertIn(name, data)


class WithoutRank(InDirectory):
    SCRIPT = """
        import sys
        import torch
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(dump_path="dump")
        debugger.start()
        torch.exp(torch.ones(2))
        debugger.stop()
        print("stopped", flush=True)
        sys.stdin.readline()
        debugger.step()
    """

    def begin(self):
        process = start(self.SCRIPT, self.directory, stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "stopped\n")
        return process

    def directories(self):
        return sorted(os.listdir(os.path.join(self.directory, "dump", "step0")))

    def test_rank0_belongs_to_one_live_process(self):
        first, second = self.begin(), self.begin()
        self.assertEqual(self.directories(), [f"proc{second.pid}", "rank0"])
        _out, told = second.communicate("\n", timeout=1200)
        self.assertIn(f"this one records into proc{second.pid}", told)
        first.kill()
        first.communicate()
        third = self.begin()
        self.assertEqual(self.directories(), [f"proc{second.pid}", "rank0"])
        _out, told = third.communicate("\n", timeout=1200)
        self.assertEqual(told.count("[WARNING]"), 1)
        self.assertIn("step0/rank0 has a dump of an earlier run; it is overwritten", told)

    def test_a_child_that_lives_longer_does_not_keep_it(self):
        script = """
            import os, time
            import torch
            from msprobe.pytorch import PrecisionDebugger
            debugger = PrecisionDebugger(dump_path="dump")
            debugger.start()
            debugger.stop()
            child = os.fork()
            if child == 0:
                os.close(1), os.close(2)
                time.sleep(60)
                os._exit(0)
            print(child)
            os._exit(0)
        """
        _status, out, _error = self.finish(start(script, self.directory))
        try:
            self.begin().communicate("\n", timeout=1200)
            self.assertEqual(self.directories(), ["rank0"])
        finally:
            os.kill(int(out), signal.SIGKILL)

    def test_a_rank_that_is_known_late(self):
        """The process that was first, and took rank0, is rank 1; an earlier step of it follows."""
        script = """
            import os, sys, time
            import torch
            import torch.distributed as dist
            from msprobe.pytorch import PrecisionDebugger
            debugger = PrecisionDebugger(dump_path="dump")
            rank = int(sys.argv[1])

            def step(function):
                debugger.start()
                function(torch.ones(2))
                debugger.stop()

            while rank == 0 and not os.path.exists("dump/step1/rank0"):
                time.sleep(0.01)
            step(torch.sin if rank else torch.cos)
            debugger.step()
            step(torch.tan if rank else torch.exp)
            dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=rank, world_size=2)
            debugger.stop()
            debugger.step()
            dist.barrier()
            dist.destroy_process_group()
        """
        processes = [start(script, self.directory, str(rank)) for rank in (1, 0)]
        for process in processes:
            status, _out, error = self.finish(process)
            self.assertEqual(status, 0, error)
        found = {}
        for path in glob.glob(os.path.join(self.directory, "dump", "*", "*", "dump.json")):
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(os.path.dirname(path), os.path.join(self.directory, "dump"))] = list(json.load(file)["data"])[1]
        late = f"step0/proc{processes[1].pid}"  # its step had ended
        self.assertEqual(found, {"step0/rank1": "Torch.sin.0.forward", late: "Torch.cos.0.forward",
                                 "step1/rank1": "Torch.tan.0.forward", "step1/rank0": "Torch.exp.0.forward"})


class Import(InDirectory):
    def test_the_package_is_quick_to_import(self):
        script = """
            import time
            begin = time.process_time()
            import torch, torch.utils.data
            start = time.process_time()
            from msprobe.pytorch import PrecisionDebugger
            PrecisionDebugger(dump_path="dump")
            print((time.process_time() - start) / (start - begin))
        """
        status, out, error = self.finish(start(script, self.directory))
        self.assertEqual(status, 0, error)
        self.assertLess(float(out), 0.15)  # of what PyTorch itself takes, on any machine


if __name__ == "__main__":
    unittest.main()
