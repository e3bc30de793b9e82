# SPDX-License-Identifier: Apache-2.0
"""Trainers of others record through the debugger as they do through that of the public tool: no exception, one directory per stage and step,
the same losses bit for bit. The stand-ins are in stand_ins/."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy  # noqa: E402
import torch  # noqa: E402
from recorded import MODULES, dumps, modules_forward, recording  # noqa: E402
from stand_ins import mindspeed, mindspeed_rl, slime, verl  # noqa: E402

from msprobe.pytorch import PrecisionDebugger  # noqa: E402

class TrainingHosts(unittest.TestCase):
    def assertSameLosses(self, recorded, plain):
        self.assertEqual(len(recorded), len(plain))
        for one, other in zip(recorded, plain):
            self.assertTrue(torch.equal(one, other), (one, other))

    def test_verl_gives_every_stage_a_directory(self):
        plain = verl.train()
        with recording(level="mix") as (directory, config, told):
            losses = verl.train(config, os.path.join(directory, "out"))
            found = dumps(directory)
        self.assertSameLosses(losses, plain)
        wanted = {}
        for step in (1, 2):
            first = 2 * (step - 1)  # actor_update and critic_update end a step each
            for stage, number in (("actor_compute_log_prob", first), ("compute_values", first), ("actor_update", first),
                                  ("critic_update", first + 1)):
                wanted[f"out/step_{step}/{stage}/step{number}/rank0"] = stage
        self.assertEqual(sorted(found), sorted(wanted))
        for place, stage in wanted.items():
            self.assertEqual(modules_forward(found[place]), MODULES, place)
            self.assertEqual("Module.head.Linear.backward.0" in found[place], stage.endswith("update"), place)
            self.assertEqual([name for name in found[place] if ".forward.1" in name and name.startswith("Module.")], [])
        self.assertNotIn("WARNING", told.getvalue())

    def test_slime_sets_the_directory_before_each_stage(self):
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        plain = slime.train()
        with recording(level="mix") as (directory, config, told):
            losses = slime.train(config)
            found = dumps(os.path.join(directory, "dump"))
        self.assertSameLosses(losses, plain)
        stages = ("ref_log_prob", "old_log_prob", "actor_train")
        self.assertEqual(sorted(found), sorted(f"{stage}/step{step}/rank0" for stage in stages for step in (0, 1)))
        for entries in found.values():
            self.assertEqual([name.partition(".")[2] for name in modules_forward(entries)], MODULES)  # a list of models: 0.embed, ...
        self.assertNotIn("WARNING", told.getvalue())

    def test_a_stage_that_comes_again_in_the_same_step_goes_on(self):
        with recording(level="L1") as (directory, config, _told):
            debugger = PrecisionDebugger(config_path=config)
            x = torch.ones(3, requires_grad=True)
            for stage in ("a", "b", "a", "b", "a"):
                debugger.config.dump_path = os.path.join(directory, stage)
                debugger.start()
                x.exp().sum().backward()
                debugger.stop()
            debugger.step()
            found = dumps(directory)
            with open(os.path.join(directory, "a/step0/rank0/stack.json"), encoding="utf-8") as file:
                stacks = json.load(file)
        self.assertEqual({place: [name for name in entries if "exp" in name] for place, entries in found.items()},
                         {f"{stage}/step0/rank0": [f"Tensor.exp.{n}.{way}" for n in range(calls) for way in ("forward", "backward")]
                          for stage, calls in (("a", 3), ("b", 2))})
        self.assertIn("Tensor.exp.2.forward", [name for names, _frames in stacks.values() for name in names])

    def test_mindspeed_wraps_the_step_of_megatron(self):
        plain = mindspeed.train()
        with recording(level="L1", step=[0, 2]) as (directory, config, _told):
            losses = mindspeed.train(config)
            found = dumps(os.path.join(directory, "dump"))
        self.assertSameLosses(losses, plain)
        self.assertEqual(sorted(found), ["step0/rank0", "step2/rank0"])
        self.assertIn("Functional.linear.2.backward", found["step2/rank0"])

    def test_a_trainer_that_makes_the_debugger_in_every_step(self):
        plain = mindspeed.train_llm()
        with recording() as (directory, _config, told):
            losses = mindspeed.train_llm(os.path.join(directory, "dump"))
            found = dumps(os.path.join(directory, "dump"))
        self.assertSameLosses(losses, plain)
        self.assertEqual(sorted(found), ["step0/rank0", "step1/rank0"])
        self.assertEqual(modules_forward(found["step1/rank0"]), MODULES)
        self.assertNotIn("WARNING", told.getvalue())

    def test_model_parts(self):
        plain = mindspeed.train_titan()
        with recording(level="L0") as (directory, config, _told):
            losses = mindspeed.train_titan(config)
            self.assertEqual(sorted(dumps(os.path.join(directory, "dump"))), ["step0/rank0", "step1/rank0"])
        self.assertSameLosses(losses, plain)

    def test_mindspeed_rl_has_several_models_in_turn(self):
        plain = mindspeed_rl.train()
        with recording() as (directory, _config, told):
            losses = mindspeed_rl.train(directory)
            found = dumps(directory)
            saved = numpy.load(os.path.join(directory, "data/loss/step1/rank0/micro_step0.npy"))
            names = sorted(os.listdir(os.path.join(directory, "data")))
        self.assertSameLosses(losses, plain)
        tags = ("actor_update", "reference_compute_log_prob")
        self.assertEqual(sorted(found), sorted(f"{tag}/step{step}/rank0" for tag in tags for step in (0, 1)))
        for place, entries in found.items():
            self.assertEqual(modules_forward(entries), MODULES, place)
        self.assertEqual((saved.item(), names), (plain[1].item(), ["loss", "ref_log_prob"]))
        self.assertNotIn("WARNING", told.getvalue())

    def test_a_host_that_takes_the_instance_away_makes_another(self):
        """Some set PrecisionDebugger._instance to None for each of their directories."""
        with recording(level="L1") as (directory, config, _told):
            x = torch.ones(2)
            for stage in ("a", "b"):
                PrecisionDebugger._instance = None
                PrecisionDebugger(config_path=config, dump_path=os.path.join(directory, stage))
                PrecisionDebugger.start()
                torch.exp(x)  # no stop(): the next one ends it
            PrecisionDebugger.stop()
            PrecisionDebugger.step()
            self.assertEqual(dumps(directory), {f"{stage}/step0/rank0": ["Torch.exp.0.forward"] for stage in ("a", "b")})

    def test_the_service(self):
        with recording(step=[1], level="L1") as (directory, config, _told):
            debugger = PrecisionDebugger(config)
            service = debugger.service
            self.assertIs(service.config, debugger.config)
            seen = []
            for _ in range(3):
                debugger.start()
                torch.exp(torch.ones(2))
                debugger.stop()
                seen.append((service.current_iter, service.first_start, service.should_stop_service))
                debugger.step()
            self.assertEqual(seen, [(0, True, False), (1, False, False), (2, False, True)])
            service._reset_status()
            self.assertTrue(service.first_start)
            self.assertEqual(list(dumps(os.path.join(directory, "dump"))), ["step1/rank0"])

    def test_a_directory_that_cannot_be_made_is_named_and_the_training_goes_on(self):
        with recording() as (directory, config, told):
            debugger = PrecisionDebugger(config)
            debugger.config.dump_path = config + "/below a file"
            debugger.start()
            torch.exp(torch.ones(2))
            debugger.stop()
            debugger.step()
            self.assertRegex(told.getvalue(), "ERROR.*nothing is recorded: .*is not a directory")


if __name__ == "__main__":
    unittest.main()
