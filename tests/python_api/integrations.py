# SPDX-License-Identifier: Apache-2.0
"""The callbacks with the real libraries. Not part of the suite: tools/test_integrations.sh installs them and runs this."""
import glob
import json
import os
import sys
import tempfile
import unittest

import torch


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        torch.manual_seed(index)
        x = torch.randn(4)
        return {"x": x, "labels": x.sum(0, keepdim=True)}


class Net(torch.nn.Module):
    """`nan_at`: the forward pass, from 0, whose logarithm is one of a negative number."""

    def __init__(self, nan_at=None):
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.calls, self.nan_at = 0, nan_at

    def forward(self, x, labels):
        out = self.linear(x)
        if self.calls == self.nan_at:
            out = torch.log(-out.abs() - 1)
        self.calls += 1
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


class Integrations(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(self.close_debugger)
        self.dump = os.path.join(scratch.name, "dump")

    def close_debugger(self):
        from msprobe.pytorch import PrecisionDebugger
        if PrecisionDebugger._instance is not None:
            PrecisionDebugger.close()

    def check_steps(self, wanted, forwards=1):
        found = sorted(os.path.basename(path) for path in glob.glob(os.path.join(self.dump, "step*")))
        self.assertEqual(found, [f"step{number}" for number in wanted])
        for number in wanted:
            with open(os.path.join(self.dump, f"step{number}", "rank0", "dump.json"), encoding="utf-8") as file:
                names = list(json.load(file)["data"])
            self.assertEqual(sum(name.startswith("Functional.linear.") and name.endswith(".forward") for name in names), forwards)
            self.assertTrue(any(name.endswith(".backward") for name in names))

    def trainer(self, net, callback, accumulation=1):
        from transformers import Trainer, TrainingArguments
        arguments = TrainingArguments(output_dir=os.path.dirname(self.dump), per_device_train_batch_size=4, max_steps=4, report_to=[],
                                      gradient_accumulation_steps=accumulation, save_strategy="no", use_cpu=True, disable_tqdm=True,
                                      logging_strategy="no")
        return Trainer(model=net, args=arguments, train_dataset=Data(), callbacks=[callback])

    def test_transformers_records_the_steps_asked_for(self):
        from msprobe.integrations.transformers import RecordCallback
        self.trainer(Net(), RecordCallback(self.dump, steps=[1, 2])).train()
        self.check_steps([1, 2])

    def test_transformers_records_a_whole_accumulated_step(self):
        from msprobe.integrations.transformers import RecordCallback
        self.trainer(Net(), RecordCallback(self.dump, steps=[1]), accumulation=2).train()
        self.check_steps([1], forwards=2)

    def test_transformers_stops_at_the_call_that_makes_a_nan(self):
        from msprobe.integrations.transformers import NanFound, RecordCallback
        with self.assertRaisesRegex(NanFound, r"Torch.log.0.forward makes a NaN of finite inputs .*integrations.py") as caught:
            self.trainer(Net(nan_at=2), RecordCallback(self.dump, steps=None, stop_at_nan=True)).train()
        self.assertEqual(caught.exception.call, "Torch.log.0.forward")
        self.check_steps([0, 1, 2])

    def lightning(self, net, callback, accumulation=1):
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = net

            def training_step(self, batch, _index):
                return self.net(**batch)["loss"]

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        trainer = lightning.Trainer(max_steps=4, callbacks=[callback], accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=accumulation,
                                    default_root_dir=os.path.dirname(self.dump))
        trainer.fit(Module(), torch.utils.data.DataLoader(Data(), batch_size=2))

    def test_lightning_records_the_steps_asked_for(self):
        from msprobe.integrations.lightning import RecordCallback
        self.lightning(Net(), RecordCallback(self.dump, steps=[0, 3]))
        self.check_steps([0, 3])

    def test_lightning_records_a_whole_accumulated_step(self):
        from msprobe.integrations.lightning import RecordCallback
        self.lightning(Net(), RecordCallback(self.dump, steps=[1]), accumulation=2)
        self.check_steps([1], forwards=2)

    def test_lightning_stops_at_the_call_that_makes_a_nan(self):
        from msprobe.integrations.lightning import NanFound, RecordCallback
        with self.assertRaises(NanFound):
            self.lightning(Net(nan_at=1), RecordCallback(self.dump, steps=None, stop_at_nan=True))

    def accelerate(self, net, accumulation=1, **keywords):
        from accelerate import Accelerator
        from msprobe.integrations.accelerate import recorded
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
        model, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.01),
                                                       torch.utils.data.DataLoader(Data(), batch_size=2))
        recorder = recorded(optimizer, model, self.dump, **keywords)
        try:
            for batch in loader:
                with accelerator.accumulate(model):
                    accelerator.backward(model(**batch)["loss"])
                    optimizer.step()
                    optimizer.zero_grad()
        finally:
            recorder.close()

    def test_accelerate_records_the_steps_asked_for(self):
        self.accelerate(Net(), steps=[2])
        self.check_steps([2])

    def test_accelerate_records_a_whole_accumulated_step(self):
        self.accelerate(Net(), accumulation=2, steps=[1])
        self.check_steps([1], forwards=2)

    def test_accelerate_stops_at_the_call_that_makes_a_nan(self):
        from msprobe.integrations.accelerate import NanFound
        with self.assertRaises(NanFound):
            self.accelerate(Net(nan_at=1), steps=None, stop_at_nan=True)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())
