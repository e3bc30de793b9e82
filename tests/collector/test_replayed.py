# SPDX-License-Identifier: Apache-2.0
"""What the list of APIs does not cover, and what calls change in place, is checked by acc_check like any other result."""
import csv
import glob
import os
import subprocess
import unittest

import torch

from collected import debugger, step_directory

MSPROBE = os.environ.get("MSPROBE")
HAS_ENGINE = os.environ.get("MSPROBE_HAS_ENGINE") == "1"
MODERN = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 9)


def rows(directory, kind):
    (path,) = glob.glob(os.path.join(directory, f"accuracy_checking_{kind}_*.csv"))
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@unittest.skipUnless(MSPROBE and HAS_ENGINE, "needs msprobe and its engine")
class Replayed(unittest.TestCase):
    def check(self, work, task="tensor", spoil=lambda directory: None):
        """For each device: {name of a compared result: its strict status}, and the calls that were skipped."""
        found = {}
        with debugger({"task": task}) as made:
            made.start()
            work()
            made.stop()
            made.step()
            dump = step_directory(made)
            spoil(dump)
            for device in ("cpu", "recorded") if task == "tensor" else ("cpu",):
                out = os.path.join(os.path.dirname(dump), device)
                done = subprocess.run([MSPROBE, "acc_check", "-api_info", os.path.join(dump, "dump.json"), "-d", device, "-o", out],
                                      capture_output=True, text=True)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                skipped = [row["API name"] for row in rows(out, "result")
                           if row["Forward Test Success"] == "SKIP" and "black list" not in row["Message"]]
                found[device] = ({row["API name"]: row["Strict Status"] for row in rows(out, "details")}, skipped)
        return found

    def assert_passes(self, found):
        for device, (statuses, skipped) in found.items():
            silent = ("pass", "inconclusive", "SKIP")
            self.assertEqual({name: status for name, status in statuses.items() if status not in silent}, {}, device)
            self.assertEqual(skipped, [], device)

    def test_functions_outside_of_the_list(self):
        torch.manual_seed(2)
        x = torch.randn(4, 4, requires_grad=True)
        triangle = torch.eye(4) + torch.randn(4, 4).triu(1) * 0.1

        def work():
            torch.fft.rfft(x).abs().sum().backward()
            torch.corrcoef(x).sum().backward()
            torch._weight_norm(x, x[:, :1], 0).sum().backward()
            torch.linalg.solve_triangular(triangle, torch.ones(4, 2), upper=True)

        found = self.check(work)
        self.assert_passes(found)
        self.assertIn("Aten.fft_rfft.0.forward.output.0", found["cpu"][0])

    @unittest.skipUnless(MODERN, "this PyTorch has no torch._grouped_mm on the CPU")
    def test_products_of_groups(self):
        torch.manual_seed(2)
        left, right = torch.randn(6, 16).bfloat16().requires_grad_(), torch.randn(2, 16, 8).bfloat16().requires_grad_()
        offsets = torch.tensor([2, 6], dtype=torch.int32)
        found = self.check(lambda: torch._grouped_mm(left, right, offsets).square().sum().backward())
        self.assert_passes(found)
        self.assertIn("Aten._grouped_mm.0.forward.output.0", found["cpu"][0])

    def test_what_an_assignment_changed_is_compared(self):
        def work():
            x = torch.zeros(3, 3)
            x[1] = 2.0

        found = self.check(work)
        self.assert_passes(found)
        for device in found:
            self.assertEqual(found[device][0].get("Tensor.__setitem__.0.forward.output.1"), "pass", device)

        def spoil(directory):
            path = os.path.join(directory, "dump_tensor_data", "Tensor.__setitem__.0.forward.mutated.0.pt")
            wrong = torch.load(path)
            os.remove(path)
            wrong[0, 0] = 7.0
            torch.save(wrong, path)

        found = self.check(work, spoil=spoil)
        self.assertEqual(found["recorded"][0]["Tensor.__setitem__.0.forward.output.1"], "error")

    def test_lists_that_are_changed_are_compared(self):
        def work():
            torch.manual_seed(2)
            first, second = [torch.randn(4), torch.randn(3, 3)], [torch.randn(4), torch.randn(3, 3)]
            torch._foreach_add_(first, second, alpha=0.1)
            torch._foreach_mul_(first, 0.9)

        found = self.check(work)
        self.assert_passes(found)
        for device in found:
            for place in ("_foreach_add_.0.forward.output.1", "_foreach_mul_.0.forward.output.0"):
                self.assertEqual(found[device][0].get(f"Aten.{place}"), "pass", device)

        def spoil(directory):
            path = os.path.join(directory, "dump_tensor_data", "Aten._foreach_add_.0.forward.output.0.1.pt")
            wrong = torch.load(path)
            os.remove(path)
            torch.save(wrong * 2, path)

        found = self.check(work, spoil=spoil)
        self.assertEqual(found["recorded"][0]["Aten._foreach_add_.0.forward.output.1"], "error")

    @unittest.skipUnless(MODERN, "torch.amp.GradScaler and fused optimizers on the CPU are newer")
    def test_scaled_and_clipped_gradients_and_the_step_of_an_optimizer(self):
        def training(optimizer, **options):
            torch.manual_seed(2)
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 4))
            made, scaler = optimizer(model.parameters(), **options), torch.amp.GradScaler("cpu", init_scale=1024.0)

            def work():
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = model(torch.randn(4, 8)).square().mean()
                scaler.scale(loss).backward()
                scaler.unscale_(made)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                scaler.step(made)
                scaler.update()

            return work

        for optimizer, options, calls in (
            (torch.optim.AdamW, {"foreach": True}, ("Aten._foreach_div_.0", "Aten._foreach_add_.1", "Aten._amp_update_scale_.0")),
            (torch.optim.AdamW, {"fused": True}, ("Torch._fused_adamw_.0", "Aten._amp_foreach_non_finite_check_and_unscale_.0")),
            (torch.optim.Adagrad, {"fused": True}, ("Aten._fused_adagrad_.0",)),
        ):
            with self.subTest(optimizer=optimizer.__name__, **options):
                found = self.check(training(optimizer, **options))
                self.assert_passes(found)
                for device in found:
                    names = {name.split(".forward.")[0] for name in found[device][0]}
                    self.assertLessEqual(set(calls), names, device)

    def gradients_of_inner_nodes(self):
        """Functions whose last autograd node does not give the gradients of their arguments."""
        torch.manual_seed(2)
        functional = torch.nn.functional
        x, image = torch.randn(2, 8, 8, requires_grad=True), torch.randn(2, 6, 5, 5, requires_grad=True)
        weight, kernel = torch.randn(8, requires_grad=True), torch.randn(4, 6, 2, 2, requires_grad=True)
        results = [functional.rms_norm(x, (8,), weight), functional.rms_norm(x.bfloat16(), (8,)),
                   functional.linear(x.transpose(1, 2), torch.randn(8, 8)), functional.linear(x[0].t(), torch.randn(8, 8)),
                   functional.local_response_norm(image, 3), functional.local_response_norm(image, 3, alpha=1.0),
                   functional.conv2d(image, kernel, padding="same"), functional.gelu(x.chunk(2, -1)[1]), x * x,
                   torch.matmul(x.transpose(0, 1), x.detach()[0]), functional.cross_entropy(x[0], torch.arange(8))]
        sum(result.float().square().sum() for result in results).backward()

    def test_gradients_of_inner_nodes(self):
        found = self.check(self.gradients_of_inner_nodes)
        self.assert_passes(found)
        names = {name for name in found["recorded"][0] if ".backward." in name and found["recorded"][0][name] == "pass"}
        for call in ("rms_norm.0", "linear.0", "linear.1", "local_response_norm.0", "conv2d.0", "gelu.0", "cross_entropy.0"):
            self.assertIn(f"Functional.{call}.backward.output.0", names)

    def test_spoiled_gradients_of_inner_nodes(self):
        def spoil(directory):
            for path in glob.glob(os.path.join(directory, "dump_tensor_data", "*.backward.output.0.pt")):
                wrong = torch.load(path) * 2
                os.remove(path)
                torch.save(wrong, path)

        statuses, _ = self.check(self.gradients_of_inner_nodes, spoil=spoil)["recorded"]
        for call in ("rms_norm.0", "linear.0", "linear.1", "local_response_norm.0", "conv2d.0", "gelu.0", "cross_entropy.0"):
            alarms = [name for name, status in statuses.items()
                      if name.startswith(f"Functional.{call}.backward.") and status in ("warning", "error")]
            self.assertTrue(alarms, call)

    def test_gradients_without_elements_have_no_file(self):
        x = torch.randn(8, 8, requires_grad=True)
        found = self.check(lambda: torch.cat([torch.tensor([]), x], -2).sum().backward())
        self.assert_passes(found)
        for device in found:
            statuses = {status for name, status in found[device][0].items() if name.startswith("Torch.cat.0.backward")}
            self.assertTrue(statuses & {"pass", "inconclusive"}, statuses)

    @staticmethod
    def packed_sequences():
        torch.manual_seed(2)
        rnn = torch.nn.utils.rnn
        for batch_first, options in ((True, {}), (False, {"padding_value": 0.5, "total_length": 7})):
            lstm, x = torch.nn.LSTM(3, 4, batch_first=batch_first), torch.randn(*((3, 5, 3) if batch_first else (5, 3, 3)))
            packed = rnn.pack_padded_sequence(x, torch.tensor([5, 3, 2]), batch_first=batch_first)
            padded, _ = rnn.pad_packed_sequence(lstm(packed)[0], batch_first=batch_first, **options)
            (padded * torch.randn(padded.shape)).sum().backward()

    def test_packed_sequences_with_drawn_data(self):
        found = self.check(self.packed_sequences, "statistics")
        self.assert_passes(found)
        self.assertIn("VF.lstm.0.forward.output.0", found["cpu"][0])

    def test_packed_sequences_that_are_padded_again(self):
        for task in ("statistics", "tensor"):
            found = self.check(self.packed_sequences, task)
            self.assert_passes(found)
            for device, (statuses, _) in found.items():
                for call in range(2):
                    for place in ("forward.output.0", "backward.output.0"):
                        self.assertEqual(statuses.get(f"Aten._pad_packed_sequence.{call}.{place}"), "pass", device)


if __name__ == "__main__":
    unittest.main()
